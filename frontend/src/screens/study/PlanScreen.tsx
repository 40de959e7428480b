import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";

import { answer, api, type ApiError, type Schemas, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { isOver, of } from "../../api/queries";
import { useMe } from "../../app/session";
import { Button, ButtonLink } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { Card, Facts, Muted, Row, Section } from "../../ui/Layout";
import { Observers } from "./Observers";
import { useStudy } from "./StudyLayout";

/** The question, the model and the rules, as the cohorts accept them. */
export function PlanScreen() {
  const study = useStudy();
  return (
    <>
      {study.description && <p>{study.description}</p>}
      <PlanFacts study={study} />
      <Muted>
        {study.frozen
          ? "A cohort has joined, so the plan is frozen. Duplicate the study to change it."
          : "The plan can be changed until the first cohort joins."}
      </Muted>
      <Steer study={study} />
      {study.may_change && <Observers study={study} />}
    </>
  );
}

function PlanFacts({ study }: { study: Study }) {
  const { question, model, rules } = study.facts;
  return (
    <Card>
      <Section title="Question">
        <Facts facts={question.map(fact)} />
      </Section>
      <Section title="Model">
        <Facts facts={model.map(fact)} />
      </Section>
      <Section title="Rules">
        <Facts
          facts={[
            ...rules.map(fact),
            ["Start", study.auto_start ? "by itself once every cohort is ready" : "by the coordinator"],
            ["Plan hash, the same at every cohort", <code key="hash">{study.plan_hash.slice(0, 32)}</code>],
            ["Compensator", <code key="key">{study.compensator_fingerprint}</code>],
          ]}
        />
      </Section>
    </Card>
  );
}

const fact = ({ title, said }: Schemas["PlanFact"]) => [title, said] as const;

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
        {study.may_change && !study.frozen && !isOver(study) && (
          <ButtonLink look="primary" to={`/studies/${study.id}/edit`}>
            Change
          </ButtonLink>
        )}
        {mayCreate && (
          <Button busy={duplicate.isPending} onClick={() => duplicate.mutate()}>
            Duplicate to change
          </Button>
        )}
        {study.may_change && (isOver(study) || study.state === "draft") && (
          <Button busy={archive.isPending} onClick={() => archive.mutate()}>
            {study.archived ? "Take from the archive" : "Archive"}
          </Button>
        )}
        {study.may_change && (isOver(study) || study.state === "draft") && (
          <Confirm label="Delete" title={`Delete “${study.name}”?`} change={remove} onDone={leave}>
            <p>Plan, log and result files are deleted from this platform. This cannot be undone.</p>
          </Confirm>
        )}
      </Row>
    </>
  );
}
