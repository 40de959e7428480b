import { expect, test } from "vitest";

import { measured, megabases, place, pOf, pValue, span, threshold } from "./genetics";

test.each([
  [0, "1.00"],
  [1.3665, "0.0430"],
  [2.9999, "0.00100"],
  [3, "1.00 × 10⁻³"],
  [7.30103, "5.00 × 10⁻⁸"],
  [7.9999999, "1.00 × 10⁻⁸"],
  [522.018, "9.59 × 10⁻⁵²³"],
  [null, "NA"],
])("−log10 P of %d is P %s", (negLog10, text) => {
  expect(pValue(negLog10)).toBe(text);
});

test.each([
  ["1", "1.00"],
  ["0.04301", "0.0430"],
  ["1.234e-05", "1.23 × 10⁻⁵"],
  ["9.594e-523", "9.59 × 10⁻⁵²³"],
  [null, "NA"],
])("the P %s of the server is written %s", (text, written) => {
  expect(pOf(text)).toBe(written);
});

test("thresholds", () => {
  expect([5e-8, 1e-5].map(threshold)).toEqual(["5 × 10⁻⁸", "10⁻⁵"]);
});

test("places, and lengths", () => {
  expect(place("X", 37_360_945)).toBe("X:37,360,945");
  expect(megabases(37_160_945, 37_560_945)).toBe("37.161 – 37.561 Mb");
  expect(megabases(0, 248_964_094)).toBe("0 – 249 Mb");
  expect(megabases(1_000_000, 1_000_200)).toBe("1 – 1.0002 Mb");
  expect([200, 400_000, 999_900, 1_234_000].map(span)).toEqual(["200 b", "400 kb", "1 Mb", "1.23 Mb"]);
});

test.each([
  [0.0289531, "0.02895"],
  [7.42968, "7.430"],
  [-0.00001234, "-1.234 × 10⁻⁵"],
  [1e300, "1.000 × 10³⁰⁰"],
  [12_345.6, "12346"],
  [54321, "54321"],
  [0, "0"],
  [12.0028, "12.00"],
  [null, "NA"],
  [NaN, "NA"],
])("%d is measured as %s", (value, text) => {
  expect(measured(value)).toBe(text);
});
