/** The performance of a polygenic score, read for the screen. */

export interface PolygenicFile {
  phenotype: string;
  left_out: number;
  rounds: number;
  /** The share of variance that was chosen, and R² there. */
  share: number;
  r_squared: number | null;
  /** All that were tried, the smallest first. */
  shares: Share[];
}

export interface Share {
  share: number;
  /** Null where it cannot be computed. */
  r_squared: number | null;
  /** The share of the squared error that the score takes away. */
  explained: number | null;
  chosen: boolean;
}

/** The performance in a file; an Error if it is none. */
export const readPolygenic = (text: string): PolygenicFile => JSON.parse(text) as PolygenicFile;

/** Where an axis of R² ends: a round number above all. */
export function topOf(shares: readonly Share[]): number {
  const most = Math.max(...shares.map(({ r_squared }) => r_squared ?? 0));
  const ends = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1];
  return ends.find((end) => most <= end) ?? 1;
}
