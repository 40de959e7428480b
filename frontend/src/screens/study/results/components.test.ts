import { expect, test } from "vitest";

import { readEigenvalues, topOf } from "./components";

test("eigenvalues are one a line, with their errors where the file has them", () => {
  const head = "#EIGENVALUE\tTIMES_NEXT\tERROR\tSTANDS_OUT\n";
  expect(readEigenvalues(`${head}6\t1.5\t1e-10\t1\n4\t1.1\t0.5\t0\n`)).toEqual([
    { number: 1, value: 6, timesNext: 1.5, error: 1e-10, standsOut: true },
    { number: 2, value: 4, timesNext: 1.1, error: 0.5, standsOut: false },
  ]);
  expect(readEigenvalues("6\n")).toEqual([
    { number: 1, value: 6, timesNext: null, error: null, standsOut: false },
  ]);
});

test("their axis ends just above the largest", () => {
  expect(topOf(readEigenvalues("100.755\n81\n"))).toBe(150);
  expect(topOf(readEigenvalues("9.7\n"))).toBe(10);
  expect(topOf(readEigenvalues("0.31\n"))).toBe(0.4);
});
