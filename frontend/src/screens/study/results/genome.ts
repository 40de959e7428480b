/** The genome as one axis: its chromosomes end to end. */

export interface Chromosome {
  name: string;
  last: number;
  /** Where it begins on the axis. */
  start: number;
}

export interface Genome {
  chromosomes: readonly Chromosome[];
  length: number;
}

/** A stretch of the axis. */
export interface Window {
  from: number;
  to: number;
}

/** A part of one chromosome, in its own positions; null where the whole genome is meant. */
export interface Region extends Window {
  chromosome: string;
}

export function genomeOf(chromosomes: readonly { name: string; last: number }[]): Genome {
  let length = 0;
  const laid = chromosomes.map(({ name, last }) => {
    const start = length;
    length += last;
    return { name, last, start };
  });
  return { chromosomes: laid, length };
}

export const chromosomeOf = (genome: Genome, name: string): Chromosome | undefined =>
  genome.chromosomes.find((chromosome) => chromosome.name === name);

/** What is seen of the axis when a region is looked at. */
export function windowOf(genome: Genome, region: Region | null): Window {
  if (!region) return { from: 0, to: genome.length };
  const start = chromosomeOf(genome, region.chromosome)?.start ?? 0;
  return { from: start + region.from, to: start + region.to };
}

/** The region of a stretch of the axis: of the chromosome that has most of it. */
export function regionOf(genome: Genome, { from, to }: Window): Region | null {
  let best: Region | null = null;
  for (const { name, start, last } of genome.chromosomes) {
    const part = { from: Math.max(from - start, 0), to: Math.min(to - start, last) };
    if (part.to > part.from && (!best || part.to - part.from > best.to - best.from)) {
      best = { chromosome: name, from: Math.round(part.from), to: Math.round(part.to) };
    }
  }
  return best && kept(genome, best);
}

/** Fewer bases are never shown. */
export const NARROWEST = 500;

/** A region moved and cut so that it lies in its chromosome and is not too narrow; null for an unknown one. */
export function kept(genome: Genome, { chromosome, from, to }: Region): Region | null {
  const found = chromosomeOf(genome, chromosome);
  if (!found) return null;
  const size = Math.min(Math.max(Math.round(to - from), NARROWEST), Math.max(found.last, NARROWEST));
  const middle = (from + to) / 2;
  const first = Math.max(0, Math.min(Math.round(middle - size / 2), found.last - size));
  return { chromosome, from: first, to: first + size };
}

/** `8:37160945-37560945`, as in addresses. */
export const regionText = ({ chromosome, from, to }: Region): string => `${chromosome}:${from}-${to}`;

/** The region that an address names; null if it names none of this genome. */
export function readRegion(genome: Genome, text: string | null): Region | null {
  const found = /^(?:chr)?([^:]+)(?::([\d,]+)-([\d,]+))?$/i.exec(text ?? "");
  if (!found) return null;
  const [, name = "", from, to] = found;
  const chromosome = genome.chromosomes.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (!chromosome) return null;
  const [first, last] = [from, to].map((each) => Number(each?.replaceAll(",", "")));
  const ends = from === undefined ? [0, chromosome.last] : [first ?? 0, last ?? 0];
  return kept(genome, { chromosome: chromosome.name, from: Math.min(...ends), to: Math.max(...ends) });
}
