/** States in words, each with a tone and an icon: colour never says something alone. */
import type { Schemas, Stage, StudyState } from "../api/client";
import { message, t, type Message } from "./language";

export type Tone = "neutral" | "info" | "good" | "warning" | "bad";
export type IconName = "draft" | "waiting" | "half" | "run" | "pause" | "check" | "stop" | "cross" | "alert";

export interface Said {
  word: Message;
  tone: Tone;
  icon: IconName;
}

export const STUDY: Record<StudyState, Said> = {
  draft: { word: message("Draft"), tone: "neutral", icon: "draft" },
  open: { word: message("Open for cohorts"), tone: "info", icon: "waiting" },
  ready: { word: message("All cohorts ready"), tone: "info", icon: "half" },
  running: { word: message("Running"), tone: "info", icon: "run" },
  paused: { word: message("Paused"), tone: "warning", icon: "pause" },
  done: { word: message("Done"), tone: "good", icon: "check" },
  aborted: { word: message("Aborted"), tone: "neutral", icon: "stop" },
  failed: { word: message("Failed"), tone: "bad", icon: "cross" },
};

/** Beside the state of a study that the platform made to be looked at. */
export const DEMO: Said = { word: message("Generated data"), tone: "neutral", icon: "draft" };

/** Beside the state of a study whose server and compensator are run by the same people. */
export const NOT_BLIND: Said = { word: message("Not blind: one operator"), tone: "warning", icon: "alert" };

/** What a cohort is at. Green is only what nobody waits for. */
export const STAGE: Record<Stage, Said> = {
  invited: { word: message("Invited"), tone: "neutral", icon: "waiting" },
  joined: { word: message("Joined"), tone: "info", icon: "half" },
  accepted: { word: message("Accepted"), tone: "info", icon: "half" },
  choosing: { word: message("Choosing data"), tone: "info", icon: "half" },
  checking: { word: message("Checking"), tone: "info", icon: "run" },
  ready: { word: message("Ready"), tone: "good", icon: "check" },
  computing: { word: message("Computing"), tone: "info", icon: "run" },
  sending: { word: message("Sending"), tone: "info", icon: "run" },
  waiting: { word: message("Waiting"), tone: "good", icon: "waiting" },
  done: { word: message("Done"), tone: "good", icon: "check" },
  offline: { word: message("Offline"), tone: "warning", icon: "alert" },
  stopped: { word: message("Stopped"), tone: "bad", icon: "cross" },
  ended: { word: message("Ended"), tone: "neutral", icon: "stop" },
  revoked: { word: message("Invitation revoked"), tone: "neutral", icon: "stop" },
};

/** What a notification is about, after the words “a study”. */
export const NOTICE: Record<Schemas["NoticeEvent"], Message> = {
  done: message("is done"),
  failed: message("has failed"),
  paused: message("is paused"),
  "waited-for": message("has long been waiting for a cohort"),
  trial: message("A test"),
};

/** The same of a study by name. */
export const notice = (event: Schemas["NoticeEvent"], name: string): string =>
  ({
    done: t("{{name}} is done", { name }),
    failed: t("{{name}} has failed", { name }),
    paused: t("{{name}} is paused", { name }),
    "waited-for": t("{{name}} has long been waiting for a cohort", { name }),
    trial: t("A test"),
  })[event];

export const DELIVERY: Record<Schemas["DeliveryOutcome"], Said> = {
  waiting: { word: message("Waiting"), tone: "neutral", icon: "waiting" },
  delivered: { word: message("Delivered"), tone: "good", icon: "check" },
  "given-up": { word: message("Given up"), tone: "bad", icon: "cross" },
};

export const ROLE: Record<Schemas["Role"], { word: Message; may: Message }> = {
  administrator: {
    word: message("Administrator"),
    may: message("sees and changes every study, and manages accounts"),
  },
  coordinator: { word: message("Coordinator"), may: message("creates studies, and changes their own") },
  observer: {
    word: message("Observer"),
    may: message("sees the studies that they are added to, and changes nothing"),
  },
};

export const TRAIT: Record<Schemas["Trait"], Message> = {
  "case/control": message("Case/control"),
  quantitative: message("Quantitative"),
  none: message("None: a study of tables"),
};

/** The phases of traffic and of running time, from the API's own names. */
const PHASES: Record<string, Message> = {
  joining: message("Joining"),
  panel: message("Agreeing on variants"),
  rounds: message("Questions and answers"),
  results: message("Delivery of results"),
  files: message("Writing result files"),
  summing: message("Summing"),
  reading: message("Reading the data"),
  verifying: message("Verifying what is asked"),
  computing: message("Computing"),
  sending: message("Sending"),
  waiting: message("Waiting"),
  releasing: message("Releasing sums of masks"),
  comparing: message("Comparing sums unseen"),
};

/** A phase in words. */
export const phaseInWords = (phase: string): string => PHASES[phase]?.() ?? phase;
