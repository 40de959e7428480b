import { useEffect, useRef, useState, type ReactNode, type SubmitEvent } from "react";

import type { ApiError, Method } from "../../api/client";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { CheckField, FieldGroup, ChoiceField, TextArea, TextField } from "../../ui/Field";
import { Card, Columns, Narrow, Row, Section } from "../../ui/Layout";
import { NotPooled } from "../../ui/NotPooled";
import { TRAIT } from "../../words/states";
import { ColumnRows } from "./ColumnRows";
import { problems, problemsSoFar, withMethod, type Form } from "./form";
import { Marked } from "./Marked";
import { MoreRules } from "./MoreRules";
import { OptionFields } from "./OptionFields";
import { PlanNumber, type Part } from "./part";
import { declared, t } from "../../words/language";

interface Props {
  form: Form;
  onChange: (form: Form) => void;
  methods: readonly Method[];
  /** The fields whose values come from a template. */
  marked?: ReadonlySet<string> | undefined;
  error: ApiError | null;
  busy: boolean;
  /** On the button. */
  submit: string;
  onSubmit: (method: Method) => void;
  /** What follows from it, said above the button. */
  note?: ReactNode;
  /** Beside the button. */
  beside?: ReactNode;
}

/** Question, model and rules of a study. */
export function StudyForm({
  form,
  onChange,
  methods,
  marked,
  error,
  busy,
  submit,
  onSubmit,
  note,
  beside,
}: Props) {
  const [mine, setMine] = useState<Record<string, string>>({});
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error || Object.keys(mine).length) firstWrong(element.current)?.focus();
  }, [error, mine]);
  const method = methods.find((each) => each.name === form.test);
  if (!method) return null;
  const found = { ...error?.fields, ...mine, ...problemsSoFar(form, method) };
  const part: Part = {
    form,
    method,
    set: (changes) => onChange({ ...form, ...changes }),
    wrong: (field) => found[field],
    marked,
  };
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const seen = problems(form, method);
    setMine(seen);
    if (!Object.keys(seen).length) onSubmit(method);
  };
  return (
    <form ref={element} onSubmit={send} noValidate>
      <Narrow>
        <Refusal error={error} />
        <Card>
          <Question {...part} methods={methods} />
        </Card>
        <Card>
          <Model {...part} methods={methods} />
        </Card>
        <Card>
          <Rules {...part} />
          <MoreRules {...part} />
        </Card>
        {note}
        <Row>
          <Button type="submit" look="primary" busy={busy}>
            {submit}
          </Button>
          {beside}
        </Row>
      </Narrow>
    </form>
  );
}

const firstWrong = (form: HTMLFormElement | null) =>
  form?.querySelector<HTMLElement>('[aria-invalid="true"]');

type WithMethods = Part & { methods: readonly Method[] };

function Question({ form, method, set, wrong, methods }: WithMethods) {
  const choose = (ofTables: boolean) => {
    const first = methods.find((each) => each.of_tables === ofTables);
    if (first) set(withMethod(form, first));
  };
  return (
    <Section title={t("Question")}>
      <TextField
        label={t("Name of the study")}
        value={form.name}
        onChange={(name) => set({ name })}
        error={wrong("name")}
        autoComplete="off"
      />
      <TextArea
        label={t("Description")}
        hint={t("Shown to the cohorts as your words, before they accept the plan. May be empty.")}
        value={form.description}
        onChange={(description) => set({ description })}
        error={wrong("description")}
      />
      <ChoiceField
        legend={t("About")}
        value={method.of_tables ? "tables" : "variants"}
        options={[
          { value: "variants", label: t("Variants"), hint: t("A genome-wide association study of a trait.") },
          {
            value: "tables",
            label: t("Tables"),
            hint: t(
              "Normalization by the pooled mean, range, quartiles or a power transform; words to numbers; a summary.",
            ),
          },
        ]}
        onChange={(value) => choose(value === "tables")}
      />
      {method.of_tables ? (
        <ColumnRows
          rows={form.columns}
          onChange={(columns) => set({ columns })}
          error={wrong("plan.schema")}
        />
      ) : (
        <TraitFields form={form} method={method} set={set} wrong={wrong} methods={methods} />
      )}
    </Section>
  );
}

