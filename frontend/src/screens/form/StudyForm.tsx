import { useEffect, useRef, useState, type ReactNode, type SubmitEvent } from "react";

import type { ApiError, Method } from "../../api/client";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { CheckField, FieldGroup, ChoiceField, TextArea, TextField } from "../../ui/Field";
import { Card, Columns, Muted, Row, Section, Stack } from "../../ui/Layout";
import { NotPooled } from "../../ui/NotPooled";
import { list } from "../../words/format";
import { TRAIT } from "../../words/states";
import { ColumnRows } from "./ColumnRows";
import { needsTrait, problems, problemsSoFar, samePurpose, withMethod, type Form } from "./form";
import { Marked } from "./Marked";
import { MoreRules } from "./MoreRules";
import { OptionFields } from "./OptionFields";
import { PlanNumber, type Part } from "./part";
import { controlIn, Summary, type Foreseen } from "./Summary";
import styles from "./StudyForm.module.css";
import { declared, t } from "../../words/language";

interface Props {
  form: Form;
  onChange: (form: Form) => void;
  methods: readonly Method[];
  /** The fields whose values come from a template. */
  marked?: ReadonlySet<string> | undefined;
  /** What stands below the purposes. */
  templates?: ReactNode;
  error: ApiError | null;
  foreseen?: Foreseen | undefined;
  busy: boolean;
  /** On the button. */
  submit: string;
  onSubmit: (method: Method) => void;
  /** What follows from it, said above the button. */
  note?: ReactNode;
  /** Beside the button. */
  beside?: ReactNode;
}

/** What is wanted, question, model and rules of a study; beside them what follows, and what is wrong. */
export function StudyForm({
  form,
  onChange,
  methods,
  marked,
  templates,
  error,
  foreseen,
  busy,
  submit,
  onSubmit,
  note,
  beside,
}: Props) {
  const [tries, setTries] = useState(0); // to send it
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const wrong = error || tries ? element.current?.querySelector("[data-wrong]") : null;
    if (wrong) controlIn(wrong)?.focus();
  }, [error, tries]);
  const method = methods.find((each) => each.name === form.test);
  if (!method) return null;
  const seen = problems(form, method);
  const found = {
    ...error?.fields,
    ...(tries && { ...foreseen?.refused, ...seen }),
    ...problemsSoFar(form, method),
  };
  const part: Part = {
    form,
    method,
    set: (changes) => onChange({ ...form, ...changes }),
    wrong: (field) => found[field],
    marked,
  };
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    // What is foreseen of the form as it was a moment ago says nothing of it as it is.
    const refused = foreseen?.isCurrent ? foreseen.refused : {};
    setTries(tries + 1);
    if (!Object.keys({ ...seen, ...refused }).length) onSubmit(method);
  };
  return (
    <form ref={element} onSubmit={send} noValidate className={styles.form}>
      <Stack>
        <Refusal error={error} />
        <Card>
          <Wanted {...part} methods={methods} templates={templates} />
        </Card>
        <Card>
          <Question {...part} />
        </Card>
        <Card>
          <Model {...part} />
        </Card>
        <Card>
          <Rules {...part} />
          <MoreRules {...part} />
        </Card>
      </Stack>
      <Summary form={element} foreseen={foreseen?.data}>
        <CheckField
          label={t("Start automatically once every cohort is ready")}
          checked={form.autoStart}
          onChange={(autoStart) => part.set({ autoStart })}
        />
        <Row>
          <Button type="submit" look="primary" busy={busy}>
            {submit}
          </Button>
          {beside}
        </Row>
        {note}
      </Summary>
    </form>
  );
}

interface WantedProps extends Part {
  methods: readonly Method[];
  templates: ReactNode;
}

