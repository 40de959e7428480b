/** The curves of a QQ plot: how each is told from the others, and their paths in pixels. */
import { scaleLinear } from "d3-scale";

import type { Schemas } from "../../../api/client";
import { decimal } from "../../../words/format";
import { folded, type Folded } from "./fold";
import type { Size } from "./layer";
import { band, diamond, dot, square, triangle } from "./paths";
import { t } from "../../../words/language";

export type Curve = Schemas["Curve"];

/** Each curve has a shape and a colour of its own, in the order of the server. */
export const LOOKS = ["all", "rare", "low", "common"] as const;
export type Look = (typeof LOOKS)[number];

const SHAPES: Record<Look, (x: number, y: number, r: number) => string> = {
  all: dot,
  rare: triangle,
  low: square,
  common: diamond,
};

export const shapeOf = (look: Look): ((x: number, y: number, r: number) => string) => SHAPES[look];

export const lookOf = (number: number): Look => LOOKS[number] ?? "all";

/** Frequencies of the rarer allele that a curve is of: `All`, `Up to 1 %`. */
export function nameOf({ above, up_to }: Curve): string {
  const said = { above: percent(above), up_to: percent(up_to) };
  const isLast = up_to >= 0.5; // the rarer allele has no more
  if (above === 0) return isLast ? t("All variants") : t("Up to {{up_to}} %", said);
  return isLast ? t("Above {{above}} %", said) : t("Above {{above}} % up to {{up_to}} %", said);
}

const percent = (share: number): string => decimal(Number((share * 100).toPrecision(3)));

export interface Axes {
  x: (value: number) => number;
  xTicks: number[];
  xTop: number;
  y: Folded;
}

/** Axes that have room for all curves, shown or not: they do not jump when one is switched off. */
export function axesOf(curves: readonly Curve[], { width, height }: Size): Axes {
  const most = (values: (curve: Curve) => readonly number[]) =>
    curves.flatMap(values).reduce((top, value) => Math.max(top, value), 1);
  const xTop = most((curve) => curve.expected) * 1.04;
  const scale = scaleLinear([0, xTop], [0, width]);
  const y = folded(
    most((curve) => [...curve.observed, ...curve.high]),
    height,
    1,
  );
  return { x: (value) => scale(value), xTicks: scale.ticks(Math.max(3, Math.floor(width / 70))), xTop, y };
}

export const marksOf = (curve: Curve, look: Look, { x, y }: Axes): string =>
  curve.expected.map((each, i) => shapeOf(look)(x(each), y.y(curve.observed[i] ?? 0), 3)).join("");

export const bandOf = (curve: Curve, { x, y }: Axes): string =>
  band(curve.expected.map(x), curve.low.map(y.y), curve.high.map(y.y));

/** The line on which all lie if nothing is associated. */
export const diagonal = ({ x, xTop, y }: Axes): string => `M${x(0)} ${y.y(0)}L${x(xTop)} ${y.y(xTop)}`;

export interface Ranked {
  curve: number;
  expected: number;
  observed: number;
}

/** The mark closest to a place, of the curves that are shown. */
export function nearestRank(
  curves: readonly Curve[],
  isShown: readonly boolean[],
  { x, y }: Axes,
  [left, top]: readonly [number, number],
  reach = 12,
): Ranked | null {
  let best: Ranked | null = null;
  let least = reach ** 2;
  curves.forEach((each, curve) => {
    if (!isShown[curve]) return;
    each.expected.forEach((expected, i) => {
      const observed = each.observed[i] ?? 0;
      const distance = (x(expected) - left) ** 2 + (y.y(observed) - top) ** 2;
      if (distance < least) [best, least] = [{ curve, expected, observed }, distance];
    });
  });
  return best;
}
