import type { Cohort, Study } from "../../api/client";
import { Callout } from "../../ui/Callout";
import { Stack } from "../../ui/Layout";
import { Ago } from "../../ui/Time";

/** What went wrong, where, the remedy, and who can act. Nothing while nothing is wrong. */
export function FailureCard({ study }: { study: Study }) {
  const isOver = study.state === "done" || study.state === "aborted";
  const troubled = isOver ? [] : study.cohorts.filter((cohort) => cohort.problem);
  const reason = study.state === "done" || troubled.length ? "" : study.reason;
  if (!reason && !troubled.length) return null;
  return (
    <Stack>
      {reason && (
        <Callout tone={study.state === "failed" ? "bad" : "warning"} title={reason}>
          {study.state === "failed" ? AFTER_FAILURE : REMEDY[study.pause_kind || "none"]}
        </Callout>
      )}
      {troubled.map((cohort) => (
        <CohortProblem key={cohort.name} cohort={cohort} />
      ))}
    </Stack>
  );
}

function CohortProblem({ cohort }: { cohort: Cohort }) {
  const quantity = cohort.problem_name ? ` (${cohort.problem_name})` : "";
  return (
    <Callout tone="bad" title={`${cohort.name}: ${cohort.problem_message || cohort.problem}${quantity}`}>
      <p>{cohort.problem_remedy}</p>
      <p>
        Who can act: the data manager of {cohort.name}. Reported <Ago at={cohort.problem_at} />.
      </p>
    </Callout>
  );
}

const AFTER_FAILURE =
  "Who can act: the coordinator, who duplicates the study under Plan and invites the cohorts again.";

/** What follows a pause, by its kind. */
const REMEDY: Record<NonNullable<Study["pause_kind"]> | "none", string> = {
  "": "",
  none: "",
  asked: "Who can act: the coordinator, who resumes it under Progress.",
  away: "Who can act: the cohort's data manager, who starts the same command again. The study then goes on by itself.",
  problem:
    "Who can act: the cohort's data manager. The study goes on by itself once the same command runs again.",
  compensator:
    "Who can act: the compensator's operator. The study goes on by itself once the compensator answers.",
  release:
    "Who can act: the platform's operator, who goes back to the release that began it; or the coordinator, who duplicates the study under Plan.",
  disk: "Who can act: the platform's operator. The study goes on by itself once its disk can be written.",
};
