/** What the parts of the form share, and fields of what every plan has. */
import type { Method } from "../../api/client";
import { CheckField, NumberField } from "../../ui/Field";
import type { FlagName, Form, NumberName } from "./form";

export interface Part {
  form: Form;
  method: Method;
  set: (changes: Partial<Form>) => void;
  /** What is wrong with a field, by the API's name of it. */
  wrong: (field: string) => string | undefined;
  /** The fields whose values come from a template. */
  marked?: ReadonlySet<string> | undefined;
}

interface Named<T> extends Part {
  name: T;
  label: string;
  hint?: string;
}

export function PlanNumber({ form, set, wrong, name, label, hint }: Named<NumberName>) {
  return (
    <NumberField
      label={label}
      hint={hint}
      value={form.numbers[name]}
      onChange={(text) => set({ numbers: { ...form.numbers, [name]: text } })}
      error={wrong(`plan.${name}`)}
    />
  );
}

export function PlanFlag({ form, set, name, label, hint }: Named<FlagName>) {
  return (
    <CheckField
      label={label}
      hint={hint}
      checked={form.flags[name]}
      onChange={(isSet) => set({ flags: { ...form.flags, [name]: isSet } })}
    />
  );
}
