/** What the form for a study holds, and how it becomes a plan. Numbers are kept as they are typed. */
import type { Method, Schemas, Study } from "../../api/client";
import { t } from "../../words/language";
import { columnFrom, columnTo, newColumn, wrongLimit, type Column } from "./columns";
import { like, problem, problemSoFar, read, words, write, type Option, type Typed } from "./options";

type Plan = Schemas["PlanFieldsRequest"];

const NUMBERS = [
  "cohorts",
  "min_samples",
  "min_per_class",
  "chunk_size",
  "autosomes",
  "ring_bits",
  "variance",
] as const;

export type NumberName = (typeof NUMBERS)[number];

const FLAGS = ["nonfounders", "allow_no_sex"] as const;

export type FlagName = (typeof FLAGS)[number];

export interface Form {
  name: string;
  description: string;
  autoStart: boolean;
  test: string;
  phenotype: string;
  trait: Schemas["Trait"];
  build: string;
  columns: Column[];
  files: string[];
  panelMode: Schemas["PanelMode"];
  masking: Schemas["Masking"];
  /** Separated by blanks or commas. */
  chromosomes: string;
  numbers: Record<NumberName, string>;
  flags: Record<FlagName, boolean>;
  /** By name: those of the method, and what was typed for others before. */
  options: Record<string, Typed>;
}

/** Raise it where a field of the form comes, goes, or means something else: drafts of another are not read. */
export const FORM_VERSION = 7;

/** Whether something is a form as it would be today: a draft may come from another version. */
export function isForm(found: unknown, methods: readonly Method[]): found is Form {
  const test = isLike(found, { test: "" }) ? (found as { test: string }).test : "";
  const method = methods.find((each) => each.name === test);
  return method !== undefined && isLike(found, { ...fresh(method), ...ENTRIES, options: all(method, like) });
}

const ENTRIES = {
  columns: [newColumn()],
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
  return { name: "", description: "", autoStart: true, ...fromPlan(method.usual, method) };
}

/** The form of a study that is there, which has this method. */
export function fromStudy({ name, description, auto_start, plan }: Study, method: Method): Form {
  return { name, description: description ?? "", autoStart: auto_start ?? true, ...fromPlan(plan, method) };
}

/** For each option of a method something, by its name. */
const all = <T>(method: Method, make: (option: Option) => T): Record<string, T> =>
  Object.fromEntries(method.options.map((option) => [option.name, make(option)]));

function fromPlan(
  plan: Schemas["PlanFields"],
  method: Method,
): Omit<Form, "name" | "description" | "autoStart"> {
  const numbers = NUMBERS.map((name) => [name, String(plan[name] ?? "")] as const);
  const flags = FLAGS.map((name) => [name, plan[name] ?? false] as const);
  return {
    test: plan.test,
    phenotype: plan.phenotype,
    trait: plan.trait ?? "case/control",
    build: plan.build ?? "",
    columns: (plan.schema ?? []).map(columnFrom),
    files: plan.files ?? [],
    panelMode: plan.panel_mode ?? "names",
    masking: plan.masking ?? "modular",
    chromosomes: (plan.chromosomes ?? []).join(" "),
    numbers: Object.fromEntries(numbers) as Record<NumberName, string>,
    flags: Object.fromEntries(flags) as Record<FlagName, boolean>,
    options: all(method, (option) => read(option, (plan as Record<string, unknown>)[option.name])),
  };
}

/** The same form with another method: what goes with the method becomes as usual, all else stays. */
export function withMethod(form: Form, method: Method): Form {
  const usual = fresh(method);
  const trait = method.traits.includes(form.trait) ? form.trait : usual.trait;
  const ofTables = form.panelMode === "none";
  const panelMode = ofTables === method.of_tables ? form.panelMode : usual.panelMode;
  const options = { ...usual.options, ...form.options };
  return { ...form, test: method.name, trait, files: usual.files, panelMode, options };
}

/** The methods that serve what this one does. */
export const samePurpose = (methods: readonly Method[], { purpose }: Method): readonly Method[] =>
  methods.filter((each) => each.purpose.title === purpose.title);

/** Whether a method looks at a trait of people. */
export const needsTrait = ({ needed }: Method): boolean => needed.includes("phenotype");

/** What can be seen to be wrong here, by the API's names of fields; the server judges everything else. */
export function problems(form: Form, method: Method): Record<string, string> {
  const numbers = NUMBERS.filter((name) => !Number.isFinite(Number(form.numbers[name])));
  return {
    ...(!form.name.trim() && { name: t("Give the study a name.") }),
    ...(needsTrait(method) && !form.phenotype.trim() && { "plan.phenotype": t("Name the trait.") }),
    ...Object.fromEntries(
      numbers.map((name) => [`plan.${name}`, t("a number, not “{{typed}}”", { typed: form.numbers[name] })]),
    ),
    ...(method.of_tables && wrongLimits(form)),
    ...wrongOptions(form, method, problem),
  };
}

function wrongLimits({ columns }: Form): Record<string, string> {
  for (const column of columns) {
    const typed = wrongLimit(column);
    if (typed !== undefined)
      return {
        "plan.schema": t("{{column}}: want a number, not “{{typed}}”", { column: column.name, typed }),
      };
  }
  return {};
}

/** What is wrong with the lists: said while they are typed. */
export const problemsSoFar = (form: Form, method: Method) => wrongOptions(form, method, problemSoFar);

function wrongOptions(form: Form, method: Method, find: typeof problem): Record<string, string> {
  const found: Record<string, string> = {};
  for (const option of method.options) {
    const said = find(option, form.options[option.name] ?? "");
    if (said) found[`plan.${option.name}`] = said;
  }
  return found;
}

export const [TRUST, COMPENSATOR] = ["trust", "compensator"];

/** Why the cohorts need a compensator, whatever is chosen; the server knows of rarer reasons. */
export function needsCompensator(form: Form, method: Method): string | undefined {
  if (form.masking === "gaussian") return t("Gaussian noise needs a compensator: it is chosen instead.");
  const opens = method.options.some(({ name }) => name === "opens") && form.options.opens === "bits";
  if (method.compares || opens)
    return t("Sums are compared, for which a compensator is needed: it is chosen instead.");
  if (method.of_tables && form.columns.some((column) => columnTo(column).most))
    return t("Words are searched for, for which a compensator is needed: it is chosen instead.");
  return undefined;
}

/** The plan that the form describes. */
export function toPlan(form: Form, method: Method): Plan {
  // What is no number is said at its field, and must not hide what the server finds wrong elsewhere.
  const numbers = NUMBERS.filter((name) => Number.isFinite(Number(form.numbers[name] || NaN)));
  return {
    test: method.name,
    cohorts: Number(form.numbers.cohorts),
    files: form.files,
    masking: form.masking,
    ...(Object.fromEntries(numbers.map((name) => [name, Number(form.numbers[name])])) as Partial<Plan>),
    ...(method.of_tables
      ? { phenotype: "", trait: "none", panel_mode: "none", schema: form.columns.map(columnTo) }
      : {
          phenotype: needsTrait(method) ? form.phenotype.trim() : "",
          trait: form.trait,
          build: form.build.trim(),
          panel_mode: form.panelMode,
          chromosomes: words(form.chromosomes),
          ...Object.fromEntries(FLAGS.map((name) => [name, form.flags[name]])),
        }),
    ...all(method, (option) => write(option, form.options[option.name] ?? "")),
    ...(needsCompensator(form, method) !== undefined && { [TRUST]: COMPENSATOR }),
  };
}
