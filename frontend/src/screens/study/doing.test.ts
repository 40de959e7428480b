import { expect, test } from "vitest";

import type { Schemas } from "../../api/client";
import { amount, details, headline, pill } from "./doing";

const NOW = Date.parse("2026-01-01T12:06:00Z");
const NOON = "2026-01-01T12:00:00Z";

const waiting = (state: Schemas["Progress"]["state"], ...waits: Schemas["Wait"][]) =>
  headline({ state, title: "Count genotypes", waits }, NOW);

test("who is waited for, to do what, and since when", () => {
  const munich = { who: ["Munich"], to: "answer", since: NOON };
  expect(waiting("running", munich)).toBe("Count genotypes: waiting for Munich to answer (6 min)");
  expect(waiting("paused", { ...munich, to: "come back" })).toBe(
    "Paused: waiting for Munich to come back (6 min)",
  );
});

test("all who are waited for are named, by what they are to do", () => {
  const join = { who: ["Graz", "Tartu"], to: "join", since: null };
  const data = { who: ["Munich"], to: "choose data", since: NOON };
  expect(waiting("open", join, data)).toBe(
    "Waiting for Graz and Tartu to join, and Munich to choose data (6 min)",
  );
});

test("while nobody is waited for, what is being done", () => {
  expect(waiting("running")).toBe("Count genotypes");
});

test("a wait of a moment has no time", () => {
  const since = "2026-01-01T12:05:55Z";
  expect(waiting("running", { who: ["Munich"], to: "answer", since })).toBe(
    "Count genotypes: waiting for Munich to answer",
  );
});

test("a cohort that is not heard is offline, for how long, and never green", () => {
  const offline = pill("offline", "2026-01-01T12:03:25Z", NOW);
  expect([offline.word(), offline.tone]).toEqual(["Offline 2 min", "warning"]);
  expect(pill("offline", null, NOW).word()).toBe("Offline");
  expect(pill("computing", NOON, NOW).word()).toBe("Computing");
});

test("what a cohort owes, and for how long", () => {
  const cohort = (changes: Partial<Schemas["CohortProgress"]>): Schemas["CohortProgress"] => ({
    name: "Munich",
    state: "ready",
    stage: "computing",
    since: NOON,
    heard_at: NOON,
    questions_open: 0,
    problem: "",
    ...changes,
  });
  expect(details(cohort({ questions_open: 2 }), NOW)).toBe("owes 2 answers, for 6 min");
  expect(details(cohort({ stage: "offline", questions_open: 1 }), NOW)).toBe("owes 1 answer");
  expect(details(cohort({ stage: "waiting", since: null }), NOW)).toBe("");
});

test("how much is done, and the time left once it can be told", () => {
  expect(amount({ share_done: 0.429, seconds_left: null })).toBe("42 %");
  expect(amount({ share_done: 0.429, seconds_left: 200 })).toBe("42 %, about 3 min left");
  expect(amount({ share_done: 0.99, seconds_left: 0.2 })).toBe("99 %, about 1 s left");
});
