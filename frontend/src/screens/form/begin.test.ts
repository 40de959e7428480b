import { expect, test } from "vitest";

import { begin, changed, changesInWords, undone, type Template } from "./begin";
import { method, option } from "./examples";
import { fresh, toPlan, type Form } from "./form";

const FILTERS = [
  option("covariates", "covariates", { title: "Covariates" }),
  option("maf", "number", { title: "Frequency" }),
  option("beta", "switch", { title: "Log odds ratios" }),
];
const USUAL = { covariates: [], maf: 0, beta: false };
const CHI_SQUARE = method("chi-square", FILTERS.slice(1, 2), ["assoc"], { trait: "case/control", maf: 0 });
const LOGISTIC = method("logistic", FILTERS, ["assoc", "glm"], { trait: "case/control", ...USUAL });
const LINEAR = method("linear", FILTERS, ["assoc", "glm"], { trait: "quantitative", ...USUAL });

const template = (plan: Template["plan"], covariates: string[] = []): Template => ({
  name: "usual",
  title: "Usual",
  hint: "",
  covariates,
  plan,
});
const COMPONENTS = template({
  covariates: [{ name: "PC1", levels: [] }],
  maf: 0.01,
  files: ["assoc", "glm"],
});

const typed: Form = { ...fresh(CHI_SQUARE), name: "Wave two", phenotype: "asthma", build: "GRCh37" };

test("a template fills in its test, options and files, and leaves the rest", () => {
  const [form] = begin(typed, COMPONENTS, LOGISTIC, null);
  expect(toPlan(form, LOGISTIC)).toMatchObject({
    test: "logistic",
    phenotype: "asthma",
    build: "GRCh37",
    files: ["assoc", "glm"],
    covariates: [{ name: "PC1" }],
    maf: 0.01,
    beta: false,
  });
  expect(form.name).toBe("Wave two");
});

test("one for another trait brings that trait", () => {
  expect(begin(typed, COMPONENTS, LINEAR, null)[0].trait).toBe("quantitative");
});

test("what was typed before for its options is as usual, unless the template says otherwise", () => {
  const before = { ...fresh(LOGISTIC), options: { ...fresh(LOGISTIC).options, beta: true, maf: "0.2" } };
  const [form] = begin(before, template({ maf: 0.01 }), LOGISTIC, null);
  expect([form.options.beta, form.options.maf]).toEqual([false, "0.01"]);
});

test("it is undone, and what was typed elsewhere meanwhile stays", () => {
  const [form, begun] = begin(typed, COMPONENTS, LOGISTIC, null);
  expect(undone({ ...form, name: "Wave three" }, begun)).toEqual({ ...typed, name: "Wave three" });
});

test("another one takes its place, and is undone to the same form", () => {
  const [form, begun] = begin(typed, COMPONENTS, LOGISTIC, null);
  const [second, anew] = begin(form, template({ maf: 0.05 }), CHI_SQUARE, begun);
  expect(second.options.maf).toBe("0.05");
  expect(undone(second, anew)).toEqual(typed);
});

test("it says what it has changed, until somebody changes that", () => {
  const [form, begun] = begin(typed, COMPONENTS, LOGISTIC, null);
  expect(changesInWords(form, begun)).toEqual([
    ["Test", "logistic"],
    ["Result files", "assoc and glm"],
    ["Covariates", "PC1"],
    ["Frequency", "0.01"],
  ]);
  const other = { ...form, options: { ...form.options, maf: "0.05" } };
  expect([...changed(other, begun)]).toEqual(["test", "files", "covariates"]);
  expect([...changed({ ...form, test: "linear" }, begun)]).not.toContain("test");
});
