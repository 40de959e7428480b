/** Eigenvalues of principal components, read for the screen. */

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
