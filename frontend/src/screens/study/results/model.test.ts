import { expect, test } from "vitest";

import { readModel } from "./model";

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

test("more than two classes have a coefficient each", () => {
  expect(readModel(file({ classes: ["a", "b", "c"] }, [1, 2, 3])).scores).toEqual(["a", "b", "c"]);
  expect(readModel(file({ classes: ["no", "yes"] }, [1])).scores).toEqual([""]);
});
