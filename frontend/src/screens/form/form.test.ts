import { expect, test } from "vitest";

import type { Method } from "../../api/client";
import {
  columnsFrom,
  fresh,
  fromStudy,
  isForm,
  listProblems,
  listProblemsSoFar,
  problems,
  toPlan,
  withMethod,
} from "./form";

const DEFAULTS: Omit<Method["usual"], "test"> = {
  phenotype: "",
  cohorts: 3,
  build: "GRCh38",
  min_samples: 50,
  min_per_class: 10,
  maf: 0,
  geno: 1,
  covariates: [],
  panel_mode: "names",
};

const CHI_SQUARE: Method = {
  name: "chi-square",
  title: "Allelic chi-square test",
  of_tables: false,
  traits: ["case/control"],
  files: ["assoc", "frq"],
  options: ["maf", "geno"],
  usual: { ...DEFAULTS, test: "chi-square", trait: "case/control", files: ["assoc", "frq"] },
};

const LINEAR: Method = {
  ...CHI_SQUARE,
  name: "linear",
  traits: ["quantitative"],
  files: ["assoc", "ssf"],
  options: ["covariates", "missing", "maf", "geno"],
  usual: { ...DEFAULTS, test: "linear", trait: "quantitative", files: ["assoc"] },
};

const Z_SCORE: Method = {
  ...CHI_SQUARE,
  name: "z-score",
  of_tables: true,
  traits: ["none"],
  files: ["parameters"],
  options: [],
  usual: {
    ...DEFAULTS,
    test: "z-score",
    trait: "none",
    files: ["parameters"],
    panel_mode: "none",
    phenotype: "",
  },
};

const ORDERED: Method = { ...LINEAR, options: ["quantiles", "elements", "glm_cols"] };

test("a new study is as usual, for three cohorts", () => {
  const plan = toPlan({ ...fresh(CHI_SQUARE), phenotype: " asthma " }, CHI_SQUARE);
  expect(plan).toMatchObject({
    test: "chi-square",
    phenotype: "asthma",
    cohorts: 3,
    min_samples: 50,
    maf: 0,
    files: ["assoc", "frq"],
    panel_mode: "names",
  });
});

test("what a test does not heed is not sent", () => {
  const plan = toPlan(fresh(CHI_SQUARE), CHI_SQUARE);
  for (const option of ["covariates", "missing", "hwe", "mind", "ci", "beta"])
    expect(plan).not.toHaveProperty(option);
});

test("another test takes its own files and trait, and leaves the question", () => {
  const form = withMethod({ ...fresh(CHI_SQUARE), name: "Height", phenotype: "height" }, LINEAR);
  expect(form).toMatchObject({
    test: "linear",
    trait: "quantitative",
    files: ["assoc"],
    phenotype: "height",
  });
});

test("how cohorts agree on variants stays with another test, and goes with tables", () => {
  const form = { ...fresh(CHI_SQUARE), panelMode: "list" as const };
  expect(withMethod(form, LINEAR).panelMode).toBe("list");
  expect(withMethod(form, Z_SCORE)).toMatchObject({ panelMode: "none", trait: "none" });
  expect(withMethod(withMethod(form, Z_SCORE), LINEAR)).toMatchObject({
    panelMode: "names",
    trait: "quantitative",
  });
});

test("levels of a categorical covariate keep their order, the reference first", () => {
  const form = {
    ...fresh(LINEAR),
    covariates: [
      { name: " age ", isCategorical: false, levels: "left from before" },
      { name: "smoking", isCategorical: true, levels: "never, former ,now," },
    ],
  };
  expect(toPlan(form, LINEAR).covariates).toEqual([
    { name: "age" },
    { name: "smoking", levels: ["never", "former", "now"] },
  ]);
});

test("a study of tables has columns, and neither phenotype nor variants", () => {
  const form = {
    ...fresh(Z_SCORE),
    phenotype: "left",
    columns: [{ name: "glucose", type: "number" as const, unit: "" }],
  };
  expect(toPlan(form, Z_SCORE)).toMatchObject({
    phenotype: "",
    trait: "none",
    panel_mode: "none",
    schema: [{ name: "glucose", type: "number", unit: "" }],
  });
  expect(toPlan(form, Z_SCORE)).not.toHaveProperty("build");
});

