import { expect, test } from "vitest";

import { topOf } from "./polygenic";

const tried = (...found: (number | null)[]) =>
  found.map((r_squared, k) => ({ share: 0.1 * k, r_squared, explained: null, chosen: k === 0 }));

test("the axis of R² ends just above the largest", () => {
  expect(topOf(tried(0.1, 0.23, 0.2))).toBe(0.3);
  expect(topOf(tried(0.0004, null))).toBe(0.001);
  expect(topOf(tried(null))).toBe(0.001);
  expect(topOf(tried(0.99))).toBe(1);
});
