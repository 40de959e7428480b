/** Rows of a table on the screen: their order, their pages, and the keys that lead through them. */
import type { Schemas } from "../../../api/client";

export type Variant = Schemas["Variant"];

export const PAGE = 25;
export const BLOCK = 1000; // rows of one answer of the server's

export type Key = "id" | "place" | "a1_freq" | "effect" | "se" | "p" | "variants";
export interface Order {
  key: Key;
  isDown: boolean;
}

type Value = number | string | null;

/** What a column is sorted by. */
const VALUES: Record<Key, (row: Variant) => Value> = {
  id: (row) => row.id,
  place: (row) => row.index, // the panel's order is that of the genome
  a1_freq: (row) => row.a1_freq,
  effect: (row) => row.effect,
  se: (row) => row.se,
  p: (row) => (row.neg_log10_p === null ? null : -row.neg_log10_p),
  variants: (row) => row.locus?.variants ?? null,
};

/** Rows in an order; what is not known stands at the end of both directions. */
export function sorted(rows: readonly Variant[], order: Order | null): readonly Variant[] {
  if (!order) return rows;
  const value = VALUES[order.key];
  return [...rows].sort((a, b) => compared(value(a), value(b), order.isDown));
}

function compared(a: Value, b: Value, isDown: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const found =
    typeof a === "string" || typeof b === "string"
      ? String(a).localeCompare(String(b), "en", { numeric: true })
      : a - b;
  return isDown ? -found : found;
}

/** A click on a column's head: upwards, downwards, and as the server has it again. */
export function ordered(now: Order | null, key: Key): Order | null {
  if (now?.key !== key) return { key, isDown: false };
  return now.isDown ? null : { key, isDown: true };
}

/** The number of the row after or before the one that is looked at; from none, the first or the last. */
export function neighbour(rows: readonly Variant[], now: Variant | null, step: 1 | -1): number | null {
  const at = rows.findIndex((row) => row.index === now?.index);
  const next = at >= 0 ? at + step : step > 0 ? 0 : rows.length - 1;
  return next in rows ? next : null;
}

/** The row that a key leads to; null where the key is not one of these. */
export function rowAfter(key: string, row: number, rows: number): number | null {
  const last = rows - 1;
  switch (key) {
    case "ArrowDown":
      return Math.min(row + 1, last);
    case "ArrowUp":
      return Math.max(row - 1, 0);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}

const MARGIN = 0.05;
const NEAR = 100_000; // bases to either side of a variant outside of every locus

/** The region to look at for a row: its locus, or what is around it. */
export function around({ chromosome, position, locus }: Variant): {
  chromosome: string;
  from: number;
  to: number;
} {
  if (!locus) return { chromosome, from: position - NEAR, to: position + NEAR };
  const margin = (locus.end - locus.start) * MARGIN;
  return { chromosome, from: locus.start - margin, to: locus.end + margin };
}
