/** What the form for a study holds, and how it becomes a plan. Numbers are kept as they are typed. */
import type { Method, Schemas, Study } from "../../api/client";

type Plan = Schemas["PlanFieldsRequest"];

export interface Covariate {
  name: string;
  isCategorical: boolean;
  /** Separated by commas, the reference first. */
  levels: string;
}

export interface Column {
  name: string;
  type: Schemas["ColumnType"];
  unit: string;
}

const NUMBERS = [
  "cohorts",
  "min_samples",
  "min_per_class",
  "maf",
  "geno",
  "hwe",
  "mind",
  "ci",
  "max_iterations",
  "tolerance",
  "chunk_size",
  "autosomes",
  "ring_bits",
  "variance",
] as const;

export type NumberName = (typeof NUMBERS)[number];

const LISTS = ["quantiles", "elements", "glm_cols"] as const;

export type ListName = (typeof LISTS)[number];

const FLAGS = ["nonfounders", "allow_no_sex", "cohort_sums", "hide_covar", "beta"] as const;

export type FlagName = (typeof FLAGS)[number];

export interface Form {
  name: string;
  description: string;
  autoStart: boolean;
  test: string;
  phenotype: string;
  trait: Schemas["Trait"];
  build: string;
  covariates: Covariate[];
  missing: Schemas["MissingRule"];
  columns: Column[];
  files: Schemas["ReportKind"][];
  panelMode: Schemas["PanelMode"];
  masking: Schemas["Masking"];
  /** Separated by blanks or commas. */
  chromosomes: string;
  /** Likewise. */
  lists: Record<ListName, string>;
  numbers: Record<NumberName, string>;
  flags: Record<FlagName, boolean>;
}

/** Raise it where a field of the form comes, goes, or means something else: drafts of another are not read. */
export const FORM_VERSION = 3;

/** Whether something is a form as it would be today: a draft may come from another version. */
export function isForm(found: unknown, methods: readonly Method[]): found is Form {
  const test = isLike(found, { test: "" }) ? (found as { test: string }).test : "";
  const method = methods.find((each) => each.name === test);
  return method !== undefined && isLike(found, { ...fresh(method), ...ENTRIES });
}

const ENTRIES = {
  covariates: [{ name: "", isCategorical: false, levels: "" }],
  columns: [{ name: "", type: "number", unit: "" }],
  files: [""],
};

/** Whether a value has the same shape: fields of the same types, and of lists each entry like the first. */
function isLike(found: unknown, like: unknown): boolean {
  if (Array.isArray(like)) {
    return Array.isArray(found) && (!like.length || found.every((each) => isLike(each, like[0])));
  }
  if (typeof like !== "object" || !like) return typeof found === typeof like;
  if (typeof found !== "object" || !found || Array.isArray(found)) return false;
  return Object.entries(like).every(([name, value]) =>
    isLike((found as Record<string, unknown>)[name], value),
  );
}

/** The form of a new study with this method, all else as usual. */
export function fresh(method: Method): Form {
  return { name: "", description: "", autoStart: true, ...fromPlan(method.usual) };
}

/** The form of a study that is there. */
export function fromStudy({ name, description, auto_start, plan }: Study): Form {
  return { name, description: description ?? "", autoStart: auto_start ?? true, ...fromPlan(plan) };
}

function fromPlan(plan: Schemas["PlanFields"]): Omit<Form, "name" | "description" | "autoStart"> {
  const numbers = NUMBERS.map((name) => [name, String(plan[name] ?? "")] as const);
  const flags = FLAGS.map((name) => [name, plan[name] ?? false] as const);
  return {
    test: plan.test,
    phenotype: plan.phenotype,
    trait: plan.trait ?? "case/control",
    build: plan.build ?? "",
    covariates: (plan.covariates ?? []).map(({ name, levels = [] }) => ({
      name,
      isCategorical: levels.length > 0,
      levels: levels.join(", "),
    })),
    missing: plan.missing ?? "mean",
    columns: (plan.schema ?? []).map(({ name, type = "number", unit = "" }) => ({ name, type, unit })),
    files: plan.files ?? [],
    panelMode: plan.panel_mode ?? "names",
    masking: plan.masking ?? "modular",
    chromosomes: (plan.chromosomes ?? []).join(" "),
    lists: Object.fromEntries(LISTS.map((name) => [name, (plan[name] ?? []).join(", ")])) as Form["lists"],
    numbers: Object.fromEntries(numbers) as Record<NumberName, string>,
    flags: Object.fromEntries(flags) as Record<FlagName, boolean>,
  };
}

/** The same form with another method: what goes with the method becomes as usual, all else stays. */
export function withMethod(form: Form, method: Method): Form {
  const usual = fresh(method);
  const trait = method.traits.includes(form.trait) ? form.trait : usual.trait;
  const ofTables = form.panelMode === "none";
  const panelMode = ofTables === method.of_tables ? form.panelMode : usual.panelMode;
  return { ...form, test: method.name, trait, files: usual.files, panelMode };
}

