import { expect, test } from "vitest";

import type { Schemas } from "../../api/client";
import { doing, headline } from "./doing";

const NOW = Date.parse("2026-01-01T12:06:00Z");

function cohort(name: string, changes: Partial<Schemas["CohortProgress"]> = {}): Schemas["CohortProgress"] {
  return {
    name,
    state: "ready",
    heard_at: null,
    questions_open: 0,
    waiting_since: null,
    problem: "",
    ...changes,
  };
}

function running(changes: Partial<Schemas["Progress"]> = {}): Schemas["Progress"] {
  return {
    state: "running",
    reason: "",
    title: "Count genotypes",
    done: 1,
    total: 4,
    steps: [],
    cohorts: [
      cohort("Graz"),
      cohort("Munich", { questions_open: 2, waiting_since: "2026-01-01T12:00:00Z" }),
      cohort("Tartu"),
    ],
    waiting_for: ["Munich"],
    panel_size: 10,
    seconds: {},
    ...changes,
  };
}

test("who is waited for, and since when", () => {
  expect(headline(running(), NOW)).toBe("Count genotypes: waiting for Munich for 6 min");
});

test("while all compute nobody is waited for", () => {
  expect(headline(running({ waiting_for: ["Graz", "Munich", "Tartu"] }), NOW)).toBe("Count genotypes");
});

test("a study that is over waits for nobody", () => {
  expect(headline(running({ state: "done", title: "Done" }), NOW)).toBe("Done");
});

test("what each cohort is at", () => {
  const now = running();
  expect(now.cohorts.map((each) => doing(each, now, NOW))).toEqual([
    "has answered, waits for Munich",
    "computing 2 answers",
    "has answered, waits for Munich",
  ]);
});

test("a cohort that is not heard does not compute", () => {
  const heard = (heard_at: string) =>
    doing(cohort("Munich", { questions_open: 2, heard_at }), running(), NOW);
  expect(heard("2026-01-01T12:05:50Z")).toBe("computing 2 answers");
  expect(heard("2026-01-01T12:00:00Z")).toBe("owes 2 answers, and its client is not responding");
});

test("before the start", () => {
  const open = running({ state: "open" });
  expect(doing(cohort("Graz", { state: "invited" }), open, NOW)).toBe("has not used its invitation");
  const troubled = cohort("Graz", { problem: "data", state: "accepted" });
  expect(doing(troubled, open, NOW)).toBe("stopped with a problem");
});
