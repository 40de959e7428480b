/** Where the effects of one variant stand under one another, each with its limits, on one scale. */

export interface Effect {
  name: string;
  effect: number | null;
  lower: number | null;
  upper: number | null;
}

export interface Mark {
  name: string;
  /** Shares of the width, from 0 to 1. */
  lower: number;
  middle: number;
  upper: number;
}

export interface Forest {
  marks: readonly Mark[];
  /** Where there is no effect. */
  none: number;
  low: number;
  high: number;
}

/** The picture of those effects that are known, odds ratios by their logarithms; null if none is. */
export function forest(effects: readonly Effect[], isOdds: boolean): Forest | null {
  const place = (value: number): number => (isOdds ? Math.log(value) : value);
  const known = effects.flatMap(({ name, effect, lower, upper }) => {
    if (effect === null || lower === null || upper === null) return [];
    const [low, middle, high] = [lower, effect, upper].map(place);
    if (low === undefined || middle === undefined || high === undefined) return [];
    return Number.isFinite(low) && Number.isFinite(high) ? [{ name, lower: low, middle, upper: high }] : [];
  });
  if (known.length === 0) return null;
  const low = Math.min(0, ...known.map((mark) => mark.lower));
  const high = Math.max(0, ...known.map((mark) => mark.upper));
  const share = (at: number): number => (at - low) / (high - low || 1);
  const marks = known.map(({ name, lower, middle, upper }) => ({
    name,
    lower: share(lower),
    middle: share(middle),
    upper: share(upper),
  }));
  const back = (at: number): number => (isOdds ? Math.exp(at) : at);
  return { marks, none: share(0), low: back(low), high: back(high) };
}