/** Whether the plan of this method has an option; a field that it does not heed is not shown or sent. */
export const heeds = (method: Method, option: string): boolean =>
  !OPTIONS.has(option) || method.options.includes(option);

const OPTIONS = new Set([
  "covariates",
  "cohort_sums",
  "missing",
  "maf",
  "geno",
  "hwe",
  "mind",
  "ci",
  "hide_covar",
  "beta",
  "max_iterations",
  "tolerance",
  ...LISTS,
]);

/** What can be seen to be wrong here, by the API's names of fields; the server judges everything else. */
export function problems(form: Form, method: Method): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of NUMBERS) {
    const text = form.numbers[name].trim();
    if (!heeds(method, name)) continue; // it is not shown
    if (text !== "" && !Number.isFinite(Number(text))) found[`plan.${name}`] = `got “${text}”; want a number`;
  }
  return { ...found, ...listProblems(form.lists, method) };
}

/** What is wrong with a word of a list: said while it is typed. */
export function listProblems(lists: Form["lists"], method: Method): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of LISTS) {
    const wrong = words(lists[name]).find((word) => !WORD[name].fits(word));
    if (heeds(method, name) && wrong !== undefined)
      found[`plan.${name}`] = `got “${wrong}”; want ${WORD[name].wanted}`;
  }
  return found;
}

/** The same without a word that is only begun, such as `-`. */
export function listProblemsSoFar(lists: Form["lists"], method: Method): Record<string, string> {
  const finished = LISTS.map((name) => [name, lists[name].replace(UNFINISHED, "")] as const);
  return listProblems(Object.fromEntries(finished) as Form["lists"], method);
}

const UNFINISHED = /(?<=^|[\s,])([-+]?\.?|[a-z]+)$/;

/** Columns of the report glm, as plink2's `cols=` names them. */
const GLM_COLUMNS: Record<Schemas["GlmColsEnum"], true> = {
  chrom: true,
  pos: true,
  ref: true,
  alt1: true,
  alt: true,
  ax: true,
  a1count: true,
  totallele: true,
  a1freq: true,
  test: true,
  nobs: true,
  beta: true,
  orbeta: true,
  se: true,
  ci: true,
  tz: true,
  p: true,
  err: true,
};

const WORD: Record<ListName, { wanted: string; fits: (word: string) => boolean }> = {
  quantiles: { wanted: "numbers from 0 to 1", fits: (word) => Number(word) >= 0 && Number(word) <= 1 },
  elements: {
    wanted: "whole numbers other than 0",
    fits: (word) => Number.isInteger(Number(word)) && Number(word) !== 0,
  },
  glm_cols: {
    wanted: `some of ${Object.keys(GLM_COLUMNS).join(", ")}`,
    fits: (word) => word in GLM_COLUMNS,
  },
};

/** The plan that the form describes. */
export function toPlan(form: Form, method: Method): Plan {
  const numbers = NUMBERS.filter((name) => form.numbers[name].trim() !== "" && heeds(method, name));
  const flags = FLAGS.filter((name) => heeds(method, name));
  const lists = LISTS.filter((name) => heeds(method, name));
  return {
    test: method.name,
    cohorts: Number(form.numbers.cohorts),
    files: form.files,
    masking: form.masking,
    ...(Object.fromEntries(numbers.map((name) => [name, Number(form.numbers[name])])) as Partial<Plan>),
    ...Object.fromEntries(lists.map((name) => [name, listed(form, name)])),
    ...(method.of_tables
      ? { phenotype: "", trait: "none", panel_mode: "none", schema: form.columns.map(named) }
      : {
          phenotype: form.phenotype.trim(),
          trait: form.trait,
          build: form.build.trim(),
          panel_mode: form.panelMode,
          chromosomes: words(form.chromosomes),
          ...Object.fromEntries(flags.map((name) => [name, form.flags[name]])),
        }),
    ...(heeds(method, "covariates") ? { covariates: form.covariates.map(covariate) } : {}),
    ...(heeds(method, "missing") ? { missing: form.missing } : {}),
  };
}

const listed = (form: Form, name: ListName): (string | number)[] =>
  name === "glm_cols" ? words(form.lists[name]) : words(form.lists[name]).map(Number);

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

const named = (column: Column): Column => ({ ...column, name: column.name.trim(), unit: column.unit.trim() });

function covariate({ name, isCategorical, levels }: Covariate): Schemas["PlanCovariateRequest"] {
  if (!isCategorical) return { name: name.trim() };
  return {
    name: name.trim(),
    levels: levels
      .split(",")
      .map((level) => level.trim())
      .filter(Boolean),
  };
}

/** Columns from the first line of a CSV table, or from lines of name, type and unit. */
export function columnsFrom(text: string): Column[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  const [first = ""] = lines;
  const isSchema = /^name(,type(,unit)?)?$/.test(first.trim());
  const rows = isSchema ? lines.slice(1).map(cells) : cells(first).map((name) => [name]);
  return rows.map(([name = "", type = "", unit = ""]) => ({
    name,
    type: type === "text" || type === "integer" ? type : "number",
    unit,
  }));
}

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
