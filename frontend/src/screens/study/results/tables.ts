/** The result files of a study of tables, read for the screen. */

export interface Feature {
  name: string;
  unit: string;
  n: number;
  /** What the method found, by its name: mean, deviation, lambda, … */
  parameters: Record<string, number | null>;
  note: string;
}

/** The features in a parameters file; an Error if it is none. */
export function readParameters(text: string): { method: string; features: Feature[] } {
  const { method, features } = JSON.parse(text) as {
    method: string;
    features: (Record<string, unknown> & { name: string; unit: string; n: number; note?: string })[];
  };
  return {
    method,
    features: features.map(({ name, unit, n, note = "", ...rest }) => {
      const known = Object.entries(rest).filter(
        (entry): entry is [string, number | null] => entry[1] === null || typeof entry[1] === "number",
      );
      return { name, unit, n, note, parameters: Object.fromEntries(known) };
    }),
  };
}

export interface Summary {
  name: string;
  type: string;
  unit: string;
  n: number;
  /** Null where noise lets nobody know. */
  missing: number | null;
  mean: number | null;
  deviation: number | null;
  quantiles: Quantile[];
}

/** A share of the people, and the value that it is at most; null where that is not told. */
export interface Quantile {
  share: number;
  value: number | null;
}

/** The lines of a summary, `study.summary.tsv`: columns by their heads, `q0.05` a quantile, `NA` not known. */
export function readSummary(text: string): Summary[] {
  const [head = "", ...lines] = text.trimEnd().split("\n");
  const names = head.split("\t");
  return lines.map((line) => {
    const cells = new Map(line.split("\t").map((cell, i) => [names[i] ?? "", cell]));
    const word = (name: string) => cells.get(name) ?? "";
    const number = (name: string) => (word(name) === "NA" || word(name) === "" ? null : Number(word(name)));
    return {
      name: word("name"),
      type: word("type"),
      unit: word("unit"),
      n: number("n") ?? 0,
      missing: number("missing"),
      mean: number("mean"),
      deviation: number("deviation"),
      quantiles: names
        .filter((name) => /^q[\d.]+$/.test(name))
        .map((name) => ({ share: Number(name.slice(1)), value: number(name) })),
    };
  });
}

/** What a strip draws, as shares of its width; null where no quantile is told. */
export interface Strip {
  /** A histogram between the known quantiles: a bar's area is its share of the values. */
  bars: { from: number; width: number; height: number }[];
  /** From one quantile to its counterpart: 1 to 99 %, 5 to 95 %, 25 to 75 %; the widest first. */
  spans: { share: number; from: number; to: number }[];
  median: number | null;
  mean: number | null;
  low: number;
  high: number;
}

/** Width of a bar between quantiles that are the same number. */
const NARROWEST = 0.005;

export function stripOf({ quantiles, mean }: Pick<Summary, "quantiles" | "mean">): Strip | null {
  const known = quantiles.filter((each): each is { share: number; value: number } => each.value !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last) return null;
  const [low, high] = [first.value, last.value];
  const size = high / 2 - low / 2; // halves, for the whole may overflow
  const x = (value: number) => (size > 0 ? Math.min(1, Math.max(0, (value / 2 - low / 2) / size)) : 0.5);
  const spans = known.flatMap(({ share, value }) => {
    const other = known.find((each) => Math.abs(each.share - (1 - share)) < 1e-9);
    return share < 0.5 && other ? [{ share, from: x(value), to: x(other.value) }] : [];
  });
  const bars = known.slice(1).map(({ share, value }, k) => {
    const before = known[k] ?? first;
    const width = Math.max(x(value) - x(before.value), NARROWEST); // ties are still seen
    return { from: x(before.value), width, height: (share - before.share) / width };
  });
  const median = known.find(({ share }) => share === 0.5);
  return {
    bars,
    spans,
    median: median ? x(median.value) : null,
    mean: mean === null ? null : x(mean),
    low,
    high,
  };
}

/** A column of words in an encoding file. */
export interface Words {
  name: string;
  encoding: string;
  known: number;
  values: Value[];
  /** Values of the plan that are not in the dictionary. */
  folded: number;
  note: string;
}

/** A value of a dictionary, or the rest; `encoded` is the number that stands for it, where there is one. */
export interface Value {
  value: string;
  isRest: boolean;
  count: number;
  encoded: number | null;
}

interface WordsFile {
  name: string;
  encoding: string;
  known?: number;
  values?: string[];
  counts?: number[];
  rest?: number;
  folded?: string[];
  encoded?: number[];
  rest_encoded?: number | null;
  note?: string;
}

/** The columns in an encoding file: of each dictionary the most frequent values first, and the rest last. */
export function readEncoding(text: string): Words[] {
  const { columns } = JSON.parse(text) as { columns: WordsFile[] };
  return columns.map(({ name, encoding, known = 0, values = [], counts = [], ...more }) => {
    const kept = values.map((value, k) => ({
      value,
      isRest: false,
      count: counts[k] ?? 0,
      encoded: more.encoded?.[k] ?? null,
    }));
    const rest = { value: "", isRest: true, count: more.rest ?? 0, encoded: more.rest_encoded ?? null };
    return {
      name,
      encoding,
      known,
      values: more.rest === undefined ? [] : [...kept.sort((a, b) => b.count - a.count), rest],
      folded: more.folded?.length ?? 0,
      note: more.note ?? "",
    };
  });
}
