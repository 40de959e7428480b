/** Genes below a picture: which row each is drawn in, so that neither bars nor names touch. */
import type { Schemas } from "../../../api/client";
import { LETTER } from "./labels";
import { across } from "./layer";
import type { Window } from "./genome";

export type Gene = Schemas["Gene"];

export interface Placed {
  gene: Gene;
  row: number;
}

export interface Packing {
  placed: readonly Placed[];
  rows: number;
  /** Genes for which there is no room. */
  left: readonly Gene[];
}

export interface Bar {
  x: number;
  end: number;
  /** The middle of the name, which stays in sight while any of the gene does. */
  middle: number;
}

const GAP = 6; // pixels between neighbours
const LEAST = 2; // pixels of the shortest bar

/** A gene's name with an arrow along its strand. */
export const nameOf = ({ name, strand }: Gene): string =>
  strand === "+" ? `${name} →` : strand === "-" ? `← ${name}` : name;

const ROOM = 5; // pixels: an arrow is wider than a letter

/** Half the width of a gene's name, about. */
export const halfOf = (gene: Gene): number => (nameOf(gene).length * LETTER + ROOM) / 2;

/** Where a gene is drawn in a plot of `width` pixels that shows `window`, in positions of its chromosome. */
export function barOf(gene: Gene, window: Window, width: number): Bar {
  const x = Math.max(0, Math.min(across(window, width, gene.start), width - LEAST));
  const end = Math.max(x + LEAST, Math.min(across(window, width, gene.end), width));
  const half = halfOf(gene);
  return { x, end, middle: Math.max(half, Math.min((x + end) / 2, width - half)) };
}

/** Genes in at most `most` rows: those that code for proteins first, each in the highest row with room. */
export function packed(genes: readonly Gene[], window: Window, width: number, most: number): Packing {
  const seen = genes.filter(({ start, end }) => end >= window.from && start <= window.to);
  const [coding, others] = [true, false].map((isCoding) =>
    seen.filter(({ kind }) => (kind === "coding") === isCoding),
  );
  const taken: [number, number][][] = [];
  const placed: Placed[] = [];
  const left: Gene[] = [];
  for (const gene of [...(coding ?? []), ...(others ?? [])]) {
    const { x, end, middle } = barOf(gene, window, width);
    const half = halfOf(gene);
    const [from, to] = [Math.min(x, middle - half) - GAP, Math.max(end, middle + half)];
    const free = taken.findIndex((row) => row.every(([a, b]) => to < a || from > b));
    const row = free < 0 ? taken.length : free;
    if (row >= most) left.push(gene);
    else {
      (taken[row] ??= []).push([from, to]);
      placed.push({ gene, row });
    }
  }
  return { placed, rows: taken.length, left };
}
