/** Eigenvalues of principal components, read for the screen. */

export interface Eigenvalue {
  /** From 1: PC1. */
  number: number;
  value: number;
  /** How many times the next it is; null of the last. */
  timesNext: number | null;
}

/** From this on a component stands out, and is found to the plan's tolerance. */
export const STANDS_OUT = 1.2;

/** The eigenvalues in a file, one a line. */
export function readEigenvalues(text: string): Eigenvalue[] {
  const values = text.split("\n").filter(Boolean).map(Number);
  return values.map((value, k) => {
    const next = values[k + 1];
    return { number: k + 1, value, timesNext: next === undefined ? null : value / next };
  });
}

/** Where an axis of eigenvalues ends: a round number from 1 to 10 times a power of ten, above all. */
export function topOf(eigenvalues: readonly Eigenvalue[]): number {
  const most = Math.max(...eigenvalues.map(({ value }) => value), Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((factor) => most <= factor * power) ?? 10;
  return Number((factor * power).toPrecision(3));
}
