/** Eigenvalues of principal components, and the density of people, read for the screen. */

export interface Eigenvalue {
  /** From 1: PC1. */
  number: number;
  value: number;
  /** How many times the next it is; null where nobody says it. */
  timesNext: number | null;
  /** At most how far its direction is from the pool's, as 1 - |cos|; null likewise. */
  error: number | null;
  standsOut: boolean;
}

/** The eigenvalues in a file, one a line: in that of errors under a head, in plink2's alone. */
export function readEigenvalues(text: string): Eigenvalue[] {
  const lines = text.split("\n").filter((line) => line && !line.startsWith("#"));
  return lines.map((line, k) => {
    const [value = NaN, timesNext = null, error = null, standsOut = 0] = line.split("\t").map(Number);
    return { number: k + 1, value, timesNext, error, standsOut: standsOut === 1 };
  });
}

/** Where an axis of eigenvalues ends: a round number from 1 to 10 times a power of ten, above all. */
export function topOf(eigenvalues: readonly Eigenvalue[]): number {
  const most = Math.max(...eigenvalues.map(({ value }) => value), Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((factor) => most <= factor * power) ?? 10;
  return Number((factor * power).toPrecision(3));
}

/** A rectangle in the plane of two components, and how many people are in it at least. */
export interface Cell {
  left: number;
  right: number;
  low: number;
  high: number;
  people: number;
}

/** The cells of a file of density, one a line under a head. */
export function readDensity(text: string): Cell[] {
  const lines = text.split("\n").filter((line) => line && !line.startsWith("#"));
  return lines.map((line) => {
    const [left = NaN, right = NaN, low = NaN, high = NaN, people = NaN] = line.split("\t").map(Number);
    return { left, right, low, high, people };
  });
}

/** Where both axes of a picture of cells end, alike on both sides of 0: lengths in it can be compared. */
export const reachOf = (cells: readonly Cell[]): number =>
  Math.max(...cells.flatMap(({ left, right, low, high }) => [left, right, low, high].map(Math.abs)));

const [FAINTEST, DOUBLING, DARKEST] = [0.12, 0.1, 0.9];

/** How opaque a cell is: each doubling of its people adds as much; as in the cohorts' own pictures. */
export const shadeOf = ({ people }: Cell, cells: readonly Cell[]): number =>
  Math.min(DARKEST, FAINTEST + DOUBLING * Math.log2(people / Math.min(...cells.map((cell) => cell.people))));
