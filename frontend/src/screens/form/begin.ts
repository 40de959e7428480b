/** Beginning with a template: what it fills in, what of that is still so, and the way back. */
import type { Method, Schemas } from "../../api/client";
import { list } from "../../words/format";
import { declared, t } from "../../words/language";
import { fresh, withMethod, type Form } from "./form";
import type { Covariate, Option, Typed } from "./options";

export type Template = Schemas["Template"];

/** What a template may fill in. */
type Filled = Pick<Form, "test" | "trait" | "panelMode" | "files" | "options">;

/** A form that was begun with a template. */
export interface Begun {
  template: Template;
  method: Method;
  /** What the template filled in, and what stood there before. */
  filled: Filled;
  before: Filled;
}

/** The form with a template in it, instead of the one that it was begun with before. */
export function begin(form: Form, template: Template, method: Method, last: Begun | null): [Form, Begun] {
  const start = last ? undone(form, last) : form;
  const usual = { ...method.usual, ...template.plan };
  const { files, options } = fresh({ ...method, usual });
  const { test, trait, panelMode } = withMethod(start, method);
  const filled = { test, trait, panelMode, files, options: { ...start.options, ...options } };
  return [
    { ...start, ...filled },
    { template, method, filled, before: fillable(start) },
  ];
}

/** The form as it was before; what a template does not touch stays as it is now. */
export const undone = (form: Form, { before }: Begun): Form => ({ ...form, ...before });

const fillable = ({ test, trait, panelMode, files, options }: Form): Filled => ({
  test,
  trait,
  panelMode,
  files,
  options,
});

/** Names of the fields of a plan that the template has changed, and nobody since. */
export function changed(form: Form, { method, filled, before }: Begun): ReadonlySet<string> {
  const usual = fresh(method).options; // of options that there were none of before
  const was = { ...before, options: { ...usual, ...before.options } };
  const isOther = (name: string, of: (from: Filled) => unknown) =>
    same(of(filled), of(form)) && !same(of(filled), of(was)) ? [name] : [];
  return new Set([
    ...isOther("test", ({ test }) => test),
    ...isOther("files", ({ files }) => files),
    ...method.options.flatMap(({ name }) => isOther(name, ({ options }) => options[name])),
  ]);
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The same in words: the label of each, and its value now. */
export function changesInWords(form: Form, begun: Begun): [string, string][] {
  const { method } = begun;
  const names = changed(form, begun);
  const files = method.files
    .filter(({ name }) => form.files.includes(name))
    .map(({ title }) => declared(title));
  const said: [string, string, string][] = [
    ["test", method.of_tables ? t("Method") : t("Test"), declared(method.title)],
    ["files", t("Result files"), list(files)],
    ...method.options.map((option): [string, string, string] => [
      option.name,
      declared(option.title),
      valueInWords(option, form.options[option.name] ?? ""),
    ]),
  ];
  return said.filter(([name]) => names.has(name)).map(([, label, value]) => [label, value]);
}

function valueInWords({ kind, answers }: Option, typed: Typed): string {
  switch (kind) {
    case "switch":
      return typed ? t("yes") : t("no");
    case "choice":
      return declared(answers.find(({ value }) => value === typed)?.title);
    case "covariates":
      return list((typed as Covariate[]).map(({ name }) => name)) || t("none");
    default:
      return (typed as string) || t("none");
  }
}
