/** What the study will be, beside its form: what is computed, what leaves a cohort; and what is wrong. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode, type RefObject } from "react";

import { ApiError, type Method, type Schemas } from "../../api/client";
import { foreseen } from "../../api/queries";
import { Callout } from "../../ui/Callout";
import { Card, Facts, Muted, Section, Stack } from "../../ui/Layout";
import { bytes, count, duration } from "../../words/format";
import { declared, declaredLabel, plural, t } from "../../words/language";
import { toPlan, type Form } from "./form";
import styles from "./StudyForm.module.css";

export interface Foreseen {
  /** Nothing where it would be refused. */
  data: Schemas["Foreseen"] | undefined;
  /** Why the plan would be refused, by the API's names of fields. */
  refused: Record<string, string>;
  /** It is about the form as it is, not as it was a moment ago. */
  isCurrent: boolean;
}

const PAUSE = 300; // milliseconds without a change, after which the server is asked

/** What the server foresees of the plan that a form describes. */
export function useForeseen(form: Form, method: Method | undefined): Foreseen {
  // Whatever the trait is called, the rest can be foreseen.
  const named = { ...form, phenotype: form.phenotype || t("not named yet") };
  const plan = method ? JSON.stringify(toPlan(named, method)) : "";
  const [asked, setAsked] = useState(plan);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(plan), PAUSE);
    return () => clearTimeout(timer);
  }, [plan]);
  const { data, error, isFetching } = useQuery(foreseen(asked));
  const refused = error instanceof ApiError ? error.fields : {};
  return { data, refused, isCurrent: asked === plan && !isFetching };
}

interface Props {
  form: RefObject<HTMLFormElement | null>;
  foreseen: Schemas["Foreseen"] | undefined;
  children: ReactNode;
}

/** The buttons come first, where nothing that appears later can move them away from under a click. */
export function Summary({ form, foreseen, children }: Props) {
  return (
    <div className={styles.summary}>
      <Card>
        <Stack>
          <div className={styles.send}>
            {children}
            <Problems form={form} />
          </div>
          <Section title={t("In short")}>
            {foreseen ? (
              <Said {...foreseen} />
            ) : (
              <Muted>
                {t("Once nothing is missing, this says what is computed and what leaves a cohort.")}
              </Muted>
            )}
          </Section>
        </Stack>
      </Card>
    </div>
  );
}

function Said({ facts, leaving, bytes: sent, seconds, variants, people }: Schemas["Foreseen"]) {
  const forms = [...new Set(leaving.map(({ form }) => form))];
  const named = (form: string) =>
    new Set(leaving.filter((line) => line.form === form).map(({ what }) => declared(what.split(": ")[0])));
  return (
    <>
      <Muted>{foreseenInWords(sent, seconds, variants, people)}</Muted>
      <Facts wide facts={facts.model.map(({ title, said }) => [declaredLabel(title), declared(said)])} />
      <h3>{t("What leaves a cohort")}</h3>
      <Facts wide facts={forms.map((form) => [declared(form), [...named(form)].join("; ")])} />
    </>
  );
}

function foreseenInWords(
  sent: number | null,
  seconds: number | null,
  variants: number,
  people: number,
): string {
  const size = sent === null ? t("an unknown number of bytes") : bytes(sent);
  if (seconds === null) return t("Each cohort sends about {{size}}.", { size });
  const time = duration(Math.ceil(seconds));
  if (!variants)
    return t(
      "With {{people}} rows, a cohort sends about {{size}}. The questions take about {{time}} if every cohort answers at once.",
      { people: count(people), size, time },
    );
  return t(
    "With {{variants}} variants and {{people}} people, a cohort sends about {{size}} and computes for about {{time}} on one core, waiting not counted.",
    { variants: count(variants), people: count(people), size, time },
  );
}

interface Problem {
  label: string;
  said: string;
  control: HTMLElement | null;
}

/** All that is wrong, each with a link to its field. Fields say it of themselves; here they are only listed. */
function Problems({ form }: { form: RefObject<HTMLFormElement | null> }) {
  const [found, setFound] = useState<readonly Problem[]>([]);
  useEffect(() => {
    const all = form.current;
    if (!all) return undefined;
    const observer = new MutationObserver(() => setFound(problemsIn(all)));
    observer.observe(all, { subtree: true, childList: true, attributeFilter: ["data-wrong"] });
    return () => observer.disconnect();
  }, [form]);
  if (!found.length) return null;
  return (
    <Callout tone="bad" title={plural(found.length, "{{n}} field to correct", "{{n}} fields to correct")}>
      <ul>
        {found.map(({ label, said, control }, index) => (
          <li key={index}>
            <a
              href={`#${control?.id ?? ""}`}
              onClick={(event) => {
                event.preventDefault();
                control?.focus();
              }}
            >
              {label}
            </a>
            : {said}
          </li>
        ))}
      </ul>
    </Callout>
  );
}

const problemsIn = (form: HTMLFormElement): Problem[] =>
  [...form.querySelectorAll<HTMLElement>("[data-wrong]")].map((field) => ({
    label: field.querySelector("label, legend")?.textContent ?? "",
    said: field.dataset.wrong ?? "",
    control: controlIn(field),
  }));

/** What takes the focus of a field, or of a group: what is wrong in it, or else the first. */
export const controlIn = (field: Element): HTMLElement | null =>
  field.querySelector<HTMLElement>('[aria-invalid="true"]') ??
  field.querySelector<HTMLElement>("input, select, textarea, button");
