import { expect, test } from "vitest";

import { genomeOf } from "./genome";
import { LETTER } from "./labels";
import { chromosomes } from "./ManhattanMarks";

const LAST = [
  249, 242, 198, 190, 182, 171, 159, 145, 138, 134, 135, 133, 114, 107, 102, 90, 83, 80, 59, 64, 47, 51,
];
const GENOME = genomeOf(
  LAST.map((last, k) => ({ name: String(k + 1), first: 1, last: last * 1e6, variants: 1 })),
);

test.each([290, 900])("the first and the last chromosome are named, and no names touch at %i px", (width) => {
  const ticks = chromosomes(GENOME, { from: 0, to: GENOME.length }, width);
  const names = ticks.map(({ text }) => text);
  expect(names).toContain("1");
  expect(names).toContain("22");
  expect(names.length).toBeGreaterThanOrEqual(width < 500 ? 16 : 22);
  for (const a of ticks)
    for (const b of ticks)
      if (a.y === b.y && a.x < b.x)
        expect(b.x - a.x).toBeGreaterThan(((a.text.length + b.text.length) / 2) * LETTER);
});
