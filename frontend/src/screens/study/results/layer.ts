/**
 * What is drawn of one answer of the server's, the whole genome's or a region's: paths in pixels, and the single
 * variants that can be pointed at. It is drawn for one stretch of the axis, its home; on the way to another it is
 * only shifted and stretched (`onto`).
 */
import type { Schemas } from "../../../api/client";
import { folded, mirrored, type Folded } from "./fold";
import { chromosomeOf, type Genome, type Window } from "./genome";
import { dot, upright } from "./paths";

export interface Point {
  index: number;
  id: string;
  chromosome: string;
  position: number;
  /** Where on the axis of the genome. */
  at: number;
  negLog10P: number;
  isLead: boolean;
  /** r² with the strongest lead of a region; null where that is not known. */
  r2: number | null;
  /** Probability that it has an effect; null where that was not looked for. */
  pip: number | null;
  /** The credible set that it is in. */
  set: Schemas["CredibleSet"] | null;
  /** What only a region tells. */
  alleles: {
    a1: string;
    a2: string;
    frequency: number | null;
    effect: number | null;
    se: number | null;
  } | null;
}

export interface Layer {
  home: Window;
  scale: Folded;
  /** Of every other chromosome, so that neighbours differ. */
  even: string;
  odd: string;
  /** Of points by their linkage, the weakest first, as they are coloured. */
  linked: readonly string[];
  isLinked: boolean;
  /** Halos of the variants in credible sets. */
  credible: string;
  points: readonly Point[];
  isEveryVariant: boolean;
}

/** From which r² on a point has the next colour. */
export const BOUNDS = [0.2, 0.4, 0.6, 0.8] as const;

export interface Size {
  width: number;
  height: number;
}

/** Pixels from the left in a plot that shows `window`. */
export const across = (window: Window, width: number, at: number): number =>
  ((at - window.from) / (window.to - window.from)) * width;

/** The axis at so many pixels from the left. */
export const axisAt = (window: Window, width: number, x: number): number =>
  window.from + (x / width) * (window.to - window.from);

/** Whether a layer has all of what a window shows, but for a pixel. */
export const covers = ({ home }: Layer, window: Window): boolean => {
  const slack = (window.to - window.from) / 500;
  return home.from <= window.from + slack && home.to >= window.to - slack;
};

/** The transform that shows a layer in a window; undefined at home. */
export function onto({ home }: Layer, window: Window, width: number): string | undefined {
  const stretch = (home.to - home.from) / (window.to - window.from);
  const shift = across(window, width, home.from);
  if (Math.abs(stretch - 1) < 1e-9 && Math.abs(shift) < 1e-6) return undefined;
  return `matrix(${stretch} 0 0 1 ${shift} 0)`;
}

/** The whole genome; `isDown` where the axis points down. */
export function overviewLayer(
  genome: Genome,
  answer: Schemas["Manhattan"],
  size: Size,
  isDown = false,
): Layer {
  const { segments, cell, points, leads } = answer;
  const isLead = new Set(leads);
  const starts = new Map(genome.chromosomes.map(({ name, start }, number) => [name, { start, number }]));
  const found = points.position.map((position, i): Point => {
    const chromosome = points.chromosome[i] ?? "";
    return {
      index: points.index[i] ?? 0,
      id: points.id[i] ?? "",
      chromosome,
      position,
      at: (starts.get(chromosome)?.start ?? 0) + position,
      negLog10P: points.neg_log10_p[i] ?? 0,
      isLead: isLead.has(i),
      r2: null,
      pip: null,
      set: null,
      alleles: null,
    };
  });
  const columns = segments.column.map((column, i) => {
    const chromosome = segments.chromosome[i] ?? "";
    const { start = 0, number = 0 } = starts.get(chromosome) ?? {};
    const last = genome.chromosomes[number]?.last ?? 0;
    const middle = Math.min((column + 0.5) * cell.bases, last); // the last cell may reach beyond the end
    return { at: start + middle, number, low: segments.low[i] ?? 0, high: segments.high[i] ?? 0 };
  });
  const numberOf = (point: Point) => starts.get(point.chromosome)?.number ?? 0;
  return drawn({ from: 0, to: genome.length }, size, columns, cell.height, found, numberOf, false, isDown);
}

