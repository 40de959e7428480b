import { expect, test } from "vitest";

import { genomeOf, kept, NARROWEST, readRegion, regionOf, regionText, windowOf } from "./genome";

const GENOME = genomeOf([
  { name: "1", last: 1_000_000 },
  { name: "2", last: 600_000 },
  { name: "X", last: 300 },
]);

test("chromosomes lie end to end", () => {
  expect(GENOME.chromosomes.map(({ start }) => start)).toEqual([0, 1_000_000, 1_600_000]);
  expect(windowOf(GENOME, null)).toEqual({ from: 0, to: 1_600_300 });
  expect(windowOf(GENOME, { chromosome: "2", from: 10, to: 20 })).toEqual({ from: 1_000_010, to: 1_000_020 });
});

test("a stretch across two chromosomes is of the one that has more of it", () => {
  expect(regionOf(GENOME, { from: 900_000, to: 1_300_000 })).toEqual({
    chromosome: "2",
    from: 0,
    to: 300_000,
  });
  expect(regionOf(GENOME, { from: 200_000, to: 1_100_000 })).toEqual({
    chromosome: "1",
    from: 200_000,
    to: 1_000_000,
  });
  expect(regionOf(GENOME, { from: 2_000_000, to: 3_000_000 })).toBeNull();
});

test.each([
  ["beyond the end", { chromosome: "2", from: 550_000, to: 700_000 }, [450_000, 600_000]],
  ["before the beginning", { chromosome: "2", from: -50_000, to: 50_000 }, [0, 100_000]],
  ["too narrow", { chromosome: "1", from: 5000, to: 5000 }, [4750, 5250]],
  ["wider than the chromosome", { chromosome: "2", from: -1e7, to: 1e7 }, [0, 600_000]],
  ["on a chromosome shorter than the narrowest", { chromosome: "X", from: 10, to: 20 }, [0, NARROWEST]],
])("a region %s is kept in its chromosome", (_, region, [from, to]) => {
  expect(kept(GENOME, region)).toEqual({ chromosome: region.chromosome, from, to });
});

test.each([
  ["2:1000-90000", { chromosome: "2", from: 1000, to: 90_000 }],
  ["chr2:1,000-90,000", { chromosome: "2", from: 1000, to: 90_000 }],
  ["2:90000-1000", { chromosome: "2", from: 1000, to: 90_000 }],
  ["x", { chromosome: "X", from: 0, to: NARROWEST }],
  ["1", { chromosome: "1", from: 0, to: 1_000_000 }],
  ["7:1-2", null],
  ["2:one-two", null],
  ["", null],
  [null, null],
])("the address %s", (text, region) => {
  expect(readRegion(GENOME, text)).toEqual(region);
});

test("a region reads back from its own text", () => {
  const region = { chromosome: "1", from: 1234, to: 56_789 };
  expect(readRegion(GENOME, regionText(region))).toEqual(region);
});
