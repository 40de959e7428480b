/** How one gets from one part of the genome to the next: by buttons, and by keys. */
import { chromosomeOf, kept, type Genome, type Region } from "./genome";

export type Move = "in" | "out" | "left" | "right" | "all";

const CLOSER = 0.5;
const STEP = 0.25; // of the width

/** Where a move leads. Out of a whole chromosome it leads to the whole genome, which has no left or right. */
export function moved(genome: Genome, region: Region | null, move: Move): Region | null {
  if (move === "all") return null;
  if (!region) return move === "in" ? widest(genome) : null;
  const size = region.to - region.from;
  switch (move) {
    case "in":
      return scaled(genome, region, CLOSER);
    case "out":
      return size >= (chromosomeOf(genome, region.chromosome)?.last ?? 0)
        ? null
        : scaled(genome, region, 1 / CLOSER);
    case "left":
      return shifted(genome, region, -STEP * size);
    case "right":
      return shifted(genome, region, STEP * size);
  }
}

/** From the whole genome the first step leads to its first chromosome. */
function widest(genome: Genome): Region | null {
  const [first] = genome.chromosomes;
  return first ? kept(genome, { chromosome: first.name, from: 0, to: first.last }) : null;
}

function scaled(genome: Genome, region: Region, factor: number): Region | null {
  const middle = (region.from + region.to) / 2;
  const half = ((region.to - region.from) / 2) * factor;
  return kept(genome, { ...region, from: middle - half, to: middle + half });
}

const shifted = (genome: Genome, region: Region, by: number): Region | null =>
  kept(genome, { ...region, from: region.from + by, to: region.to + by });

/** What a key means on the plot: a move, a step through the marked variants, or a look at the chosen one. */
export type Meaning = { move: Move } | { step: 1 | -1 } | "look" | null;

const MEANINGS: Record<string, Meaning> = {
  "+": { move: "in" },
  "=": { move: "in" },
  "-": { move: "out" },
  ArrowLeft: { move: "left" },
  ArrowRight: { move: "right" },
  ArrowDown: { step: 1 },
  ArrowUp: { step: -1 },
  Enter: "look",
  Escape: { move: "all" },
};

export const meaning = (key: string): Meaning => MEANINGS[key] ?? null;

/** The one `step` further in a list of `length`, round its ends; null in an empty list. */
export function stepped(length: number, at: number | null, step: 1 | -1): number | null {
  if (!length) return null;
  if (at === null) return step === 1 ? 0 : length - 1;
  return (at + step + length) % length;
}
