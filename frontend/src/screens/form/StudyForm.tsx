import { useEffect, useRef, useState, type ReactNode, type SubmitEvent } from "react";

import type { ApiError, Method } from "../../api/client";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { CheckField, FieldGroup, ChoiceField, NumberField, TextArea, TextField } from "../../ui/Field";
import { Card, Columns, Narrow, Row, Section } from "../../ui/Layout";
import { REPORT, TRAIT } from "../../words/states";
import { ColumnRows, CovariateRows } from "./Entries";
import {
  heeds,
  listProblemsSoFar,
  problems,
  withMethod,
  type FlagName,
  type Form,
  type NumberName,
} from "./form";
import { MoreRules } from "./MoreRules";

interface Props {
  form: Form;
  onChange: (form: Form) => void;
  methods: readonly Method[];
  error: ApiError | null;
  busy: boolean;
  /** On the button. */
  submit: string;
  onSubmit: (method: Method) => void;
  /** Beside the button. */
  beside?: ReactNode;
}

/** What the parts of the form share. */
export interface Part {
  form: Form;
  method: Method;
  set: (changes: Partial<Form>) => void;
  /** What is wrong with a field, by the API's name of it. */
  wrong: (field: string) => string | undefined;
}

/** Question, model and rules of a study. */
export function StudyForm({ form, onChange, methods, error, busy, submit, onSubmit, beside }: Props) {
  const [mine, setMine] = useState<Record<string, string>>({});
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error || Object.keys(mine).length) firstWrong(element.current)?.focus();
  }, [error, mine]);
  const method = methods.find((each) => each.name === form.test);
  if (!method) return null;
  const found = { ...error?.fields, ...mine, ...listProblemsSoFar(form.lists, method) };
  const part: Part = {
    form,
    method,
    set: (changes) => onChange({ ...form, ...changes }),
    wrong: (field) => found[field],
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
    <Section title="Question">
      <TextField
        label="Name of the study"
        value={form.name}
        onChange={(name) => set({ name })}
        error={wrong("name")}
        autoComplete="off"
      />
      <TextArea
        label="Description"
        hint="Shown to the cohorts as your words, before they accept the plan. May be empty."
        value={form.description}
        onChange={(description) => set({ description })}
        error={wrong("description")}
      />
      <ChoiceField
        legend="About"
        value={method.of_tables ? "tables" : "variants"}
        options={[
          { value: "variants", label: "Variants", hint: "A genome-wide association study of a trait." },
          {
            value: "tables",
            label: "Tables",
            hint: "Normalization by the pooled mean, range, quartiles or a power transform; a summary.",
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
          label="Trait"
          hint="The phenotype, such as asthma."
          value={form.phenotype}
          onChange={(phenotype) => set({ phenotype })}
          error={wrong("plan.phenotype")}
          autoComplete="off"
        />
        <TextField
          label="Genome build"
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
        legend="Kind of trait"
        value={form.trait === "quantitative" ? "quantitative" : "case/control"}
        options={(["case/control", "quantitative"] as const).map((value) => ({ value, label: TRAIT[value] }))}
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
    <Section title="Model">
      <ChoiceField
        legend={method.of_tables ? "Method" : "Test"}
        value={form.test}
        options={fitting.map((each) => ({ value: each.name, label: each.title }))}
        error={wrong("plan.test")}
        onChange={choose}
      />
      {heeds(method, "covariates") && (
        <CovariateRows
          rows={form.covariates}
          onChange={(covariates) => set({ covariates })}
          error={wrong("plan.covariates")}
        />
      )}
      {form.covariates.length > 0 && (
        <PlanFlag
          {...part}
          name="cohort_sums"
          label="A covariate may tell cohorts apart"
          hint="Such as the site. The server then sees allele frequencies and means of single cohorts, and each is asked to accept that. Otherwise a level that fewer than three cohorts have ten people at ends the study."
        />
      )}
      {heeds(method, "missing") && (
        <ChoiceField
          legend="Missing calls"
          value={form.missing}
          options={[
            { value: "mean", label: "Take the pooled mean", hint: "Shows the server sums only." },
            {
              value: "exact",
              label: "Leave the person out of that variant, as PLINK",
              hint: "Where a single person lacks a call, the server learns that person's covariates.",
            },
          ]}
          error={wrong("plan.missing")}
          onChange={(missing) => set({ missing })}
        />
      )}
      {heeds(method, "quantiles") && <OrderStatistics form={form} method={method} set={set} wrong={wrong} />}
      <Reports form={form} method={method} set={set} wrong={wrong} />
    </Section>
  );
}

function OrderStatistics({ form, set, wrong }: Part) {
  const change = (list: Partial<Form["lists"]>) => set({ lists: { ...form.lists, ...list } });
  return (
    <Columns>
      <TextField
        label="Quantiles"
        hint="From 0 to 1, such as 0.05, 0.5, 0.95."
        value={form.lists.quantiles}
        onChange={(quantiles) => change({ quantiles })}
        error={wrong("plan.quantiles")}
        autoComplete="off"
      />
      <TextField
        label="Elements"
        hint="1 is the smallest value of all, -1 the largest. Each is a single person's value."
        value={form.lists.elements}
        onChange={(elements) => change({ elements })}
        error={wrong("plan.elements")}
        autoComplete="off"
      />
    </Columns>
  );
}

function Reports({ form, method, set, wrong }: Part) {
  if (method.files.length < 2) return null;
  const choose = (file: Form["files"][number], isChosen: boolean) =>
    set({ files: method.files.filter((each) => (each === file ? isChosen : form.files.includes(each))) });
  return (
    <FieldGroup legend="Result files" error={wrong("plan.files")}>
      <Columns>
        {method.files.map((file) => (
          <CheckField
            key={file}
            label={REPORT[file].name}
            hint={REPORT[file].what}
            checked={form.files.includes(file)}
            onChange={(isChosen) => choose(file, isChosen)}
          />
        ))}
      </Columns>
    </FieldGroup>
  );
}

function Rules(part: Part) {
  const { form, method, set } = part;
  return (
    <Section title="Rules">
      <Columns>
        <PlanNumber {...part} name="cohorts" label="Cohorts" hint="How many take part, at least 3." />
        <PlanNumber {...part} name="min_samples" label="Fewest people at each cohort" />
        {form.trait === "case/control" && !method.of_tables && (
          <PlanNumber {...part} name="min_per_class" label="Fewest cases, and controls, at each" />
        )}
      </Columns>
      {heeds(method, "maf") && (
        <Columns>
          <PlanNumber
            {...part}
            name="maf"
            label="--maf"
            hint="Least frequency of the rarer allele; 0 for none."
          />
          <PlanNumber
            {...part}
            name="geno"
            label="--geno"
            hint="Largest share of missing calls of a variant; 1 for none."
          />
          <PlanNumber {...part} name="hwe" label="--hwe" hint="Least Hardy-Weinberg P; 0 for none." />
          <PlanNumber
            {...part}
            name="mind"
            label="--mind"
            hint="Largest share of missing calls of a person; 1 for none."
          />
        </Columns>
      )}
      <CheckField
        label="Start by itself once every cohort is ready"
        checked={form.autoStart}
        onChange={(autoStart) => set({ autoStart })}
      />
    </Section>
  );
}

export function PlanNumber({
  form,
  method,
  set,
  wrong,
  name,
  label,
  hint,
}: Part & { name: NumberName; label: string; hint?: string }) {
  if (!heeds(method, name)) return null;
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

export function PlanFlag({
  form,
  method,
  set,
  name,
  label,
  hint,
}: Part & { name: FlagName; label: string; hint: string }) {
  if (!heeds(method, name)) return null;
  return (
    <CheckField
      label={label}
      hint={hint}
      checked={form.flags[name]}
      onChange={(isSet) => set({ flags: { ...form.flags, [name]: isSet } })}
    />
  );
}
