/** Which region to look at for a place that a search has found. */
import type { Schemas } from "../../../api/client";
import type { Region } from "./genome";

const BESIDE = 100_000; // bases to either side of a gene
const AROUND = 250_000; // bases to either side of a variant or a single position

export function regionOfPlace({ kind, chromosome, first, last }: Schemas["FoundPlace"]): Region {
  const margin = kind === "gene" ? BESIDE : first === last ? AROUND : 0;
  return { chromosome, from: first - margin, to: last + margin };
}
