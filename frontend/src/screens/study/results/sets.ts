/** The tests of sets of variants, as their file has them: a line for each set and test. */

export const TESTS = ["ADD", "ADD-SKAT", "ADD-SKATO", "ADD-ACATV"] as const;
type Test = (typeof TESTS)[number];

const BY: Test = "ADD-SKATO";
const COLUMNS = { chromosome: 0, position: 1, id: 2, test: 7, p: 11, extra: 12 };

export interface TestedSet {
  id: string;
  chromosome: string;
  position: number;
  /** Those with a column of their own, and those that are collapsed. */
  variants: number;
  /** −log₁₀ P; null where there is none. */
  p: Record<Test, number | null>;
}

export interface Sets {
  /** Sets with a result, those of the least P of SKAT-O first. */
  tested: TestedSet[];
  without: number;
}

export function readSets(text: string): Sets {
  const [, ...lines] = text.trimEnd().split("\n");
  const found: TestedSet[] = [];
  for (let at = 0; at + TESTS.length <= lines.length; at += TESTS.length) {
    const rows = lines.slice(at, at + TESTS.length).map((line) => line.split(" "));
    const cell = (column: keyof typeof COLUMNS) => rows[0]?.[COLUMNS[column]] ?? "";
    const pOf = (test: Test) => {
      const value = Number(rows.find((row) => row[COLUMNS.test] === test)?.[COLUMNS.p]);
      return Number.isNaN(value) ? null : value;
    };
    const [alone = NaN, collapsed = NaN] = (cell("extra").match(/\d+/g) ?? []).map(Number);
    if (Number.isNaN(alone)) continue;
    found.push({
      id: cell("id"),
      chromosome: cell("chromosome"),
      position: Number(cell("position")),
      variants: alone + collapsed,
      p: {
        ADD: pOf("ADD"),
        "ADD-SKAT": pOf("ADD-SKAT"),
        "ADD-SKATO": pOf(BY),
        "ADD-ACATV": pOf("ADD-ACATV"),
      },
    });
  }
  const tested = found.toSorted((one, other) => (other.p[BY] ?? -1) - (one.p[BY] ?? -1));
  return { tested, without: Math.floor(lines.length / TESTS.length) - found.length };
}
