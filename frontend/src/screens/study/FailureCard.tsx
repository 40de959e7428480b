import { Link } from "react-router";

import type { Cohort, Study } from "../../api/client";
import { Callout } from "../../ui/Callout";
import { Stack } from "../../ui/Layout";
import { Ago } from "../../ui/Time";
import { ChangeAndRepeat } from "./ChangeAndRepeat";
import { Rich } from "../../ui/Rich";
import { list } from "../../words/format";
import { declared, message, t, type Message } from "../../words/language";

/** The cohorts that have stopped on a problem which can still be mended. */
export const troubledIn = ({ state, cohorts }: Study): Cohort[] =>
  state === "done" || state === "aborted" ? [] : cohorts.filter((cohort) => cohort.problem);

/** What went wrong, and who can act; of cohorts a line, for their rows have the rest. Nothing if nothing is wrong. */
export function FailureCard({ study }: { study: Study }) {
  const troubled = troubledIn(study);
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
      {troubled.length > 0 && (
        <Callout tone="bad">
          <p>
            <strong>{inALine(troubled)}</strong>{" "}
            <Link to={`/studies/${study.id}/cohorts`}>{t("What to do")}</Link>
          </p>
        </Callout>
      )}
    </Stack>
  );
}

function inALine(troubled: readonly Cohort[]): string {
  const [first] = troubled;
  if (first && troubled.length === 1) return `${first.name}: ${problemOf(first)}`;
  return t("{{n}} cohorts have stopped on a problem: {{names}}.", {
    n: troubled.length,
    names: list(troubled.map(({ name }) => name)),
  });
}

function problemOf({ problem, problem_message, problem_name }: Cohort): string {
  const said = declared(problem_message || problem);
  return problem_name ? `${said} (${problem_name})` : said;
}

/** In a cohort's row: its problem, the remedy, and who can act. */
export function CohortProblem({ cohort }: { cohort: Cohort }) {
  return (
    <div style={{ display: "flow-root" }}>
      <p>
        <strong>{problemOf(cohort)}</strong>
      </p>
      <p>{declared(cohort.problem_remedy)}</p>
      <p>
        <Rich
          text="Who can act: the data manager of {{name}}. Reported <ago/>."
          parts={{ ago: <Ago at={cohort.problem_at} /> }}
          values={{ name: cohort.name }}
        />
      </p>
    </div>
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
