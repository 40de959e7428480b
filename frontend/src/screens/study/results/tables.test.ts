import { expect, test } from "vitest";

import { readEncoding, readParameters, readSummary, stripOf } from "./tables";

test("parameters of any method, with their notes", () => {
  const text = JSON.stringify({
    format: "unpooled/normalization",
    version: 1,
    method: "z-score",
    features: [
      { name: "age", unit: "years", n: 1204, mean: 61.3, deviation: 9.8 },
      {
        name: "none",
        unit: "",
        n: 0,
        mean: null,
        deviation: null,
        note: "no cohort has a value: stays missing",
      },
    ],
  });
  const { method, features } = readParameters(text);
  expect(method).toBe("z-score");
  expect(features[0]).toEqual({
    name: "age",
    unit: "years",
    n: 1204,
    note: "",
    parameters: { mean: 61.3, deviation: 9.8 },
  });
  expect(features[1]?.parameters).toEqual({ mean: null, deviation: null });
  expect(features[1]?.note).toContain("stays missing");
});

const SUMMARY = `name\ttype\tunit\tn\tmissing\tmean\tdeviation\tq0.01\tq0.25\tq0.5\tq0.75\tq0.99
age\tinteger\tyears\t3000\t2\t60.43\t12.0\t32.0\t52.0\t60.5\t69.0\t92.0
rare\tnumber\t\t20\t0\t1.5\tNA\tNA\tNA\t2.0\tNA\tNA
`;

test("a summary, whose quantiles may not be told", () => {
  const [age, rare] = readSummary(SUMMARY);
  expect(age).toMatchObject({ name: "age", unit: "years", n: 3000, missing: 2, mean: 60.43 });
  expect(age?.quantiles.map(({ share, value }) => [share, value])).toEqual([
    [0.01, 32],
    [0.25, 52],
    [0.5, 60.5],
    [0.75, 69],
    [0.99, 92],
  ]);
  expect(rare?.deviation).toBeNull();
  expect(rare?.quantiles.filter(({ value }) => value !== null)).toEqual([{ share: 0.5, value: 2 }]);
});

test("a strip reaches from the first known quantile to the last", () => {
  const [age, rare] = readSummary(SUMMARY);
  const strip = age && stripOf(age);
  expect(strip?.spans.map(({ share }) => share)).toEqual([0.01, 0.25]);
  expect(strip?.spans[0]).toMatchObject({ from: 0, to: 1 });
  expect(strip?.spans[1]?.from).toBeCloseTo(20 / 60);
  expect(strip?.median).toBeCloseTo(28.5 / 60);
  const areas = strip?.bars.map(({ width, height }) => width * height) ?? [];
  expect(areas.reduce((sum, area) => sum + area, 0)).toBeCloseTo(0.98);
  // A mean beyond the scale stands at its end.
  expect(rare && stripOf(rare)).toEqual({ bars: [], spans: [], median: 0.5, mean: 0.5, low: 2, high: 2 });
  expect(stripOf({ quantiles: [{ share: 0.5, value: null }], mean: 1 })).toBeNull();
});

test("a scale as wide as numbers go", () => {
  const quantiles = [
    { share: 0.25, value: -1.7e308 },
    { share: 0.5, value: 0 },
    { share: 0.75, value: 1.7e308 },
  ];
  expect(stripOf({ quantiles, mean: 1e308 })?.median).toBeCloseTo(0.5);
});

test("a dictionary has its most frequent values first, and the rest last", () => {
  const [drug, hashed] = readEncoding(
    JSON.stringify({
      columns: [
        {
          name: "drug",
          encoding: "frequency",
          known: 40,
          values: ["a", "b"],
          counts: [10, 20],
          rest: 10,
          folded: ["c"],
          encoded: [0.25, 0.5],
          rest_encoded: 0.25,
        },
        { name: "note", encoding: "hash:8" },
      ],
    }),
  );
  expect(drug?.values.map(({ value, count, encoded }) => [value, count, encoded])).toEqual([
    ["b", 20, 0.5],
    ["a", 10, 0.25],
    ["", 10, 0.25],
  ]);
  expect(drug?.folded).toBe(1);
  expect(hashed?.values).toEqual([]);
});
