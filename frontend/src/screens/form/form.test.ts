import { expect, test } from "vitest";

import type { Method } from "../../api/client";
import { method, option } from "./examples";
import { schemaLines } from "../../words/schemaFile";
import { columnFrom, columnTo, columnsFrom, levelsIn, newColumn, wrongLimit } from "./columns";
import {
  fresh,
  fromStudy,
  isForm,
  needsCompensator,
  problems,
  problemsSoFar,
  toPlan,
  withMethod,
} from "./form";

const MAF = option("maf", "number", { place: "filters", wanted: "a number from 0 to 0.5" });
const GENO = option("geno", "number", { place: "filters" });
const DEFAULTS = { build: "GRCh38", min_samples: 50, min_per_class: 10, maf: 0, geno: 1 };
const ANSWERS = ["mean", "exact"].map((value) => ({ value, title: value, hint: "" }));

const CHI_SQUARE = method("chi-square", [MAF, GENO], ["assoc", "frq"], {
  ...DEFAULTS,
  trait: "case/control",
  files: ["assoc", "frq"],
});

const LINEAR = method(
  "linear",
  [option("covariates", "covariates"), option("missing", "choice", { answers: ANSWERS }), MAF, GENO],
  ["assoc", "ssf"],
  { ...DEFAULTS, trait: "quantitative", covariates: [], missing: "mean" },
);

const Z_SCORE = method(
  "z-score",
  [],
  ["parameters"],
  { trait: "none", panel_mode: "none" },
  { of_tables: true },
);

const ORDERED = method(
  "ordered",
  [
    option("quantiles", "numbers", { least: 0, most: 1, wanted: "numbers from 0 to 1" }),
    option("elements", "wholes"),
    option("glm_cols", "words", { among: ["beta", "chrom", "err", "p"] }),
    option("most", "whole"),
    option("beta", "switch"),
  ],
  ["table"],
  { ...DEFAULTS, quantiles: [0.5], elements: [1, -1], glm_cols: ["p"], beta: true, ...{ most: 25 } },
);

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
  const form = fresh(LINEAR);
  form.options.covariates = [
    { name: " age ", isCategorical: false, levels: "left from before" },
    { name: "smoking", isCategorical: true, levels: "never, former ,now," },
  ];
  expect(toPlan(form, LINEAR).covariates).toEqual([
    { name: "age" },
    { name: "smoking", levels: ["never", "former", "now"] },
  ]);
});

