import { expect, test } from "vitest";

import { readModel, rocBand, rocPoints, scalingOf } from "./model";

const file = (outcome: object, ...coefficients: number[][]) =>
  JSON.stringify({
    outcome: { name: "y", ...outcome },
    features: coefficients.map((each, k) => ({ name: `x${k}`, deviation: k + 1, coefficients: each })),
    people: 300,
    penalty: 0.1,
    error: 1,
    variance: 4,
  });

test("features come by the size of their coefficients per deviation", () => {
  const model = readModel(file({}, [3], [-2], [0.5]));
  expect(model.features.map(({ name }) => name)).toEqual(["x1", "x0", "x2"]);
  expect(model).toMatchObject({ outcome: "y", people: 300, explained: 0.75, scores: [""] });
});

test("a scaling is named with its lambda, as schemas name it", () => {
  expect(scalingOf({ method: "yeo-johnson", lambda: -0.056800365 })).toBe("yeo-johnson (λ -0.05680)");
  expect([scalingOf({ method: "log" }), scalingOf(undefined)]).toEqual(["log", ""]);
});

test("more than two classes have a coefficient each", () => {
  expect(readModel(file({ classes: ["a", "b", "c"] }, [1, 2, 3])).scores).toEqual(["a", "b", "c"]);
  expect(readModel(file({ classes: ["no", "yes"] }, [1])).scores).toEqual([""]);
});

test("a network has its weights counted, and no coefficients", () => {
  const layers = [
    {
      weight: [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      bias: [1, 2, 3],
    },
    { weight: [[1, 2, 3]], bias: [1] },
  ];
  const model = readModel(
    JSON.stringify({
      outcome: { name: "y" },
      features: [
        { name: "x0", deviation: 1 },
        { name: "x1", deviation: 2 },
      ],
      network: { layers },
      curve: { loss: [3, 2], held_out: [3, 2.5] },
      round: 1,
      error: 1,
      variance: 4,
    }),
  );
  expect(model.penalty).toBeNull();
  expect(model.training).toEqual({ weights: 13, round: 1, loss: [3, 2], heldOut: [3, 2.5], right: null });
});

test("the ROC curve goes through the ends of ranges, and its band around them", () => {
  const points = rocPoints({ rows: [4, 4, 2], observed: [1, 2, 2] });
  expect(points).toEqual([
    [0, 0],
    [0, 0.4],
    [0.4, 0.8],
    [1, 1],
  ]);
  const area = rocBand(points).reduce(
    (total, [x, y], k, all) =>
      total + x * (all[(k + 1) % all.length]?.[1] ?? 0) - y * (all[(k + 1) % all.length]?.[0] ?? 0),
    0,
  );
  expect(Math.abs(area) / 2).toBeCloseTo((2 * 0 + 2 * 2 + 1 * 3) / (5 * 5)); // pairs within a range, of all pairs
});