test("a draft is used only if it is a form of today", () => {
  const known = [CHI_SQUARE, LINEAR];
  const form = { ...fresh(LINEAR), covariates: [{ name: "age", isCategorical: false, levels: "" }] };
  expect(isForm(JSON.parse(JSON.stringify(form)), known)).toBe(true);
  for (const odd of [
    null,
    [],
    "form",
    { ...form, test: "gone" },
    { ...form, covariates: [null] },
    { ...form, covariates: {} },
    { ...form, numbers: null },
    { ...form, flags: { beta: "yes" } },
    { ...form, columns: [{ name: 3 }] },
  ])
    expect(isForm(odd, known)).toBe(false);
});

test("chromosomes by blanks or commas", () => {
  expect(toPlan({ ...fresh(CHI_SQUARE), chromosomes: "1-4, 22  X" }, CHI_SQUARE).chromosomes).toEqual([
    "1-4",
    "22",
    "X",
  ]);
});

test("what is no number is said at its field, and an empty field is as usual", () => {
  const form = fresh(CHI_SQUARE);
  form.numbers.maf = "five";
  form.numbers.min_samples = "";
  expect(problems(form, CHI_SQUARE)).toEqual({ "plan.maf": "got “five”; want a number" });
  expect(toPlan({ ...form, numbers: { ...form.numbers, maf: "0.05" } }, CHI_SQUARE)).not.toHaveProperty(
    "min_samples",
  );
});

test("lists are checked while they are typed, but for a word that is only begun", () => {
  const lists = { quantiles: "0.05, 1.5", elements: "1, -", glm_cols: "chrom, bet" };
  expect(listProblemsSoFar(lists, ORDERED)).toEqual({
    "plan.quantiles": "got “1.5”; want numbers from 0 to 1",
  });
  expect(Object.keys(listProblems(lists, ORDERED))).toEqual([
    "plan.quantiles",
    "plan.elements",
    "plan.glm_cols",
  ]);
  expect(listProblemsSoFar({ ...lists, glm_cols: "bet, chrom" }, ORDERED)).toHaveProperty(["plan.glm_cols"]);
  expect(listProblems({ quantiles: "0 .5,1", elements: "-1 2", glm_cols: "p, err" }, ORDERED)).toEqual({});
});

test("what is not shown is not wrong", () => {
  const form = fresh(CHI_SQUARE);
  form.numbers.tolerance = "small";
  form.lists.quantiles = "half";
  expect(problems(form, CHI_SQUARE)).toEqual({});
});

test("a plan that was read is written as it was", () => {
  const plan = {
    ...toPlan({ ...fresh(LINEAR), phenotype: "height" }, LINEAR),
    compensator_key: "",
    panel_digest: "",
    version: 1,
  };
  const study = { name: "Height", description: "", auto_start: false, plan } as Parameters<
    typeof fromStudy
  >[0];
  const form = fromStudy(study);
  expect(form).toMatchObject({ name: "Height", autoStart: false });
  expect(toPlan(form, LINEAR)).toEqual(toPlan({ ...fresh(LINEAR), phenotype: "height" }, LINEAR));
});

test.each([
  ["id,glucose,hba1c\n1,5.4,40\n", ["id", "glucose", "hba1c"]],
  ['"glucose","a b"\r\n', ["glucose", "a b"]],
  ["name,type,unit\nid,text,\nglucose,number,mmol/l\n", ["id", "glucose"]],
  ['id,"weight, kg" , "said ""well""",', ["id", "weight, kg", 'said "well"', ""]],
])("columns of %j", (text, names) => {
  expect(columnsFrom(text).map((column) => column.name)).toEqual(names);
});

test("types and units of a schema's file", () => {
  expect(columnsFrom("name,type,unit\nid,text\nglucose,number,mmol/l")).toEqual([
    { name: "id", type: "text", unit: "" },
    { name: "glucose", type: "number", unit: "mmol/l" },
  ]);
});
