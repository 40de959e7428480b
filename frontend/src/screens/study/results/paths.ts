/** Many marks as the one `d` of a path: thousands of them cost the page a single element. */

const short = (pixels: number): string => String(Math.round(pixels * 100) / 100);

/** A dot, where the path is stroked with round ends. */
export const dot = (x: number, y: number): string => `M${short(x)} ${short(y)}h.01`;

/** An upright line; one without height is a dot. */
export const upright = (x: number, y1: number, y2: number): string =>
  Math.abs(y1 - y2) < 0.1 ? dot(x, y1) : `M${short(x)} ${short(y1)}V${short(y2)}`;

export const diamond = (x: number, y: number, r: number): string =>
  `M${short(x)} ${short(y - r)}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`;

export const square = (x: number, y: number, r: number): string =>
  `M${short(x - r)} ${short(y - r)}h${2 * r}v${2 * r}h${-2 * r}z`;

export const triangle = (x: number, y: number, r: number): string =>
  `M${short(x)} ${short(y - r)}l${r} ${2 * r}h${-2 * r}z`;

/** The area between two curves over the same x. */
export function band(x: readonly number[], low: readonly number[], high: readonly number[]): string {
  const there = x.map((each, i) => `${short(each)} ${short(high[i] ?? 0)}`);
  const back = x.map((each, i) => `${short(each)} ${short(low[i] ?? 0)}`).reverse();
  return there.length ? `M${[...there, ...back].join("L")}z` : "";
}
