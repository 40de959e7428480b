import { expect, test } from "vitest";

import { axesOf, bandOf, diagonal, marksOf, nameOf, nearestRank, type Curve } from "./quantiles";

function curve(changes: Partial<Curve> = {}): Curve {
  return {
    above: 0,
    up_to: 0.5,
    variants: 1000,
    inflation: 1.01,
    expected: [3, 2, 1],
    observed: [3.5, 2.1, 1],
    low: [2.4, 1.8, 0.9],
    high: [4.6, 2.3, 1.1],
    ...changes,
  };
}

test("curves are named by frequency", () => {
  const names = [
    [0, 0.5],
    [0, 0.01],
    [0.01, 0.05],
    [0.05, 0.5],
  ].map(([above = 0, up_to = 0]) => nameOf(curve({ above, up_to })));
  expect(names).toEqual(["All variants", "Up to 1 %", "Above 1 % up to 5 %", "Above 5 %"]);
});

test("all of every curve and of the band is within the axes", () => {
  const curves = [curve(), curve({ observed: [6, 2, 1] })];
  const axes = axesOf(curves, { width: 400, height: 300 });
  expect(axes.x(3)).toBeLessThanOrEqual(400);
  expect(axes.y.y(6)).toBeGreaterThanOrEqual(0);
  expect(axes.y.y(0)).toBe(300);
  expect(marksOf(curve(), "all", axes).match(/M/g)).toHaveLength(3);
  expect(bandOf(curve(), axes)).toMatch(/^M.*z$/);
});

test("the diagonal is where observed is expected", () => {
  const axes = axesOf([curve()], { width: 400, height: 300 });
  const [, x, y] = /L([\d.]+) ([\d.]+)$/.exec(diagonal(axes)) ?? [];
  expect([Number(x), Number(y)]).toEqual([axes.x(axes.xTop), axes.y.y(axes.xTop)]);
});

test("a curve that is switched off cannot be pointed at", () => {
  const curves = [curve(), curve({ observed: [3, 2.2, 1] })];
  const axes = axesOf(curves, { width: 400, height: 300 });
  const at = [axes.x(2), axes.y.y(2.12)] as const;
  expect(nearestRank(curves, [true, true], axes, at)).toEqual({ curve: 0, expected: 2, observed: 2.1 });
  expect(nearestRank(curves, [false, true], axes, at)).toEqual({ curve: 1, expected: 2, observed: 2.2 });
  expect(nearestRank(curves, [false, false], axes, at)).toBeNull();
});
