/** What is being done, in words: of the study as a whole, and of one cohort. */
import type { Schemas } from "../../api/client";
import { duration, list, plural } from "../../words/format";

type Progress = Schemas["Progress"];
type Cohort = Schemas["CohortProgress"];

/** `Count genotypes: waiting for Munich for 6 min`. Time left is never guessed. */
export function headline(progress: Progress, now: number): string {
  const waiting = progress.state === "running" && progress.total > 0 ? progress.waiting_for : [];
  if (!waiting.length || waiting.length === progress.cohorts.length) return progress.title;
  const since = progress.cohorts
    .filter((cohort) => waiting.includes(cohort.name) && cohort.waiting_since)
    .map((cohort) => Date.parse(cohort.waiting_since ?? ""));
  const seconds = since.length ? (now - Math.min(...since)) / 1000 : 0;
  const span = seconds >= 10 ? ` for ${duration(seconds)}` : "";
  return `${progress.title}: waiting for ${list(waiting)}${span}`;
}

/** What one cohort is at. */
export function doing(cohort: Cohort, progress: Progress, now: number): string {
  if (cohort.problem) return "stopped with a problem";
  if (cohort.state === "revoked") return "";
  if (progress.state === "open" || progress.state === "ready" || progress.state === "draft") {
    return BEFORE[cohort.state];
  }
  if (progress.state !== "running" && progress.state !== "paused") return "";
  if (cohort.questions_open) {
    const answers = plural(cohort.questions_open, "answer");
    return isSilent(cohort, now)
      ? `owes ${answers}, and its client is not responding`
      : `computing ${answers}`;
  }
  const others = progress.waiting_for.filter((name) => name !== cohort.name);
  return others.length ? `has answered, waits for ${list(others)}` : "has answered";
}

const SILENCE = 60_000; // milliseconds after which a client that computes would have been heard

const isSilent = ({ heard_at }: Cohort, now: number) =>
  heard_at !== null && now - Date.parse(heard_at) > SILENCE;

const BEFORE: Record<Cohort["state"], string> = {
  invited: "has not used its invitation",
  joined: "looks at plan and roster",
  accepted: "checks its data",
  ready: "waits for the others",
  revoked: "",
};
