import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useLocation, useNavigate } from "react-router";

import { answer, api, type ApiError, type Schemas, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { isOver, of } from "../../api/queries";
import { useMe } from "../../app/session";
import { Button, ButtonLink } from "../../ui/Button";
import { Callout, Refusal } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { Card, Facts, Muted, Row, Section } from "../../ui/Layout";
import { Following } from "./Following";
import { ChangeAndRepeat } from "./ChangeAndRepeat";
import { Observers } from "./Observers";
import { useStudy } from "./StudyLayout";
import { Rich } from "../../ui/Rich";
import { declared, declaredLabel, t } from "../../words/language";

/** The question, the model and the rules, as the cohorts accept them. */
export function PlanScreen() {
  const study = useStudy();
  const { isAcceptedAnew = false } = (useLocation().state ?? {}) as { isAcceptedAnew?: boolean };
  return (
    <>
      {study.description && <p>{study.description}</p>}
      {study.repeats && (
        <p>
          <Rich
            text="Repeats <a>{{name}}</a>, with its cohorts."
            parts={{ a: <Link to={`/studies/${study.repeats.id}/plan`} /> }}
            values={{ name: study.repeats.name }}
          />
        </p>
      )}
      {isAcceptedAnew && study.plan_may_change && (
        <Callout tone="info" title={t("The plan was changed.")} isNews>
          <Rich
            text="The cohorts that had accepted it accept it again; their clients show them what is different. <a>The log</a> says it too."
            parts={{ a: <Link to={`/studies/${study.id}/log`} /> }}
          />
        </Callout>
      )}
      <PlanFacts study={study} />
      <Muted>{mayItChange(study)}</Muted>
      <Following study={study} />
      <Steer study={study} />
      {study.may_change && <Observers study={study} />}
    </>
  );
}

function mayItChange(study: Study): string {
  if (isOver(study)) return t("The study has ended. To change its plan, repeat it.");
  if (!study.plan_may_change) {
    return t("A sum over the cohorts was asked for: the plan cannot be changed any more.");
  }
  if (!study.cohorts_accepted) return t("The plan can be changed until a sum over the cohorts is asked for.");
  return t(
    "The plan can be changed until a sum over the cohorts is asked for. {{accepted}} of {{all}} cohorts have accepted it; if it is changed, they accept again.",
    { accepted: study.cohorts_accepted, all: study.cohorts.length },
  );
}

function PlanFacts({ study }: { study: Study }) {
  const { question, model, rules } = study.facts;
  return (
    <Card>
      <Section title={t("Question")}>
        <Facts wide facts={question.map(fact)} />
      </Section>
      <Section title={t("Model")}>
        <Facts wide facts={model.map(fact)} />
      </Section>
      <Section title={t("Rules")}>
        <Facts
          wide
          facts={[
            ...rules.map(fact),
            [
              t("Start"),
              study.auto_start ? t("by itself once every cohort is ready") : t("by the coordinator"),
            ],
            [t("Plan hash, the same at every cohort"), <code key="hash">{study.plan_fingerprint}</code>],
            [
              t("Compensator"),
              study.compensator_fingerprint ? (
                <code key="key">{study.compensator_fingerprint}</code>
              ) : (
                t("none: each two cohorts share masks")
              ),
            ],
          ]}
        />
      </Section>
    </Card>
  );
}

const fact = ({ title, said }: Schemas["PlanFact"]) => [declaredLabel(title), declared(said)] as const;

function Steer({ study }: { study: Study }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const mayCreate = useMe().role !== "observer";
  const duplicate = useMutation<Study, ApiError>({
    mutationFn: () => answer(api.POST("/api/v1/studies/{study}/duplicate", of(study.id))),
    onSuccess: async (copy) => {
      await client.invalidateQueries({ queryKey: ["studies"] });
      await navigate(`/studies/${copy.id}/edit`);
    },
  });
  const archive = useChange(() =>
    study.archived
      ? answer(api.DELETE("/api/v1/studies/{study}/archive", of(study.id)))
      : answer(api.POST("/api/v1/studies/{study}/archive", of(study.id))),
  );
  const remove = useMutation<unknown, ApiError>({
    mutationFn: () => answer(api.DELETE("/api/v1/studies/{study}", of(study.id))),
  });
  const leave = async () => {
    await navigate("/");
    client.removeQueries({ queryKey: ["studies", study.id] });
    await client.invalidateQueries({ queryKey: ["studies"] });
  };
  return (
    <>
      <Refusal error={duplicate.error ?? archive.error} />
      <Row>
        {study.may_change && study.plan_may_change && (
          <ButtonLink look="primary" to={`/studies/${study.id}/edit`}>
            {t("Change")}
          </ButtonLink>
        )}
        <ChangeAndRepeat study={study} />
        {mayCreate && (
          <Button busy={duplicate.isPending} onClick={() => duplicate.mutate()}>
            {t("Duplicate")}
          </Button>
        )}
        {study.may_change && (isOver(study) || study.state === "draft") && (
          <Button busy={archive.isPending} onClick={() => archive.mutate()}>
            {study.archived ? t("Take out of the archive") : t("Archive")}
          </Button>
        )}
        {study.may_change && (isOver(study) || study.state === "draft") && (
          <Confirm
            label={t("Delete")}
            title={t("Delete “{{name}}”?", { name: study.name })}
            change={remove}
            onDone={leave}
          >
            <p>{t("Plan, log and result files are deleted from this platform. This cannot be undone.")}</p>
          </Confirm>
        )}
      </Row>
    </>
  );
}
