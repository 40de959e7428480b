/** States in words, each with a tone and an icon: colour never says something alone. */
import type { CohortState, Schemas, StudyState } from "../api/client";

export type Tone = "neutral" | "info" | "good" | "warning" | "bad";
export type IconName = "draft" | "waiting" | "half" | "run" | "pause" | "check" | "stop" | "cross" | "alert";

export interface Said {
  word: string;
  tone: Tone;
  icon: IconName;
}

export const STUDY: Record<StudyState, Said> = {
  draft: { word: "Draft", tone: "neutral", icon: "draft" },
  open: { word: "Open for cohorts", tone: "info", icon: "waiting" },
  ready: { word: "All cohorts ready", tone: "info", icon: "half" },
  running: { word: "Running", tone: "info", icon: "run" },
  paused: { word: "Paused", tone: "warning", icon: "pause" },
  done: { word: "Done", tone: "good", icon: "check" },
  aborted: { word: "Aborted", tone: "neutral", icon: "stop" },
  failed: { word: "Failed", tone: "bad", icon: "cross" },
};

/** Beside the state of a study that the platform made to be looked at. */
export const DEMO: Said = { word: "Generated data", tone: "neutral", icon: "draft" };

export const COHORT: Record<CohortState, Said> = {
  invited: { word: "Invited", tone: "neutral", icon: "waiting" },
  joined: { word: "Joined", tone: "info", icon: "half" },
  accepted: { word: "Accepted plan and roster", tone: "info", icon: "half" },
  ready: { word: "Data checked, ready", tone: "good", icon: "check" },
  revoked: { word: "Invitation revoked", tone: "neutral", icon: "stop" },
};

export const ROLE: Record<Schemas["Role"], { word: string; may: string }> = {
  administrator: { word: "Administrator", may: "sees and changes every study, and manages accounts" },
  coordinator: { word: "Coordinator", may: "creates studies, and changes their own" },
  observer: { word: "Observer", may: "sees the studies that they are added to, and changes nothing" },
};

export const TRAIT: Record<Schemas["Trait"], string> = {
  "case/control": "Case/control",
  quantitative: "Quantitative",
  none: "None: a study of tables",
};

/** The phases of traffic and of running time, from the API's own names. */
export const PHASE: Record<string, string> = {
  joining: "Joining",
  panel: "Agreeing on variants",
  rounds: "Questions and answers",
  results: "Delivery of results",
  files: "Writing result files",
  summing: "Summing",
  reading: "Reading the data",
  computing: "Computing",
  sending: "Sending",
  waiting: "Waiting",
  releasing: "Releasing sums of masks",
};
