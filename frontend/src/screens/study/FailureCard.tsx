import type { Cohort, Study } from "../../api/client";
import { Callout } from "../../ui/Callout";
import { Stack } from "../../ui/Layout";
import { Ago } from "../../ui/Time";
import { ChangeAndRepeat } from "./ChangeAndRepeat";
import { Rich } from "../../ui/Rich";
import { declared, message, t, type Message } from "../../words/language";

/** What went wrong, where, the remedy, and who can act. Nothing while nothing is wrong. */
export function FailureCard({ study }: { study: Study }) {
  const isOver = study.state === "done" || study.state === "aborted";
  const troubled = isOver ? [] : study.cohorts.filter((cohort) => cohort.problem);
  const reason = study.state === "done" || troubled.length ? "" : study.reason;
  if (!reason && !troubled.length) return null;
  const isEnded = study.state === "failed" || study.state === "aborted";
  return (
    <Stack>
      {reason && (
        <Callout tone={study.state === "failed" ? "bad" : "warning"} title={declared(reason)}>
          {isEnded ? <AfterTheEnd study={study} /> : REMEDY[study.pause_kind || "none"]()}
        </Callout>
      )}
      {troubled.map((cohort) => (
        <CohortProblem key={cohort.name} cohort={cohort} />
      ))}
    </Stack>
  );
}

function CohortProblem({ cohort }: { cohort: Cohort }) {
  const said = declared(cohort.problem_message || cohort.problem);
  const about = cohort.problem_name ? `${said} (${cohort.problem_name})` : said;
  return (
    <Callout tone="bad" title={`${cohort.name}: ${about}`}>
      <p>{declared(cohort.problem_remedy)}</p>
      <p>
        <Rich
          text="Who can act: the data manager of {{name}}. Reported <ago/>."
          parts={{ ago: <Ago at={cohort.problem_at} /> }}
          values={{ name: cohort.name }}
        />
      </p>
    </Callout>
  );
}

function AfterTheEnd({ study }: { study: Study }) {
  return (
    <>
      <p>
        {study.repetition
          ? t("It is repeated as “{{name}}”.", { name: study.repetition.name })
          : t(
              "Who can act: the coordinator, who changes what was wrong and repeats the study. The same cohorts take part by one answer each.",
            )}
      </p>
      <ChangeAndRepeat study={study} />
    </>
  );
}

/** What follows a pause, by its kind. */
const REMEDY: Record<NonNullable<Study["pause_kind"]> | "none", Message> = {
  "": () => "",
  none: () => "",
  asked: message("Who can act: the coordinator, who resumes it under Progress."),
  away: message(
    "Who can act: the cohort's data manager, who starts the same command again. The study then goes on by itself. If the cohort has left for good, the coordinator repeats the study without it, under Cohorts.",
  ),
  problem: message(
    "Who can act: the cohort's data manager. The study goes on by itself once the same command runs again.",
  ),
  compensator: message(
    "Who can act: the compensator's operator. The study goes on by itself once the compensator answers.",
  ),
  release: message(
    "Who can act: the platform's operator, who goes back to the release that began it; or the coordinator, who duplicates the study under Plan.",
  ),
  disk: message(
    "Who can act: the platform's operator. The study goes on by itself once its disk can be written.",
  ),
};
