import { expect, test } from "vitest";

import { around, neighbour, ordered, rowAfter, sorted, type Variant } from "./rows";

function variant(id: string, index: number, changes: Partial<Variant> = {}): Variant {
  return {
    index,
    id,
    chromosome: "1",
    position: 100 * index,
    a1: "A",
    a2: "G",
    a1_freq: 0.1,
    effect: 1,
    lower: 0,
    upper: 2,
    se: 0.5,
    neg_log10_p: index,
    p: "0.1",
    across: null,
    locus: null,
    lead: false,
    gene: "",
    gene_distance: null,
    ...changes,
  };
}

const ROWS = [variant("rs10", 7), variant("rs9", 3), variant("rs100", 5, { neg_log10_p: null })];
const ids = (rows: readonly Variant[]) => rows.map(({ id }) => id);

test("IDs are sorted as people count, P by size, what is not known last", () => {
  expect(ids(sorted(ROWS, { key: "id", isDown: false }))).toEqual(["rs9", "rs10", "rs100"]);
  expect(ids(sorted(ROWS, { key: "p", isDown: false }))).toEqual(["rs10", "rs9", "rs100"]);
  expect(ids(sorted(ROWS, { key: "p", isDown: true }))).toEqual(["rs9", "rs10", "rs100"]);
  expect(ids(sorted(ROWS, { key: "place", isDown: true }))).toEqual(["rs10", "rs100", "rs9"]);
  expect(sorted(ROWS, null)).toBe(ROWS);
});

test("a head sorts upwards, downwards, and not at all", () => {
  const up = ordered(null, "p");
  expect(up).toEqual({ key: "p", isDown: false });
  const down = ordered(up, "p");
  expect(down).toEqual({ key: "p", isDown: true });
  expect(ordered(down, "p")).toBeNull();
  expect(ordered(down, "id")).toEqual({ key: "id", isDown: false });
});

test("keys stay within the rows", () => {
  expect(["ArrowDown", "ArrowUp", "Home", "End", "x"].map((key) => rowAfter(key, 0, 3))).toEqual([
    1,
    0,
    0,
    2,
    null,
  ]);
  expect(rowAfter("ArrowDown", 2, 3)).toBe(2);
});

test("from a row one goes to those beside it, and from none to the first or the last", () => {
  const rows = [variant("a", 7), variant("b", 3), variant("c", 5)];
  expect(neighbour(rows, variant("b", 3), 1)).toBe(2);
  expect(neighbour(rows, variant("b", 3), -1)).toBe(0);
  expect(neighbour(rows, variant("c", 5), 1)).toBeNull();
  expect(neighbour(rows, variant("a", 7), -1)).toBeNull();
  expect([neighbour(rows, null, 1), neighbour(rows, variant("elsewhere", 9), -1)]).toEqual([0, 2]);
  expect(neighbour([], null, -1)).toBeNull();
});

test("what is looked at is the locus with a margin, or what is around", () => {
  const locus = { start: 1_000_000, end: 2_000_000, variants: 3 };
  expect(around(variant("a", 1, { locus }))).toEqual({ chromosome: "1", from: 950_000, to: 2_050_000 });
  expect(around(variant("a", 5000))).toEqual({ chromosome: "1", from: 400_000, to: 600_000 });
});
