/** Columns of the cohorts' tables, as a form has them: words of a plan, and lines of a file. */
import type { Schemas } from "../../api/client";
import { SCHEMA_FIELDS } from "../../words/schemaFile";

type PlanColumn = Schemas["PlanColumnRequest"];

/** How words become numbers. `target` goes with the name of a column, `hash` and `ngrams` with a number. */
export const ENCODINGS = ["one-hot", "ordinal", "frequency", "target", "hash", "ngrams"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** How a model scales a column of numbers; empty for mean 0 and deviation 1, which a plan may call z-score. */
export const SCALINGS = ["", "robust", "log", "log1p", "yeo-johnson"] as const;
export type Scaling = (typeof SCALINGS)[number];

export interface Column {
  name: string;
  type: Schemas["ColumnType"];
  role: Schemas["ColumnRole"];
  unit: string;
  /** Of numbers: no value may be less than one, or more than the other. Empty for no limit. */
  low: string;
  high: string;
  /** Of a feature that is a number. */
  scaling: Scaling;
  encoding: Encoding;
  /** Of images: channels, rows and columns, such as 1x28x28. */
  size: string;
  /** What stands behind the colon of an encoding. */
  argument: string;
  /** Of a category with a dictionary its values, one on each line. */
  levels: string;
  /** Of one without a list: how many different values a cohort has at most. */
  most: string;
}

export const newColumn = (name = ""): Column => ({
  name,
  type: "number",
  role: "feature",
  unit: "",
  low: "",
  high: "",
  scaling: "",
  encoding: "one-hot",
  size: "",
  argument: "",
  levels: "",
  most: "",
});

export const isByHash = ({ encoding }: Pick<Column, "encoding">): boolean =>
  encoding === "hash" || encoding === "ngrams";

/** A column of a plan for the form. */
export const columnFrom = ({
  encoding = "",
  levels = [],
  most,
  low,
  high,
  ...column
}: PlanColumn): Column => ({
  ...newColumn(),
  ...column,
  low: String(low ?? ""),
  high: String(high ?? ""),
  ...encoded(column.type, encoding),
  levels: levels.join("\n"),
  most: most ? String(most) : "",
});

/** Whether it names files of images. */
export const isImage = ({ type, role }: Pick<Column, "type" | "role">): boolean =>
  type === "image" && role === "feature";

/** Whether its words are the classes that a model predicts. */
export const hasClasses = ({ type, role }: Pick<Column, "type" | "role">): boolean =>
  type === "category" && role === "outcome";

/** A column of the form for a plan. */
export function columnTo({ name, type, role, unit, ...words }: Column): PlanColumn {
  const isScaled = role === "feature" && words.scaling !== "";
  const column = { name: name.trim(), type, unit: unit.trim(), ...(role !== "feature" && { role }) };
  if (hasLimits({ type }))
    return { ...column, ...limitsOf(words), ...(isScaled && { encoding: words.scaling }) };
  if (isImage({ type, role })) return { ...column, encoding: words.size.trim() };
  if (type !== "category") return column;
  if (role === "outcome") return { ...column, levels: levelsIn(words.levels) };
  if (role !== "feature") return column;
  const { encoding, argument } = words;
  const isPlain = encoding === "one-hot" || encoding === "ordinal" || encoding === "frequency";
  const levels = isByHash(words) ? [] : levelsIn(words.levels);
  const most = isByHash(words) || levels.length ? 0 : Number(words.most);
  const coded = isPlain ? encoding : `${encoding}:${argument.trim()}`;
  return { ...column, encoding: coded, levels, ...(most && { most }) };
}

/** Whether it may have a lowest and a highest value. */
export const hasLimits = ({ type }: Pick<PlanColumn, "type">): boolean =>
  type === "number" || type === "integer";

/** The first limit that is no number, if there is one. */
export const wrongLimit = ({ type, low, high }: Column): string | undefined =>
  hasLimits({ type }) ? [low, high].find((limit) => !Number.isFinite(Number(limit))) : undefined;

const limitsOf = ({ low, high }: Pick<Column, "low" | "high">) => ({
  ...(low.trim() && { low: Number(low) }),
  ...(high.trim() && { high: Number(high) }),
});

/** The values in lines of text; what follows a tab is a remark. */
export const levelsIn = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => (line.split("\t")[0] ?? "").normalize("NFC").trim())
    .filter(Boolean);

function read(encoding: string): Pick<Column, "encoding" | "argument"> {
  const [kind = "", ...argument] = encoding.split(":");
  const known = ENCODINGS.find((each) => each === kind);
  return known ? { encoding: known, argument: argument.join(":") } : { encoding: "one-hot", argument: "" };
}

/** What an encoding says of a column of this type. */
function encoded(type: Column["type"] = "number", encoding: string): Partial<Column> {
  if (type === "image") return { size: encoding };
  return hasLimits({ type }) ? { scaling: readScaling(encoding) } : read(encoding);
}

const readScaling = (encoding: string): Scaling => SCALINGS.find((each) => each === encoding) ?? "";

const TYPES = ["number", "integer", "category", "image", "text"] as const;
const ROLES = ["feature", "outcome", "patient", "ignored"] as const;

/** Columns from the first line of a CSV table, or from the lines of a schema, such as name, type and unit. */
export function columnsFrom(text: string): Column[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  const [first = ""] = lines;
  const heads = cells(first);
  const isSchema = heads[0] === SCHEMA_FIELDS[0] && heads.every((head) => SCHEMA_FIELDS.includes(head));
  if (!isSchema) return heads.map((name) => newColumn(name));
  return lines.slice(1).map((line) => {
    const row = cells(line);
    const cell = (field: string) => row[heads.indexOf(field)] ?? "";
    const values = cell("values");
    const type = TYPES.find((each) => each === cell("type")) ?? "number";
    return {
      ...newColumn(cell("name")),
      type,
      role: ROLES.find((each) => each === cell("role")) ?? "feature",
      unit: cell("unit"),
      low: cell("low"),
      high: cell("high"),
      ...encoded(type, cell("encoding")),
      // A schema names a file of values by `levels=`; a browser must be given that file by itself.
      levels: values.startsWith("levels=") || isNumber(values) ? "" : values.split("|").join("\n"),
      most: isNumber(values) ? values : "",
    };
  });
}

const isNumber = (text: string): boolean => /^[0-9]+$/.test(text);

/** The cells of a line of CSV. A comma between quotes is part of its cell; two quotes are one. */
function cells(line: string): string[] {
  const found: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (const character of line) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === "," && !isQuoted) {
      found.push(cell);
      cell = "";
    } else cell += character;
  }
  return [...found, cell].map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, "$1")
      .replaceAll('""', '"'),
  );
}