/** A region. */
export function regionLayer(genome: Genome, answer: Schemas["Region"], size: Size): Layer {
  const { segments, cell, points, leads, first, last, chromosome, linkage, credible } = answer;
  const start = chromosomeOf(genome, chromosome)?.start ?? 0;
  const number = genome.chromosomes.findIndex(({ name }) => name === chromosome);
  const isLead = new Set(leads);
  const found = points.position.map((position, i): Point => ({
    index: points.index[i] ?? 0,
    id: points.id[i] ?? "",
    chromosome,
    position,
    at: start + position,
    negLog10P: points.neg_log10_p[i] ?? 0,
    isLead: isLead.has(i),
    r2: linkage?.r2[i] ?? null,
    pip: credible?.pip[i] ?? null,
    set: credible?.sets[credible.set[i] ?? -1] ?? null,
    alleles: {
      a1: points.a1[i] ?? "",
      a2: points.a2[i] ?? "",
      frequency: points.a1_freq[i] ?? null,
      effect: points.effect_of_a1[i] ?? null,
      se: points.se[i] ?? null,
    },
  }));
  const columns = segments.column.map((column, i) => ({
    at: start + first + (column + 0.5) * (cell?.bases ?? 0),
    number,
    low: segments.low[i] ?? 0,
    high: segments.high[i] ?? 0,
  }));
  const home = { from: start + first, to: start + last };
  const layer = drawn(home, size, columns, cell?.height ?? 0, found, () => number, cell === null);
  return { ...layer, isLinked: linkage !== null };
}

interface Column {
  at: number;
  number: number;
  low: number;
  high: number;
}

function drawn(
  home: Window,
  { width, height }: Size,
  columns: readonly Column[],
  cell: number,
  points: readonly Point[],
  numberOf: (point: Point) => number,
  isEveryVariant: boolean,
  isDown = false,
): Layer {
  const most = columns.reduce((top, column) => Math.max(top, (column.high + 1) * cell), 0);
  const up = folded(
    points.reduce((top, point) => Math.max(top, point.negLog10P), most),
    height,
  );
  const scale = isDown ? mirrored(up, height) : up;
  const paths: [string[], string[]] = [[], []];
  const linked = [...BOUNDS, 1].map((): string[] => []);
  const spot = ({ at, negLog10P }: Point) => dot(across(home, width, at), scale.y(negLog10P));
  for (const { at, number, low, high } of columns) {
    const line = upright(across(home, width, at), scale.y((low + 0.5) * cell), scale.y((high + 0.5) * cell));
    paths[number % 2 ? 1 : 0].push(line);
  }
  for (const point of points) {
    if (point.isLead) continue; // a diamond, drawn on top
    const { r2 } = point;
    const usual = paths[numberOf(point) % 2 ? 1 : 0];
    const path = r2 === null ? usual : linked[BOUNDS.filter((bound) => r2 >= bound).length];
    path?.push(spot(point));
  }
  return {
    home,
    scale,
    even: paths[0].join(""),
    odd: paths[1].join(""),
    linked: linked.map((each) => each.join("")),
    isLinked: false,
    credible: points
      .filter(({ set }) => set !== null)
      .map(spot)
      .join(""),
    points,
    isEveryVariant,
  };
}

/** The variant closest to a place in the plot, if one is within `reach` pixels. */
export function nearest(
  layer: Layer,
  window: Window,
  width: number,
  [x, y]: readonly [number, number],
  reach = 12,
): Point | null {
  let best: Point | null = null;
  let least = reach ** 2;
  for (const point of layer.points) {
    const distance = (across(window, width, point.at) - x) ** 2 + (layer.scale.y(point.negLog10P) - y) ** 2;
    // Of two on the same place the lead is meant: its diamond lies on top.
    if (distance < least || (distance === least && point.isLead)) [best, least] = [point, distance];
  }
  return best;
}

/** Lead variants that a window shows, in the order of the axis. Where a region has none: its strongest ones. */
export function marked(layer: Layer, window: Window): Point[] {
  const seen = layer.points.filter(({ at }) => at >= window.from && at <= window.to);
  const leads = seen.filter((point) => point.isLead);
  const chosen = leads.length ? leads : strongest(seen).slice(0, 20);
  return chosen.sort((a, b) => a.at - b.at);
}

export const strongest = (points: readonly Point[]): Point[] =>
  [...points].sort((a, b) => b.negLog10P - a.negLog10P);
