import { expect, test } from "vitest";

import { reachOf, readDensity, readEigenvalues, shadeOf, topOf } from "./components";

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

test("cells are darker the more people they have, on axes alike on both sides", () => {
  const cells = readDensity(
    "#PC1_FROM\tPC1_TO\tPC2_FROM\tPC2_TO\tAT_LEAST\n-3\t0\t0\t1\t10\n0\t2\t0\t1\t40\n",
  );
  expect(cells).toEqual([
    { left: -3, right: 0, low: 0, high: 1, people: 10 },
    { left: 0, right: 2, low: 0, high: 1, people: 40 },
  ]);
  expect(reachOf(cells)).toBe(3);
  expect(cells.map((cell) => shadeOf(cell, cells).toFixed(2))).toEqual(["0.12", "0.32"]);
});
