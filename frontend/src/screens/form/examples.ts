/** Methods as the API describes them, for tests. */
import type { Method } from "../../api/client";
import type { Option } from "./options";

/** An option of a kind, all else as little as there can be. */
export const option = (name: string, kind: Option["kind"], more: Partial<Option> = {}): Option => ({
  name,
  kind,
  title: name,
  hint: "",
  flag: "",
  place: "model",
  needs: "",
  file: "",
  wanted: "something else",
  least: null,
  most: null,
  answers: [],
  among: [],
  ...more,
});

const file = (name: string): Method["files"][number] => ({ name, title: name, hint: "" });

/** A method with these options and files; what its plan says where nobody said anything. */
export const method = (
  name: string,
  options: Option[],
  files: string[],
  usual: Partial<Method["usual"]>,
  of: Partial<Method> = {},
): Method => ({
  name,
  title: name,
  purpose: { title: of.of_tables ? "T" : "V", hint: "" },
  needed: of.of_tables ? [] : ["phenotype"],
  unlike_pool: "",
  of_tables: false,
  compares: false,
  traits: [usual.trait ?? "case/control"],
  files: files.map(file),
  options,
  templates: [],
  usual: { test: name, phenotype: "", cohorts: 3, files: files.slice(0, 1), panel_mode: "names", ...usual },
  ...of,
});
