/** Numbers by party and phase, as a matrix. */

export interface Cell {
  party: string;
  phase: string;
  value: number;
}

export interface PartyRow {
  party: string;
  /** By phase; a phase that the party had no part in is not there. */
  values: Record<string, number>;
  sum: number;
}

/** In the order of the phases of a study. */
const ORDER = [
  "joining",
  "panel",
  "rounds",
  "results",
  "reading",
  "verifying",
  "computing",
  "sending",
  "waiting",
];

/** Phases that any party had, in the order of a study, and a row for each party, the compensator last. */
export function matrix(cells: readonly Cell[]): { phases: string[]; rows: PartyRow[] } {
  const phases = [...new Set(cells.map((cell) => cell.phase))].sort((a, b) => place(a) - place(b));
  const parties = [...new Set(cells.map((cell) => cell.party))].sort(
    (a, b) => Number(a === "compensator") - Number(b === "compensator") || a.localeCompare(b),
  );
  const rows = parties.map((party) => {
    const own = cells.filter((cell) => cell.party === party);
    return {
      party,
      values: Object.fromEntries(own.map(({ phase, value }) => [phase, value])),
      sum: own.reduce((sum, { value }) => sum + value, 0),
    };
  });
  return { phases, rows };
}

const place = (phase: string): number => (ORDER.includes(phase) ? ORDER.indexOf(phase) : ORDER.length);