function TraitFields({ form, set, wrong, methods }: WithMethods) {
  const choose = (trait: "case/control" | "quantitative") => {
    const present = methods.find((each) => each.name === form.test);
    const fitting = methods.find((each) => !each.of_tables && each.traits.includes(trait));
    const method = present?.traits.includes(trait) ? present : fitting;
    if (method) set({ ...withMethod({ ...form, trait }, method) });
  };
  return (
    <>
      <Columns>
        <TextField
          label={t("Trait")}
          hint={t("The phenotype, such as asthma.")}
          value={form.phenotype}
          onChange={(phenotype) => set({ phenotype })}
          error={wrong("plan.phenotype")}
          autoComplete="off"
        />
        <TextField
          label={t("Genome build")}
          value={form.build}
          onChange={(build) => set({ build })}
          error={wrong("plan.build")}
          list="builds"
          autoComplete="off"
        />
        <datalist id="builds">
          <option value="GRCh38" />
          <option value="GRCh37" />
        </datalist>
      </Columns>
      <ChoiceField
        legend={t("Kind of trait")}
        value={form.trait === "quantitative" ? "quantitative" : "case/control"}
        options={(["case/control", "quantitative"] as const).map((value) => ({
          value,
          label: TRAIT[value](),
        }))}
        error={wrong("plan.trait")}
        onChange={choose}
      />
    </>
  );
}

function Model({ methods, ...part }: WithMethods) {
  const { form, method, set, wrong } = part;
  const fitting = methods.filter(
    (each) => each.of_tables === method.of_tables && (each.of_tables || each.traits.includes(form.trait)),
  );
  const choose = (name: string) => {
    const chosen = methods.find((each) => each.name === name);
    if (chosen) set(withMethod(form, chosen));
  };
  return (
    <Section title={t("Model")}>
      <Marked isMarked={part.marked?.has("test") ?? false}>
        <ChoiceField
          legend={method.of_tables ? t("Method") : t("Test")}
          value={form.test}
          options={fitting.map((each) => ({ value: each.name, label: declared(each.title) }))}
          error={wrong("plan.test")}
          onChange={choose}
        />
      </Marked>
      <NotPooled differs={method.unlike_pool} />
      <OptionFields {...part} place="model" />
      <Marked isMarked={part.marked?.has("files") ?? false}>
        <Reports form={form} method={method} set={set} wrong={wrong} />
      </Marked>
    </Section>
  );
}

function Reports({ form, method, set, wrong }: Part) {
  if (method.files.length < 2) return null;
  const choose = (file: string, isChosen: boolean) => {
    const names = method.files.map(({ name }) => name);
    set({ files: names.filter((name) => (name === file ? isChosen : form.files.includes(name))) });
  };
  return (
    <FieldGroup legend={t("Result files")} error={wrong("plan.files")}>
      <Columns>
        {method.files.map(({ name, title, hint }) => (
          <CheckField
            key={name}
            label={declared(title)}
            hint={declared(hint)}
            checked={form.files.includes(name)}
            onChange={(isChosen) => choose(name, isChosen)}
          />
        ))}
      </Columns>
    </FieldGroup>
  );
}

function Rules(part: Part) {
  const { form, method, set } = part;
  return (
    <Section title={t("Rules")}>
      <Columns>
        <PlanNumber
          {...part}
          name="cohorts"
          label={t("Cohorts")}
          hint={t("How many take part, at least 3.")}
        />
        <PlanNumber {...part} name="min_samples" label={t("Minimum people per cohort")} />
        {form.trait === "case/control" && !method.of_tables && (
          <PlanNumber
            {...part}
            name="min_per_class"
            label={t("Minimum cases and controls")}
            hint={t("Of each, per cohort.")}
          />
        )}
      </Columns>
      <OptionFields {...part} place="filters" />
      <CheckField
        label={t("Start automatically once every cohort is ready")}
        checked={form.autoStart}
        onChange={(autoStart) => set({ autoStart })}
      />
    </Section>
  );
}
