import { expect, test } from "vitest";

import type { Method, Schemas } from "../../api/client";
import { model, question, rules } from "./planFacts";

const PLAN: Schemas["FrozenPlan"] = {
  test: "logistic",
  phenotype: "asthma",
  trait: "case/control",
  cohorts: 3,
  build: "GRCh38",
  autosomes: 22,
  chromosomes: ["1-4", "X"],
  panel_mode: "list",
  missing: "exact",
  cohort_sums: true,
  covariates: [{ name: "age" }, { name: "smoking", levels: ["never", "now"] }],
  files: ["assoc", "glm"],
  ci: 0.95,
  beta: true,
  max_iterations: 30,
  tolerance: 0.0001,
  glm_cols: ["test", "p"],
  maf: 0.01,
  geno: 1,
  hwe: 0,
  mind: 1,
  masking: "gaussian",
  variance: 1e12,
  chunk_size: 20_000,
  compensator_key: "",
  panel_digest: "",
  version: 1,
};
const LOGISTIC = {
  name: "logistic",
  title: "Logistic regression",
  options: ["covariates", "cohort_sums", "missing", "maf", "ci", "beta", "max_iterations"],
} as unknown as Method;
const QUANTILES = {
  name: "quantiles",
  title: "Quantiles",
  options: ["quantiles", "elements"],
} as unknown as Method;

test("all that a regression heeds is told", () => {
  expect(Object.fromEntries(question(PLAN))).toMatchObject({
    Chromosomes: "1-4, X",
    "Agreement on variants": "by the coordinator's list",
  });
  expect(Object.fromEntries(model(PLAN, LOGISTIC))).toMatchObject({
    Covariates: "age; smoking (never, now)",
    "Sums over one cohort": expect.stringContaining("may be seen") as string,
    "Missing calls": expect.stringContaining("left out of that variant") as string,
    Iterations: "at most 30, until the log-likelihood changes by at most 0.0001",
    "Columns of the PLINK 2 report": "test, p",
    "Limits in the report": "confidence of 0.95",
    "Effects in the report": "logarithms (--beta)",
  });
  expect(Object.fromEntries(rules(PLAN, LOGISTIC))).toMatchObject({
    Filters: "--maf 0.01",
    Masks: "Gaussian noise of variance 1000000000000",
    "Variants in one question": "20,000",
  });
});

test("a plan without covariates says nothing of sums over one cohort", () => {
  const names = (plan: typeof PLAN) => model(plan, LOGISTIC).map(([name]) => name);
  expect(names(PLAN)).toContain("Sums over one cohort");
  expect(names({ ...PLAN, covariates: [] })).not.toContain("Sums over one cohort");
});

test("of tables every column with its type and unit, and nothing of variants", () => {
  const plan: typeof PLAN = {
    ...PLAN,
    test: "quantiles",
    trait: "none",
    phenotype: "",
    files: ["quantiles"],
    schema: [
      { name: "id", type: "text" },
      { name: "glucose", unit: "mmol/l" },
    ],
    quantiles: [0.05, 0.5],
    elements: [1, -1],
    masking: "modular",
    ring_bits: 64,
  };
  expect(question(plan)).toEqual([["Columns", "id (text); glucose (number, mmol/l)"]]);
  expect(model(plan, QUANTILES)).toEqual([
    ["Test", "Quantiles"],
    ["Quantiles", "0.05, 0.5"],
    ["Elements", "1, -1 (1 is the smallest value, -1 the largest)"],
    ["Result files", "Quantiles"],
  ]);
  expect(rules(plan, QUANTILES).map(([name]) => name)).toEqual(["Cohorts", "Fewest people at each", "Masks"]);
});
