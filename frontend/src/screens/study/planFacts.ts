/** A plan as the coordinator reads it: all that decides a number or who sees it, as far as the method heeds it. */
import type { Method, Schemas } from "../../api/client";
import { count } from "../../words/format";
import { REPORT, TRAIT } from "../../words/states";
import { heeds } from "../form/form";

type Plan = Schemas["FrozenPlan"];
export type Fact = readonly [string, string];

export function question(plan: Plan): Fact[] {
  if (plan.trait === "none") {
    const columns = (plan.schema ?? []).map(
      ({ name, type = "number", unit }) => `${name} (${unit ? `${type}, ${unit}` : type})`,
    );
    return [["Columns", columns.join("; ")]];
  }
  return [
    ["Trait", plan.phenotype],
    ["Kind", TRAIT[plan.trait ?? "none"]],
    ["Genome build", `${plan.build ?? ""}, ${plan.autosomes ?? 22} autosomes`],
    ["Chromosomes", (plan.chromosomes ?? []).join(", ") || "all"],
    ["Agreement on variants", AGREEMENT[plan.panel_mode ?? "names"]],
    ["Nonfounders", plan.nonfounders ? "counted in frequencies" : "not counted in frequencies"],
    ["Unknown sex", plan.allow_no_sex ? "phenotype kept" : "phenotype set missing"],
  ];
}

export function model(plan: Plan, method: Method | undefined): Fact[] {
  const has = (option: string) => method !== undefined && heeds(method, option);
  const covariates = (plan.covariates ?? []).map(({ name, levels }) =>
    levels?.length ? `${name} (${levels.join(", ")})` : name,
  );
  const files = plan.files ?? [];
  return [
    ["Test", method?.title ?? plan.test],
    ...only(has("covariates"), "Covariates", covariates.join("; ") || "none"),
    ...only(
      has("cohort_sums") && covariates.length > 0,
      "Sums over one cohort",
      COHORT_SUMS[plan.cohort_sums ? "seen" : "refused"],
    ),
    ...only(has("missing"), "Missing calls", MISSING[plan.missing ?? "mean"]),
    ...only(has("max_iterations"), "Iterations", iterations(plan)),
    ...only(has("quantiles"), "Quantiles", (plan.quantiles ?? []).join(", ") || "none"),
    ...only(has("elements"), "Elements", elements(plan)),
    ["Result files", files.map((file) => REPORT[file].name).join(", ")],
    ...only(
      files.includes("glm"),
      "Columns of the PLINK 2 report",
      (plan.glm_cols ?? []).join(", ") || "the usual",
    ),
    ...only(has("ci"), "Limits in the report", plan.ci ? `confidence of ${plan.ci}` : "none"),
    ...only(has("beta"), "Effects in the report", plan.beta ? "logarithms (--beta)" : "odds ratios"),
    ...only(has("hide_covar"), "Rows of covariates", plan.hide_covar ? "left out" : "in the report"),
  ];
}

export function rules(plan: Plan, method: Method | undefined): Fact[] {
  const filters = (["maf", "geno", "hwe", "mind"] as const)
    .filter((name) => plan[name] !== NO_FILTER[name])
    .map((name) => `--${name} ${plan[name] ?? ""}`);
  const ofVariants = plan.trait !== "none";
  return [
    ["Cohorts", String(plan.cohorts)],
    ["Fewest people at each", String(plan.min_samples ?? "")],
    ...only(
      plan.trait === "case/control",
      "Fewest cases, and controls, at each",
      String(plan.min_per_class ?? ""),
    ),
    ...only(method !== undefined && heeds(method, "maf"), "Filters", filters.join(" ") || "none"),
    ["Masks", masks(plan)],
    ...only(ofVariants, "Variants in one question", count(plan.chunk_size ?? 0)),
  ];
}

const only = (wanted: boolean, name: string, value: string): Fact[] => (wanted ? [[name, value]] : []);

const AGREEMENT: Record<Schemas["PanelMode"], string> = {
  names: "by the cohorts' own lists, in clear",
  list: "by the coordinator's list",
  none: "none",
};

const COHORT_SUMS = {
  refused: "refused: a level of a covariate that fewer than 3 cohorts have 10 people at ends the study",
  seen: "may be seen: if a covariate tells cohorts apart, the server learns allele frequencies and means of each",
};

const MISSING: Record<Schemas["MissingRule"], string> = {
  mean: "taken as the pooled mean",
  exact: "the person is left out of that variant, as PLINK; the server learns covariates of single people",
};

const NO_FILTER = { maf: 0, geno: 1, hwe: 0, mind: 1 };

const iterations = (plan: Plan): string =>
  `at most ${plan.max_iterations ?? ""}` +
  (plan.tolerance ? `, until the log-likelihood changes by at most ${plan.tolerance}` : "");

const elements = (plan: Plan): string => {
  const found = (plan.elements ?? []).join(", ");
  return found ? `${found} (1 is the smallest value, -1 the largest)` : "none";
};

const masks = (plan: Plan): string =>
  plan.masking === "gaussian"
    ? `Gaussian noise of variance ${plan.variance ?? ""}`
    : `uniform, in a ring of at least ${plan.ring_bits ?? 32} bits`;
