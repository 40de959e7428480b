import { expect, test } from "vitest";

import type { Schemas } from "../../../api/client";
import { genomeOf } from "./genome";
import { between } from "./glide";
import { across, axisAt, covers, marked, nearest, onto, overviewLayer, regionLayer } from "./layer";
import { band, diamond, dot, upright } from "./paths";

const GENOME = genomeOf([
  { name: "1", last: 900 },
  { name: "2", last: 100 },
]);
const SIZE = { width: 1000, height: 200 };

const OVERVIEW: Schemas["Manhattan"] = {
  version: 1,
  variants: 50,
  effect: "BETA",
  genome_wide: 5e-8,
  suggestive: 1e-5,
  without_p: 0,
  chromosomes: [
    { name: "1", first: 5, last: 900, variants: 40 },
    { name: "2", first: 1, last: 100, variants: 10 },
  ],
  cell: { bases: 300, height: 0.5 },
  segments: { chromosome: ["1", "1", "2"], column: [0, 2, 0], low: [0, 3, 0], high: [7, 3, 1] },
  points: {
    chromosome: ["1", "2"],
    index: [3, 44],
    position: [400, 50],
    id: ["rs3", "rs44"],
    neg_log10_p: [16, 9],
  },
  leads: [0],
};

const REGION: Schemas["Region"] = {
  version: 1,
  variants: 2,
  effect: "OR",
  genome_wide: 5e-8,
  suggestive: 1e-5,
  chromosome: "2",
  first: 20,
  last: 70,
  cell: null,
  segments: { column: [], low: [], high: [] },
  points: {
    index: [43, 44],
    position: [30, 50],
    id: ["rs43", "rs44"],
    neg_log10_p: [2, 9],
    a1: ["A", "G"],
    a2: ["C", "T"],
    a1_freq: [0.1, null],
    se: [0.1, 0.2],
    effect_of_a1: [1.5, null],
  },
  leads: [],
  linkage: null,
  credible: null,
};

const WHOLE = overviewLayer(GENOME, OVERVIEW, SIZE);
const PART = regionLayer(GENOME, REGION, SIZE);

/** The places that a path goes to by `M`. */
const starts = (path: string): number[] => [...path.matchAll(/M([\d.]+)/g)].map((found) => Number(found[1]));

test("a path for the odd chromosomes and one for the even ones; leads are in neither", () => {
  expect(starts(WHOLE.even)).toEqual([150, 750]);
  // The last cell of a chromosome stands at its middle, but not beyond the end.
  expect(starts(WHOLE.odd)).toEqual([1000, 950]);
});

test("a segment reaches from the middle of its lowest cell to that of its highest", () => {
  const { y } = WHOLE.scale;
  const [, from, to] = /M150 ([\d.]+)V([\d.]+)/.exec(WHOLE.even) ?? [];
  expect(Number(from)).toBeCloseTo(y(0.25), 1);
  expect(Number(to)).toBeCloseTo(y(3.75), 1);
  expect(WHOLE.even).toContain("M750 "); // a single cell is a dot
  expect(/M750 [\d.]+h/.test(WHOLE.even)).toBe(true);
});

test("points have their place on the axis of the genome", () => {
  expect(WHOLE.points.map(({ id, at, isLead }) => [id, at, isLead])).toEqual([
    ["rs3", 400, true],
    ["rs44", 950, false],
  ]);
  expect(PART.points.map(({ at, alleles }) => [at, alleles?.effect])).toEqual([
    [930, 1.5],
    [950, null],
  ]);
  expect(PART.home).toEqual({ from: 920, to: 970 });
});

test("points have the colour of their linkage, where that is known", () => {
  const points = { ...REGION.points, position: [30, 50] };
  const layer = regionLayer(GENOME, { ...REGION, points, linkage: { lead: "rs44", r2: [0.4, null] } }, SIZE);
  expect(layer.linked.map((path) => starts(path))).toEqual([[], [], [200], [], []]);
  expect(starts(layer.odd)).toEqual([600]);
  expect([layer.isLinked, PART.isLinked]).toEqual([true, false]);
  expect(layer.points.map(({ r2 }) => r2)).toEqual([0.4, null]);
});

test("variants in credible sets have a halo", () => {
  const sets = [{ lead: "rs44", number: 1, variants: 1 }];
  const layer = regionLayer(
    GENOME,
    { ...REGION, credible: { pip: [0.02, 0.97], set: [null, 0], sets } },
    SIZE,
  );
  expect(starts(layer.credible)).toEqual([600]);
  expect(layer.points.map(({ pip, set }) => [pip, set?.number])).toEqual([
    [0.02, undefined],
    [0.97, 1],
  ]);
  expect(PART.credible).toBe("");
});

test("a layer covers the windows within its home", () => {
  expect(covers(WHOLE, { from: 920, to: 970 })).toBe(true);
  expect(covers(PART, { from: 925, to: 960 })).toBe(true);
  expect(covers(PART, { from: 910, to: 960 })).toBe(false);
});

test("a layer is stretched to where its places are seen", () => {
  const window = { from: 400, to: 900 };
  const [a = 0, , , , e = 0] = (onto(WHOLE, window, 1000) ?? "").slice(7, -1).split(" ").map(Number);
  const home = across(WHOLE.home, 1000, 650);
  expect(a * home + e).toBeCloseTo(across(window, 1000, 650));
  expect(onto(WHOLE, WHOLE.home, 1000)).toBeUndefined();
  expect(axisAt(window, 1000, across(window, 1000, 777))).toBeCloseTo(777);
});

test("what is pointed at is the closest variant within reach", () => {
  const at = [across(WHOLE.home, 1000, 400) + 4, WHOLE.scale.y(16) - 3] as const;
  expect(nearest(WHOLE, WHOLE.home, 1000, at)?.id).toBe("rs3");
  expect(nearest(WHOLE, WHOLE.home, 1000, [10, 10])).toBeNull();
});

test("keys step through leads; where none is seen through the strongest", () => {
  expect(marked(WHOLE, WHOLE.home).map(({ id }) => id)).toEqual(["rs3"]);
  expect(marked(WHOLE, { from: 900, to: 1000 }).map(({ id }) => id)).toEqual(["rs44"]);
});

test("on the way from one window to another the width changes evenly", () => {
  const [from, to] = [
    { from: 0, to: 1000 },
    { from: 600, to: 610 },
  ];
  const half = between(from, to, 0.5);
  expect(half.to - half.from).toBeCloseTo(100);
  expect(between(from, to, 1)).toEqual(to);
  expect(between(from, to, 0).from).toBeCloseTo(0);
  const sideways = between({ from: 0, to: 10 }, { from: 10, to: 20 }, 0.5);
  expect([sideways.from, sideways.to].map(Math.round)).toEqual([5, 15]);
});

test("marks", () => {
  expect(dot(1.234567, 2)).toBe("M1.23 2h.01");
  expect(upright(1, 10, 4)).toBe("M1 10V4");
  expect(upright(1, 10, 10)).toBe(dot(1, 10));
  expect(diamond(5, 5, 2)).toBe("M5 3l2 2l-2 2l-2 -2z");
  expect(band([0, 1], [9, 8], [5, 4])).toBe("M0 5L1 4L1 8L0 9z");
  expect(band([], [], [])).toBe("");
});
