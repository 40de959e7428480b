/** Fields of the declared options: one widget for each kind. */
import type { Method } from "../../api/client";
import {
  ChoiceField,
  CheckField,
  FieldGroup,
  LimitField,
  NumberField,
  TextArea,
  TextField,
} from "../../ui/Field";
import { Columns, Muted, Stack } from "../../ui/Layout";
import { Covariates } from "./Covariates";
import { COMPENSATOR, needsCompensator, TRUST } from "./form";
import { FromFile } from "./FromFile";
import { Marked } from "./Marked";
import {
  isLimit,
  isMeant,
  placeOf,
  read,
  type Covariate,
  type Option,
  type Place,
  type Typed,
} from "./options";
import type { Part } from "./part";
import styles from "./StudyForm.module.css";
import { declared, t } from "../../words/language";

/** Those of a method's options that stand at a place, in their order; narrow ones side by side. */
export function OptionFields({ place, ...part }: Part & { place: Place }) {
  const shown = part.method.options.filter(
    (option) => placeOf(option) === place && isMeant(option, part.form),
  );
  return runs(shown).map((run) => {
    const [first] = run;
    const fields = run.map((option) => (
      <Marked key={option.name} isMarked={part.marked?.has(option.name) ?? false}>
        <OptionField {...part} option={option} />
      </Marked>
    ));
    if (isLimit(first)) {
      return (
        <FieldGroup key={first.name} legend={t("Quality control")}>
          <div className={styles.limits}>
            <Columns>{fields}</Columns>
          </div>
        </FieldGroup>
      );
    }
    return run.length > 1 ? <Columns key={first.name}>{fields}</Columns> : fields;
  });
}

type Run = [Option, ...Option[]];

const isNarrow = ({ kind }: Option) => !["switch", "choice", "covariates", "lines"].includes(kind);
const isBeside = (one: Option, other: Option) =>
  isLimit(one) === isLimit(other) &&
  ((isNarrow(one) && isNarrow(other)) || (one.kind === "switch" && other.kind === "switch"));

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
  const shown = { label, hint, value: typed as string, onChange: change, error };
  const isRequired = method.needed.includes(name);
  switch (option.kind) {
    case "covariates":
      return <Covariates legend={label} rows={typed as Covariate[]} onChange={change} error={error} />;
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
      return isLimit(option) ? (
        <LimitField {...shown} {...limit(option, method)} />
      ) : (
        <NumberField {...shown} required={isRequired} />
      );
    case "lines":
      return (
        <Stack>
          <TextArea {...shown} rows={6} required={isRequired} />
          <FromFile label={t("Or take them from a file: {{what}}", { what: title })} onRead={change} />
        </Stack>
      );
    default:
      return <TextField {...shown} required={isRequired} autoComplete="off" />;
  }
}

/** The value that limits nothing, as a plan has it where nobody says anything; and one to begin with. */
function limit(option: Option, { usual, templates }: Method) {
  const value = (plan: object) => read(option, (plan as Record<string, unknown>)[option.name]) as string;
  return { off: value(usual), start: templates.map(({ plan }) => value(plan)).find(Boolean) ?? "" };
}