test("a study of tables has columns, and neither phenotype nor variants", () => {
  const form = {
    ...fresh(Z_SCORE),
    phenotype: "left",
    columns: [newColumn("glucose")],
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
  const form = fresh(LINEAR);
  form.options.covariates = [{ name: "age", isCategorical: false, levels: "" }];
  expect(isForm(JSON.parse(JSON.stringify(form)), known)).toBe(true);
  for (const odd of [
    null,
    [],
    "form",
    { ...form, test: "gone" },
    { ...form, options: {} },
    { ...form, options: { ...form.options, covariates: [null] } },
    { ...form, options: { ...form.options, covariates: {} } },
    { ...form, options: { ...form.options, maf: 0.1 } },
    { ...form, numbers: null },
    { ...form, flags: { nonfounders: "yes" } },
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

const named = (method: Method) => ({ ...fresh(method), name: "Wave two", phenotype: "asthma" });

test("a name and a trait are asked for together", () =>
  expect(Object.keys(problems(fresh(CHI_SQUARE), CHI_SQUARE))).toEqual(["name", "plan.phenotype"]));

test("what is no number is said at its field, and an empty field is as usual", () => {
  const form = named(CHI_SQUARE);
  form.options.maf = "five";
  form.options.geno = " ";
  form.numbers.min_samples = "";
  form.numbers.cohorts = "three";
  expect(problems(form, CHI_SQUARE)).toEqual({
    "plan.cohorts": "a number, not “three”",
    "plan.maf": "a number from 0 to 0.5, not “five”",
  });
  form.options.maf = "0.05";
  form.numbers.cohorts = "4";
  expect(JSON.parse(JSON.stringify(toPlan(form, CHI_SQUARE)))).toMatchObject({ maf: 0.05, cohorts: 4 });
  for (const name of ["min_samples", "geno"])
    expect(JSON.parse(JSON.stringify(toPlan(form, CHI_SQUARE)))).not.toHaveProperty(name);
});

test("every kind of option is read from a plan and written as it was", () => {
  const form = fresh(ORDERED);
  expect(form.options).toEqual({
    quantiles: "0.5",
    elements: "1, -1",
    glm_cols: "p",
    most: "25",
    beta: true,
  });
  expect(toPlan(form, ORDERED)).toMatchObject({
    quantiles: [0.5],
    elements: [1, -1],
    glm_cols: ["p"],
    most: 25,
    beta: true,
  });
});

test("lists are checked while they are typed, but for a word that is only begun", () => {
  const typed = (lists: Record<string, string>) => ({
    ...named(ORDERED),
    options: { ...fresh(ORDERED).options, ...lists },
  });
  const lists = { quantiles: "0.05, 1.5", elements: "1, -", glm_cols: "chrom, bet" };
  expect(problemsSoFar(typed(lists), ORDERED)).toEqual({
    "plan.quantiles": "numbers from 0 to 1, not “1.5”",
  });
  expect(Object.keys(problems(typed(lists), ORDERED))).toEqual([
    "plan.quantiles",
    "plan.elements",
    "plan.glm_cols",
  ]);
  const begun = typed({ ...lists, glm_cols: "bet, chrom" });
  expect(problemsSoFar(begun, ORDERED)).toHaveProperty(["plan.glm_cols"]);
  const sound = typed({ quantiles: "0 .5,1", elements: "-1 2", glm_cols: "p, err" });
  expect(problems(sound, ORDERED)).toEqual({});
});

test("what was typed for another test is neither wrong nor sent, and is there again with that test", () => {
  const form = named(ORDERED);
  form.options.most = "many";
  const other = withMethod(form, CHI_SQUARE);
  expect(problems(other, CHI_SQUARE)).toEqual({});
  expect(toPlan(other, CHI_SQUARE)).not.toHaveProperty("most");
  expect(withMethod(other, ORDERED).options.most).toBe("many");
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
  const form = fromStudy(study, LINEAR);
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

test("limits go to the plan as numbers and come back; a schema's lines can be read again", () => {
  const lines = [
    "name,type,unit,role,encoding,values,low,high",
    '"age, years",integer,,,,,0,120',
    "ph,number,,,,,,14",
  ];
  const [age, ph] = columnsFrom(lines.join("\n"));
  if (!age || !ph) throw new Error("no columns");
  expect(columnTo(age)).toEqual({ name: "age, years", type: "integer", unit: "", low: 0, high: 120 });
  expect(columnTo(ph)).toEqual({ name: "ph", type: "number", unit: "", high: 14 });
  expect(columnFrom(columnTo(age))).toEqual(age);
  expect(schemaLines([age, ph].map(columnTo))).toEqual(lines);
  expect(wrongLimit({ ...age, low: "none" })).toBe("none");
  expect(wrongLimit({ ...age, type: "text", low: "none" })).toBeUndefined();
});

test("types and units of a schema's file", () => {
  expect(columnsFrom("name,type,unit\nid,text\nglucose,number,mmol/l")).toEqual([
    { ...newColumn("id"), type: "text" },
    { ...newColumn("glucose"), unit: "mmol/l" },
  ]);
});

test("a schema's file says how words are encoded", () => {
  const schema =
    "name,type,encoding,values\nsmoking,category,ordinal,never|former\nward,category,target:died,A|B";
  const [smoking, ward] = columnsFrom(schema);
  expect(smoking && columnTo(smoking)).toEqual({
    name: "smoking",
    type: "category",
    unit: "",
    encoding: "ordinal",
    levels: ["never", "former"],
  });
  expect(ward).toMatchObject({ encoding: "target", argument: "died", levels: "A\nB" });
  expect(ward && columnFrom(columnTo(ward))).toEqual(ward);
});

test("a feature that is a number has a scaling, and an outcome has none", () => {
  const lines = ["name,type,unit,role,encoding,values,low,high", "troponin,number,,,yeo-johnson,,0,"];
  const [troponin = newColumn(), age = newColumn()] = columnsFrom(
    [...lines, "age,number,,,z-score,,,"].join("\n"),
  );
  expect(columnTo(troponin)).toMatchObject({ type: "number", encoding: "yeo-johnson", low: 0 });
  expect(columnFrom(columnTo(troponin))).toEqual(troponin);
  expect(schemaLines([troponin].map(columnTo))).toEqual(lines);
  expect(columnTo({ ...troponin, role: "outcome" })).not.toHaveProperty("encoding");
  expect(columnTo(age)).toEqual({ name: "age", type: "number", unit: "" });
});

test("hashed words need no values, and numbers no encoding", () => {
  const words = {
    ...newColumn(" drug "),
    type: "category",
    encoding: "hash",
    argument: " 64",
    levels: "a",
  } as const;
  expect(columnTo(words)).toMatchObject({ name: "drug", encoding: "hash:64", levels: [] });
  expect(columnTo({ ...words, type: "number" })).toEqual({ name: "drug", type: "number", unit: "" });
});

test("a column without a list of values says how many different ones there are at most", () => {
  const [drug = newColumn()] = columnsFrom("name,type,unit,encoding,values\ndrug,category,,one-hot,512");
  expect(drug).toMatchObject({ levels: "", most: "512" });
  expect(columnTo(drug)).toMatchObject({ name: "drug", encoding: "one-hot", levels: [], most: 512 });
  expect(columnFrom(columnTo(drug))).toEqual(drug);
  expect(columnTo({ ...drug, levels: "a" })).not.toHaveProperty("most");
});

test("values stand one on each line, remarks behind a tab", () => {
  expect(levelsIn("I10\thypertension\r\n\n  E11 \nu\u0308")).toEqual(["I10", "E11", "ü"]);
});

test("an outcome of classes has values and no encoding, and a role that is not a feature's is said", () => {
  const [age = newColumn(), died = newColumn(), id = newColumn()] = columnsFrom(
    "name,type,role,values\nage,number,,\ndied,category,outcome,no|yes\nid,text,patient,",
  );
  expect(columnTo(age)).toEqual({ name: "age", type: "number", unit: "" });
  expect(columnTo(died)).toEqual({
    name: "died",
    type: "category",
    unit: "",
    role: "outcome",
    levels: ["no", "yes"],
  });
  expect(columnTo(id)).toMatchObject({ name: "id", role: "patient" });
  expect(columnFrom(columnTo(died))).toEqual(died);
});

const TRUSTS = option("trust", "choice", {
  answers: ["compensator", "cohorts"].map((value) => ({ value, title: value, hint: "" })),
});
const OPENS = option("opens", "choice", {
  answers: ["bits", "sums"].map((value) => ({ value, title: value, hint: "" })),
});
const BY_OPENING = method(
  "robust",
  [OPENS, TRUSTS],
  ["parameters"],
  { trait: "none", panel_mode: "none", ...({ trust: "cohorts", opens: "sums" } as object) },
  { of_tables: true },
);

test.each([
  ["nothing in its way", {}, "cohorts"],
  ["Gaussian noise", { masking: "gaussian" as const }, "compensator"],
  ["sums that are compared", { options: { trust: "cohorts", opens: "bits" } }, "compensator"],
  [
    "words that are searched for",
    { columns: [{ ...newColumn("ward"), type: "category" as const, most: "8" }] },
    "compensator",
  ],
])("who shares the masks, with %s", (_, changes, trust) => {
  const form = { ...fresh(BY_OPENING), ...changes };
  expect(toPlan(form, BY_OPENING)).toMatchObject({ trust });
  expect(needsCompensator(form, BY_OPENING) !== undefined).toBe(trust === "compensator");
  expect(toPlan({ ...form, masking: "modular" }, { ...BY_OPENING, compares: true })).toMatchObject({
    trust: "compensator",
  });
});
