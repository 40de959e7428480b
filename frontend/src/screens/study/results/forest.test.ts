import { expect, test } from "vitest";

import { forest } from "./forest";

const OF_NOTHING = { effect: null, lower: null, upper: null };

test("odds ratios stand by their logarithms, and no effect is on the scale", () => {
  const found = forest(
    [
      { name: "fixed effect", effect: 2, lower: 1, upper: 4 },
      { name: "random effect", effect: 2, lower: 0.5, upper: 8 },
    ],
    true,
  );
  expect(found?.low).toBeCloseTo(0.5);
  expect(found?.high).toBeCloseTo(8);
  expect(found?.none).toBeCloseTo(0.25);
  expect(found?.marks.map((mark) => [mark.lower, mark.middle, mark.upper])).toEqual([
    [expect.closeTo(0.25), expect.closeTo(0.5), expect.closeTo(0.75)],
    [0, expect.closeTo(0.5), 1],
  ]);
});

test("betas stand as they are, and the scale reaches to no effect", () => {
  const found = forest([{ name: "pooled", effect: 3, lower: 2, upper: 4 }], false);
  expect(found).toEqual({
    marks: [{ name: "pooled", lower: 0.5, middle: 0.75, upper: 1 }],
    none: 0,
    low: 0,
    high: 4,
  });
});

test("what is not known has no mark, and nothing known no picture", () => {
  const known = { name: "fixed effect", effect: 1.2, lower: 1.1, upper: 1.3 };
  expect(forest([known, { name: "random effect", ...OF_NOTHING }], true)?.marks).toHaveLength(1);
  expect(forest([{ name: "random effect", ...OF_NOTHING }], true)).toBeNull();
  expect(forest([{ name: "pooled", effect: 0, lower: 0, upper: 1 }], true)).toBeNull();
});
