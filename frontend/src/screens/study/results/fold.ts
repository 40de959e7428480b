/**
 * The axis of −log₁₀ P. What is interesting lies below 20; a few variants may lie at 500. Then the axis is folded:
 * up to 20 it keeps most of the height, and what is above shares the rest.
 */
import { scaleLinear } from "d3-scale";

export const FOLD = 20;
const FOLDED_ABOVE = 2 * FOLD;
const SHARE = 0.72; // of the height for what is below the fold
const ROOM = 22; // pixels above the strongest variant, for its name
const LEAST = 8; // so that the genome-wide line is always in sight

export interface Folded {
  /** Pixels from the top. */
  y: (value: number) => number;
  top: number;
  isFolded: boolean;
  ticks: number[];
}

/** The axis for values up to `most`, in `height` pixels; it reaches up to `least` in any case. */
export function folded(most: number, height: number, least = LEAST): Folded {
  const strongest = Math.max(most, least);
  const isFolded = strongest > FOLDED_ABOVE;
  const scale = isFolded
    ? scaleLinear([0, FOLD, strongest], [height, height * (1 - SHARE), ROOM])
    : scaleLinear([0, strongest], [height, ROOM]);
  const top = scale.invert(0);
  const ticks = isFolded
    ? [...scaleLinear([0, FOLD], [0, 1]).ticks(4), ...above(top, height)]
    : scaleLinear([0, top], [0, 1]).ticks(Math.max(2, Math.floor(height / 45)));
  return { y: (value) => scale(value), top, isFolded, ticks };
}

/** The same axis upside down, for the lower half of two. */
export const mirrored = (scale: Folded, height: number): Folded => ({
  ...scale,
  y: (value) => height - scale.y(value),
});

const LINE = 16; // pixels, so that numbers do not touch

/** Ticks above the fold: as many as there is room for. */
function above(top: number, height: number): number[] {
  const room = height * (1 - SHARE);
  const least = ((top - FOLD) * LINE) / room; // between two of them
  for (const many of [4, 3, 2, 1]) {
    const ticks = scaleLinear([FOLD, top], [0, 1])
      .ticks(many)
      .filter((tick) => tick >= FOLD + least);
    const [first = 0, second = Infinity] = ticks;
    if (second - first >= least) return ticks;
  }
  return [];
}
