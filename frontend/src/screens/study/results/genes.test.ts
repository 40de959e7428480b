import { expect, test } from "vitest";

import { barOf, halfOf, nameOf, packed, type Gene } from "./genes";

const gene = (name: string, start: number, end: number, changes: Partial<Gene> = {}): Gene => ({
  name,
  start,
  end,
  strand: "+",
  kind: "coding",
  ...changes,
});

const WINDOW = { from: 0, to: 1000 }; // as many pixels, so that a base is one
const rowsOf = (genes: readonly Gene[], most = 8) =>
  Object.fromEntries(packed(genes, WINDOW, 1000, most).placed.map((each) => [each.gene.name, each.row]));

test("genes far from one another share a row, and those that overlap do not", () => {
  expect(rowsOf([gene("A", 100, 200), gene("B", 150, 300), gene("C", 500, 600)])).toEqual({
    A: 0,
    B: 1,
    C: 0,
  });
});

test("names do not touch either, though the genes are short", () => {
  expect(rowsOf([gene("CDKN2A", 500, 502), gene("CDKN2B", 520, 522), gene("MTAP", 700, 702)])).toEqual({
    CDKN2A: 0,
    CDKN2B: 1,
    MTAP: 0,
  });
});

test("genes that code for proteins have the upper rows", () => {
  const rna = gene("LINC1", 100, 200, { kind: "RNA" });
  expect(rowsOf([rna, gene("FTO", 110, 190)])).toEqual({ FTO: 0, LINC1: 1 });
});

test("what there is no room for is told, and what is out of sight is left out", () => {
  const genes = [gene("A", 100, 200), gene("B", 100, 200), gene("C", 100, 200), gene("D", 2000, 3000)];
  const { placed, rows, left } = packed(genes, WINDOW, 1000, 2);
  expect([placed.map((each) => each.gene.name), rows, left.map(({ name }) => name)]).toEqual([
    ["A", "B"],
    2,
    ["C"],
  ]);
});

test("a gene that reaches out of the picture keeps its name in it", () => {
  const long = gene("FTO", -5000, 40);
  const { x, end, middle } = barOf(long, WINDOW, 1000);
  expect([x, end]).toEqual([0, 40]);
  expect(middle).toBeGreaterThanOrEqual(halfOf(long));
});

test("arrows point along the strand", () => {
  expect(
    ["+", "-", "."].map((strand) => nameOf(gene("X", 1, 2, { strand: strand as Gene["strand"] }))),
  ).toEqual(["X →", "← X", "X"]);
});