function Wanted({ form, method, set, wrong, marked, methods, templates }: WantedProps) {
  const choose = (chosen?: Method) => chosen && set(withMethod(form, chosen));
  const purposes = new Map(methods.map(({ purpose }) => [purpose.title, purpose]));
  const fitting = samePurpose(methods, method);
  const isByTrait = new Set(fitting.map(({ traits }) => traits.join())).size > 1;
  return (
    <Stack>
      <div className={styles.purposes}>
        <ChoiceField
          legend={t("What do you want?")}
          isWide
          value={method.purpose.title}
          options={[...purposes].map(([value, { title, hint }]) => ({
            value,
            label: declared(title),
            hint: declared(hint),
          }))}
          onChange={(title) => choose(methods.find(({ purpose }) => purpose.title === title))}
        />
      </div>
      {templates}
      <Marked isMarked={marked?.has("test") ?? false}>
        <ChoiceField
          legend={method.of_tables ? t("Method") : t("Test")}
          isWide
          value={form.test}
          options={fitting.map(({ name, title, traits: [trait] }) => ({
            value: name,
            label: declared(title),
            hint: isByTrait && trait ? TRAIT[trait]() : "",
          }))}
          error={wrong("plan.test")}
          onChange={(name) => choose(methods.find((each) => each.name === name))}
        />
      </Marked>
      <NotPooled differs={method.unlike_pool} />
    </Stack>
  );
}

function Question({ form, method, set, wrong }: Part) {
  return (
    <Section title={t("Question")} beside={<Muted>{t("* Has to be filled in.")}</Muted>}>
      <Columns>
        <TextField
          label={t("Name of the study")}
          value={form.name}
          onChange={(name) => set({ name })}
          error={wrong("name")}
          autoComplete="off"
          required
        />
        {!method.of_tables && <TraitFields form={form} method={method} set={set} wrong={wrong} />}
      </Columns>
      {method.of_tables && (
        <ColumnRows
          rows={form.columns}
          onChange={(columns) => set({ columns })}
          error={wrong("plan.schema")}
        />
      )}
      {method.traits.length > 1 && (
        <ChoiceField
          legend={t("Kind of trait")}
          isWide
          value={form.trait}
          options={method.traits.map((value) => ({ value, label: TRAIT[value]() }))}
          error={wrong("plan.trait")}
          onChange={(trait) => set({ trait })}
        />
      )}
      <TextArea
        label={t("Description")}
        hint={t("Shown to the cohorts as your words, before they accept the plan. May be empty.")}
        rows={1}
        value={form.description}
        onChange={(description) => set({ description })}
        error={wrong("description")}
      />
    </Section>
  );
}

function TraitFields({ form, method, set, wrong }: Part) {
  return (
    <>
      {needsTrait(method) && (
        <TextField
          label={t("Trait")}
          hint={t("The phenotype, such as asthma.")}
          value={form.phenotype}
          onChange={(phenotype) => set({ phenotype })}
          error={wrong("plan.phenotype")}
          autoComplete="off"
          required
        />
      )}
      <TextField
        label={t("Genome build")}
        value={form.build}
        onChange={(build) => set({ build })}
        error={wrong("plan.build")}
        list="builds"
        autoComplete="off"
        required
      />
      <datalist id="builds">
        <option value="GRCh38" />
        <option value="GRCh37" />
      </datalist>
    </>
  );
}

function Model(part: Part) {
  const { form, method, set, wrong } = part;
  return (
    <Section title={t("Model")}>
      <OptionFields {...part} place="model" />
      <Marked isMarked={part.marked?.has("files") ?? false}>
        <Reports form={form} method={method} set={set} wrong={wrong} />
      </Marked>
    </Section>
  );
}

function Reports({ form, method, set, wrong }: Part) {
  const [isOpen, setOpen] = useState(false);
  if (method.files.length < 2) return null;
  const choose = (file: string, isChosen: boolean) => {
    const names = method.files.map(({ name }) => name);
    set({ files: names.filter((name) => (name === file ? isChosen : form.files.includes(name))) });
  };
  const chosen = method.files
    .filter(({ name }) => form.files.includes(name))
    .map(({ title }) => declared(title));
  return (
    <details
      open={isOpen || Boolean(wrong("plan.files"))}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{t("Result files: {{files}}", { files: list(chosen) })}</summary>
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
    </details>
  );
}

function Rules(part: Part) {
  const { form, method } = part;
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
    </Section>
  );
}
