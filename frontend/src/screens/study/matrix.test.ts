import { expect, test } from "vitest";

import { matrix } from "./matrix";

test("phases in the order of a study, the compensator last, and no number where there is none", () => {
  const { phases, rows } = matrix([
    { party: "compensator", phase: "rounds", value: 5 },
    { party: "Tartu", phase: "results", value: 7 },
    { party: "Tartu", phase: "joining", value: 1 },
    { party: "Graz", phase: "rounds", value: 2 },
  ]);
  expect(phases).toEqual(["joining", "rounds", "results"]);
  expect(rows).toEqual([
    { party: "Graz", values: { rounds: 2 }, sum: 2 },
    { party: "Tartu", values: { joining: 1, results: 7 }, sum: 8 },
    { party: "compensator", values: { rounds: 5 }, sum: 5 },
  ]);
});
