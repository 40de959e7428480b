import { expect, test } from "vitest";

import { FOLD, folded } from "./fold";

test("an axis up to 30 is not folded, and holds every value", () => {
  const axis = folded(30, 340);
  expect(axis.isFolded).toBe(false);
  expect(axis.y(0)).toBe(340);
  expect(axis.y(15) - axis.y(30)).toBeCloseTo(axis.y(0) - axis.y(15));
  expect(axis.y(30)).toBeGreaterThan(0);
  expect(axis.ticks).toEqual([0, 5, 10, 15, 20, 25, 30]);
});

test("an axis up to 522 is folded at 20, below which it keeps most of the height", () => {
  const axis = folded(522, 340);
  expect(axis.isFolded).toBe(true);
  expect(axis.y(FOLD) / 340).toBeCloseTo(0.28);
  expect(axis.y(5) - axis.y(10)).toBeCloseTo(axis.y(10) - axis.y(15)); // straight below
  expect(axis.y(200) - axis.y(300)).toBeCloseTo(axis.y(300) - axis.y(400)); // and above
  expect(axis.y(522)).toBeGreaterThan(0);
  expect(axis.ticks.slice(0, 5)).toEqual([0, 5, 10, 15, 20]);
  expect(Math.max(...axis.ticks)).toBeGreaterThan(200);
});

test("numbers on the folded axis do not touch", () => {
  for (const most of [41, 60, 100, 161, 522, 1e4]) {
    for (const height of [200, 260, 400]) {
      const { ticks, y } = folded(most, height);
      const gaps = ticks.slice(1).map((tick, i) => y(ticks[i] ?? 0) - y(tick));
      expect(Math.min(...gaps)).toBeGreaterThan(14);
    }
  }
});

test("where nothing is strong the genome-wide line is in sight all the same", () => {
  const { y, top } = folded(2.1, 340);
  expect(top).toBeGreaterThan(8);
  expect(y(-Math.log10(5e-8))).toBeGreaterThan(0);
});
