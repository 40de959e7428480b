/** Fields of the declared options: one widget for each kind. */
import { ChoiceField, CheckField, NumberField, TextField } from "../../ui/Field";
import { Columns, Muted } from "../../ui/Layout";
import { CovariateRows } from "./Entries";
import { COMPENSATOR, needsCompensator, TRUST } from "./form";
import { Marked } from "./Marked";
import { isMeant, type Covariate, type Option, type Place, type Typed } from "./options";
import type { Part } from "./part";
import { declared } from "../../words/language";

/** Those of a method's options that stand at a place, in their order; narrow ones side by side. */
export function OptionFields({ place, ...part }: Part & { place: Place }) {
  const shown = part.method.options.filter((option) => option.place === place && isMeant(option, part.form));
  return runs(shown).map((run) => {
    const [first] = run;
    const fields = run.map((option) => (
      <Marked key={option.name} isMarked={part.marked?.has(option.name) ?? false}>
        <OptionField {...part} option={option} />
      </Marked>
    ));
    return run.length > 1 || isNarrow(first) ? <Columns key={first.name}>{fields}</Columns> : fields;
  });
}

type Run = [Option, ...Option[]];

const isNarrow = ({ kind }: Option) => !["switch", "choice", "covariates"].includes(kind);
const isBeside = (one: Option, other: Option) =>
  (isNarrow(one) && isNarrow(other)) || (one.kind === "switch" && other.kind === "switch");

/** Options that follow each other and stand side by side. */
function runs(options: readonly Option[]): Run[] {
  const found: Run[] = [];
  for (const option of options) {
    const last = found.at(-1);
    if (last && isBeside(last[0], option)) last.push(option);
    else found.push([option]);
  }
  return found;
}

function OptionField({ option, form, method, set, wrong }: Part & { option: Option }) {
  const { name } = option;
  const hint = declared(option.hint);
  const title = declared(option.title);
  const label = option.flag ? `${title} (${option.flag})` : title;
  const typed = form.options[name] ?? "";
  const error = wrong(`plan.${name}`);
  const change = (value: Typed) => set({ options: { ...form.options, [name]: value } });
  switch (option.kind) {
    case "covariates":
      return <CovariateRows legend={label} rows={typed as Covariate[]} onChange={change} error={error} />;
    case "switch":
      return <CheckField label={label} hint={hint} checked={Boolean(typed)} onChange={change} />;
    case "choice": {
      const instead = name === TRUST ? needsCompensator(form, method) : undefined;
      return (
        <>
          <ChoiceField
            legend={label}
            value={instead === undefined ? (typed as string) : COMPENSATOR}
            options={option.answers.map(({ value, title, hint }) => ({
              value,
              label: declared(title),
              hint: declared(hint),
            }))}
            error={error}
            onChange={change}
          />
          {instead !== undefined && typed !== COMPENSATOR && <Muted>{instead}</Muted>}
        </>
      );
    }
    case "number":
    case "whole":
      return (
        <NumberField label={label} hint={hint} value={typed as string} onChange={change} error={error} />
      );
    default:
      return (
        <TextField
          label={label}
          hint={hint}
          value={typed as string}
          onChange={change}
          error={error}
          autoComplete="off"
        />
      );
  }
}
