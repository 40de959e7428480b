/** What a form holds of a study's declared options, and how that becomes part of a plan. */
import type { Schemas } from "../../api/client";
import { declared, t } from "../../words/language";

export type Option = Schemas["MethodOption"];
export type Place = Schemas["Place"];

export interface Covariate {
  name: string;
  isCategorical: boolean;
  /** Separated by commas, the reference first. */
  levels: string;
}

/** What is typed or chosen: texts of numbers and lists, the value of a choice, a switch, covariates. */
export type Typed = string | boolean | Covariate[];

interface Kind {
  /** From a plan's value. */
  read: (value: unknown) => Typed;
  /** To a plan's value; undefined where nothing is typed, and the usual will do. */
  write: (typed: Typed) => unknown;
  /** The first word that cannot be, if there is one. */
  wrong: (typed: Typed, option: Option) => string | undefined;
  /** An example, of which every value has the shape. */
  like: Typed;
}

const never = () => undefined;
const text = (typed: Typed) => typed as string;

const number: Kind = {
  read: (value) => (typeof value === "number" ? String(value) : ""),
  write: (typed) => (text(typed).trim() && Number.isFinite(Number(typed)) ? Number(typed) : undefined),
  wrong: (typed) => (Number.isFinite(Number(typed)) ? undefined : text(typed).trim()),
  like: "",
};

const plain: Kind = {
  read: (value) => (typeof value === "string" ? value : ""),
  write: (typed) => text(typed).trim(),
  wrong: never,
  like: "",
};

const list = (isNumeric: boolean, fits: (word: string, option: Option) => boolean): Kind => ({
  read: (value) => (Array.isArray(value) ? value.join(", ") : ""),
  write: (typed) => (isNumeric ? words(text(typed)).map(Number) : words(text(typed))),
  wrong: (typed, option) => words(text(typed)).find((word) => !fits(word, option)),
  like: "",
});

const isWithin = (value: number, { least, most }: Option) =>
  value >= (least ?? -Infinity) && value <= (most ?? Infinity);

const KINDS: Record<Schemas["OptionKind"], Kind> = {
  number,
  whole: number,
  switch: { read: Boolean, write: Boolean, wrong: never, like: false },
  choice: { read: (value) => value as string, write: text, wrong: never, like: "" },
  text: plain,
  lines: plain,
  numbers: list(true, (word, option) => isWithin(Number(word), option)),
  wholes: list(true, (word) => Number.isInteger(Number(word))),
  words: list(false, (word, { among }) => !among.length || among.includes(word)),
  covariates: {
    read: (value) => ((value ?? []) as Schemas["PlanCovariate"][]).map(typedCovariate),
    write: (typed) => (typed as Covariate[]).map(covariate),
    wrong: never,
    like: [{ name: "", isCategorical: false, levels: "" }],
  },
};

export const read = (option: Option, value: unknown): Typed => KINDS[option.kind].read(value);

export const write = (option: Option, typed: Typed): unknown => KINDS[option.kind].write(typed);

export const like = (option: Option): Typed => KINDS[option.kind].like;

/** Whether it is a filter, which is off or a number. */
export const isLimit = ({ kind, place }: Option): boolean => kind === "number" && place === "filters";

/** Where it stands in the form: of the filters, most studies leave all but the limits as they are. */
export const placeOf = (option: Option): Place =>
  option.place === "filters" && !isLimit(option) ? "more" : option.place;

/** What can be seen here to be wrong with an option; the server judges everything else. */
export function problem(option: Option, typed: Typed): string | undefined {
  const wrong = isLimit(option) && typed === "" ? "" : KINDS[option.kind].wrong(typed, option);
  return wrong === undefined
    ? undefined
    : t("{{wanted}}, not “{{wrong}}”", { wanted: declared(option.wanted), wrong });
}

/** The same while it is typed: without a word that is only begun, such as `-`, and of lists alone. */
export function problemSoFar(option: Option, typed: Typed): string | undefined {
  const isList = typeof typed === "string" && LISTS.has(option.kind);
  return isList ? problem(option, typed.replace(UNFINISHED, "")) : undefined;
}

const LISTS = new Set<Option["kind"]>(["numbers", "wholes", "words"]);
const UNFINISHED = /(?<=^|[\s,])([-+]?\.?|[a-z]+)$/;

/** Whether there is in the form what an option is about. */
export function isMeant(
  { needs, file }: Option,
  { options, files }: { options: Record<string, Typed>; files: string[] },
): boolean {
  const needed = options[needs];
  const isThere = !needs || (Array.isArray(needed) ? needed.length > 0 : Boolean(needed));
  return isThere && (!file || files.includes(file));
}

export const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

const typedCovariate = ({ name, levels = [] }: Schemas["PlanCovariate"]): Covariate => ({
  name,
  isCategorical: levels.length > 0,
  levels: levels.join(", "),
});

function covariate({ name, isCategorical, levels }: Covariate): Schemas["PlanCovariate"] {
  if (!isCategorical) return { name: name.trim() };
  const listed = levels.split(",").map((level) => level.trim());
  return { name: name.trim(), levels: listed.filter(Boolean) };
}
