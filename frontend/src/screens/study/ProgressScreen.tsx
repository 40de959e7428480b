import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { answer, api, type Schemas, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { isOver, of, progress, study } from "../../api/queries";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { Card, Facts, Muted, Row, Section, Stack } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Progress } from "../../ui/Progress";
import { Table, type Column } from "../../ui/Table";
import { Ago, useNow } from "../../ui/Time";
import { duration } from "../../words/format";
import { phaseInWords } from "../../words/states";
import { amount, details, headline } from "./doing";
import { CohortProblem, troubledIn } from "./FailureCard";
import { StagePill } from "./StagePill";
import { useStudy } from "./StudyLayout";
import { variants } from "../../words/counted";
import { declaredPair, t } from "../../words/language";

/** Named steps, a row per cohort, and the buttons. Stays after the end. */
export function ProgressScreen() {
  const study = useStudy();
  const found = useQuery(progress(study.id));
  useSameState(study, found.data?.state);
  return (
    <Loaded query={found}>
      {(found) => (
        <>
          <Now study={study} progress={found} />
          <Rows study={study} progress={found} />
          {study.may_change && <Steer study={study} />}
          <Durations progress={found} />
        </>
      )}
    </Loaded>
  );
}

/** What is around the page is asked for apart: it follows at once when the state has changed. */
function useSameState(around: Study, state: Study["state"] | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (state && state !== around.state)
      void client.invalidateQueries({ queryKey: study(around.id).queryKey });
  }, [client, around.id, around.state, state]);
}

function Now({ study, progress }: { study: Study; progress: Schemas["Progress"] }) {
  const now = useNow();
  const results = progress.state === "done" ? `/studies/${study.id}/results` : undefined;
  return (
    <Card>
      <Section title={headline(progress, now)} to={results}>
        {progress.panel_size !== null && <Muted>{variants(progress.panel_size)}</Muted>}
        <Progress label={t("The whole study")} done={progress.share_done} total={1} said={amount(progress)} />
        <Steps steps={progress.steps} />
      </Section>
    </Card>
  );
}

function Steps({ steps }: { steps: readonly Schemas["StepProgress"][] }) {
  if (!steps.length) return <Muted>{t("No step has started yet.")}</Muted>;
  return (
    <details>
      <summary>{t("Steps")}</summary>
      <Stack>
        {steps.map((step) => (
          <Progress
            key={step.name}
            label={declaredPair(step.title, ": ")}
            done={step.summed}
            total={step.rounds}
            said={roundsAndTurn(step)}
          />
        ))}
      </Stack>
    </details>
  );
}

/** How many rounds are summed; of sums that are compared, also where the oldest of them is. */
function roundsAndTurn(step: Schemas["StepProgress"]): string {
  const values = { done: step.summed, total: step.rounds };
  return step.turn
    ? t("{{done}} of {{total}}, turn {{turn}} of {{turns}}", {
        ...values,
        turn: step.turn.number,
        turns: step.turn.of,
      })
    : t("{{done}} of {{total}}", values);
}

function Rows({ study, progress }: { study: Study; progress: Schemas["Progress"] }) {
  const now = useNow();
  const problems = new Map(troubledIn(study).map((cohort) => [cohort.name, cohort]));
  const more = (row: Schemas["CohortProgress"]) => {
    const problem = problems.get(row.name);
    return problem ? <CohortProblem cohort={problem} /> : details(row, now) || "–";
  };
  const columns: Column<Schemas["CohortProgress"]>[] = [
    { title: t("Cohort"), cell: (row) => row.name },
    { title: t("State"), cell: (row) => <StagePill of={row} /> },
    { title: t("Details"), cell: more, isText: true },
    { title: t("Last heard"), cell: (row) => <Ago at={row.heard_at} /> },
  ];
  if (!progress.cohorts.length) return <Muted>{t("Nobody is invited yet.")}</Muted>;
  return (
    <Table caption={t("Cohorts")} columns={columns} rows={progress.cohorts} rowKey={(row) => row.name} />
  );
}

function Steer({ study }: { study: Study }) {
  const pause = useChange(() => answer(api.POST("/api/v1/studies/{study}/pause", of(study.id))));
  const resume = useChange(() => answer(api.POST("/api/v1/studies/{study}/resume", of(study.id))));
  const abort = useChange(() => answer(api.POST("/api/v1/studies/{study}/abort", of(study.id))));
  if (isOver(study) || study.state === "draft") return null;
  return (
    <>
      <Refusal error={pause.error ?? resume.error} />
      <Row>
        {study.state === "running" && (
          <Button busy={pause.isPending} onClick={() => pause.mutate()}>
            {t("Pause")}
          </Button>
        )}
        {study.state === "paused" && (
          <Button look="primary" busy={resume.isPending} onClick={() => resume.mutate()}>
            {t("Resume")}
          </Button>
        )}
        <Confirm label={t("Abort")} title={t("Abort “{{name}}”?", { name: study.name })} change={abort}>
          <p>
            {t(
              "The study ends without results, for every cohort. What was summed so far is deleted, and it cannot be taken up again, only repeated from the start.",
            )}
          </p>
        </Confirm>
      </Row>
    </>
  );
}

function Durations({ progress }: { progress: Schemas["Progress"] }) {
  const phases = Object.entries(progress.seconds);
  if (!phases.length) return null;
  return (
    <Section title={t("Running time")}>
      <Facts facts={phases.map(([phase, seconds]) => [phaseInWords(phase), duration(seconds)] as const)} />
    </Section>
  );
}
