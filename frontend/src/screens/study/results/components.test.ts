import { expect, test } from "vitest";

import { readEigenvalues, topOf } from "./components";

test("eigenvalues are one a line, each beside the next", () => {
  expect(readEigenvalues("6\n4\n2.5\n")).toEqual([
    { number: 1, value: 6, timesNext: 1.5 },
    { number: 2, value: 4, timesNext: 1.6 },
    { number: 3, value: 2.5, timesNext: null },
  ]);
});

test("their axis ends just above the largest", () => {
  expect(topOf(readEigenvalues("100.755\n81\n"))).toBe(150);
  expect(topOf(readEigenvalues("9.7\n"))).toBe(10);
  expect(topOf(readEigenvalues("0.31\n"))).toBe(0.4);
});
