import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { answer, api, type Schemas, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { isOver, of, progress, study } from "../../api/queries";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { Card, Facts, Muted, Row, Section } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Progress } from "../../ui/Progress";
import { Table, type Column } from "../../ui/Table";
import { Ago, useNow } from "../../ui/Time";
import { count, duration } from "../../words/format";
import { COHORT, PHASE } from "../../words/states";
import { doing, headline } from "./doing";
import { useStudy } from "./StudyLayout";

/** Named steps, a row per cohort, and the buttons. Stays after the end. */
export function ProgressScreen() {
  const study = useStudy();
  const found = useQuery(progress(study.id));
  useSameState(study, found.data?.state);
  return (
    <Loaded query={found}>
      {(found) => (
        <>
          <Now progress={found} />
          <Rows progress={found} />
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

function Now({ progress }: { progress: Schemas["Progress"] }) {
  const now = useNow();
  return (
    <Card>
      <Section title={headline(progress, now)}>
        {progress.panel_size !== null && <Muted>{count(progress.panel_size)} variants</Muted>}
        {progress.steps.map((step) => (
          <Progress key={step.name} label={step.title} done={step.summed} total={step.rounds} />
        ))}
        {!progress.steps.length && <Muted>No step has started yet.</Muted>}
      </Section>
    </Card>
  );
}

function Rows({ progress }: { progress: Schemas["Progress"] }) {
  const now = useNow();
  const columns: Column<Schemas["CohortProgress"]>[] = [
    { title: "Cohort", cell: (row) => row.name },
    { title: "State", cell: (row) => <Badge said={COHORT[row.state]} /> },
    { title: "Now", cell: (row) => doing(row, progress, now) || "–", isText: true },
    { title: "Last heard", cell: (row) => <Ago at={row.heard_at} /> },
  ];
  if (!progress.cohorts.length) return <Muted>Nobody is invited yet.</Muted>;
  return <Table caption="Cohorts" columns={columns} rows={progress.cohorts} rowKey={(row) => row.name} />;
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
            Pause
          </Button>
        )}
        {study.state === "paused" && (
          <Button look="primary" busy={resume.isPending} onClick={() => resume.mutate()}>
            Resume
          </Button>
        )}
        <Confirm label="Abort" title={`Abort “${study.name}”?`} change={abort}>
          <p>
            The study ends without results, for every cohort. What was summed so far is deleted, and it cannot
            be taken up again, only duplicated and run from the start.
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
    <Section title="Running time">
      <Facts facts={phases.map(([phase, seconds]) => [PHASE[phase] ?? phase, duration(seconds)] as const)} />
    </Section>
  );
}
