import { expect, test } from "vitest";

import type { Schemas } from "../../../api/client";
import { genomeOfBoth } from "./both";
import { folded, mirrored } from "./fold";

const study = (...chromosomes: [string, number][]) =>
  ({ chromosomes: chromosomes.map(([name, last]) => ({ name, last })) }) as Schemas["Manhattan"];

test("one axis has every chromosome of either study, in the order of the genome", () => {
  const genome = genomeOfBoth([
    study(["1", 100], ["3", 80], ["X", 50]),
    study(["1", 120], ["2", 90], ["X", 40]),
  ]);
  expect(genome.chromosomes).toEqual([
    { name: "1", last: 120, start: 0 },
    { name: "2", last: 90, start: 120 },
    { name: "3", last: 80, start: 210 },
    { name: "X", last: 50, start: 290 },
  ]);
  expect(genome.length).toBe(340);
});

test("an axis that points down has 0 at the top, and what is strong below", () => {
  const scale = mirrored(folded(10, 200), 200);
  expect(scale.y(0)).toBe(0);
  expect(scale.y(8)).toBeGreaterThan(scale.y(2));
});
