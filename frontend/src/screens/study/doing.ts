/** What is being done, in words: of the study as a whole, and of one cohort. */
import type { Schemas } from "../../api/client";
import { count, duration, list } from "../../words/format";
import { declared, declaredPair, plural, t } from "../../words/language";
import { STAGE, type Said } from "../../words/states";

type Progress = Schemas["Progress"];
type Wait = Schemas["Wait"];

/** `Count genotypes: waiting for Munich to answer (6 min)`. */
export function headline({ state, title, waits }: Pick<Progress, "state" | "title" | "waits">, now: number) {
  const doing = declaredPair(title, ": ");
  if (!waits.length) return doing;
  const whom = whomFor(waits, now);
  if (state === "running") return t("{{doing}}: waiting for {{whom}}", { doing, whom });
  return state === "paused"
    ? t("Paused: waiting for {{whom}}", { whom })
    : t("Waiting for {{whom}}", { whom });
}

/** `Graz and Tartu to join (12 min), and Munich to come back (2 min)`. */
export function whomFor(waits: readonly Wait[], now: number): string {
  return waits
    .map(({ who, to, since }) => {
      const seconds = since === null ? 0 : (now - Date.parse(since)) / 1000;
      const said = { who: list(who.map(declared)), to: declared(to), span: span(seconds) };
      return seconds >= 10 ? t("{{who}} to {{to}} ({{span}})", said) : t("{{who}} to {{to}}", said);
    })
    .reduce((before, next) => t("{{before}}, and {{next}}", { before, next }));
}

/** A stage as its pill shows it: of one that is offline also for how long. */
export function pill(stage: Schemas["Stage"], since: string | null, now: number): Said {
  const said = STAGE[stage];
  if (stage !== "offline" || since === null) return said;
  return { ...said, word: () => `${said.word()} ${span((now - Date.parse(since)) / 1000)}` };
}

/** Beside the pill: what a cohort still owes, and for how long it is at this. */
export function details(cohort: Schemas["CohortProgress"], now: number): string {
  const n = cohort.questions_open;
  const owes = n ? plural(n, "owes {{n}} answer", "owes {{n}} answers") : "";
  const isSaid = cohort.since === null || cohort.stage === "offline";
  const seconds = isSaid ? 0 : (now - Date.parse(cohort.since ?? "")) / 1000;
  return [owes, seconds >= 10 ? t("for {{span}}", { span: span(seconds) }) : ""].filter(Boolean).join(", ");
}

/** How much of the study is done, and how long the rest takes where that can be told. */
export function amount({ share_done, seconds_left }: Pick<Progress, "share_done" | "seconds_left">): string {
  const percent = `${count(Math.floor(100 * share_done))} %`;
  if (seconds_left === null) return percent;
  return t("{{percent}}, about {{span}} left", { percent, span: span(Math.max(seconds_left, 1)) });
}

/** A time span without the seconds once there are minutes. */
const span = (seconds: number): string =>
  duration(seconds < 60 ? Math.round(seconds) : 60 * Math.floor(seconds / 60));
