/** Usual studies to begin with. */
import { useRef } from "react";

import type { Method } from "../../api/client";
import { Button } from "../../ui/Button";
import { Callout } from "../../ui/Callout";
import { FieldGroup } from "../../ui/Field";
import { Facts, Stack } from "../../ui/Layout";
import { list } from "../../words/format";
import { declared, t } from "../../words/language";
import type { Form } from "./form";
import styles from "./Templates.module.css";
import { begin, changesInWords, undone, type Begun } from "./begin";

interface Props {
  methods: readonly Method[];
  form: Form;
  begun: Begun | null;
  onBegin: (form: Form, begun: Begun | null) => void;
}

export function Templates({ methods, form, begun, onBegin }: Props) {
  const chosen = useRef<HTMLButtonElement>(null);
  if (!methods.some(({ templates }) => templates.length)) return null;
  const undo = (begun: Begun) => {
    chosen.current?.focus(); // the button that was pressed goes away
    onBegin(undone(form, begun), null);
  };
  return (
    <Stack>
      <FieldGroup legend={t("Templates")}>
        <div className={styles.templates}>
          {methods.flatMap((method) =>
            method.templates.map((template) => {
              const isChosen = begun?.template.name === template.name;
              return (
                <button
                  key={template.name}
                  ref={isChosen ? chosen : undefined}
                  type="button"
                  className={styles.template}
                  aria-pressed={isChosen}
                  onClick={() => onBegin(...begin(form, template, method, begun))}
                >
                  <strong>{declared(template.title)}</strong>
                  <span>{declared(template.hint)}</span>
                </button>
              );
            }),
          )}
        </div>
      </FieldGroup>
      {begun && <Said key={begun.template.name} form={form} begun={begun} onUndo={() => undo(begun)} />}
    </Stack>
  );
}

/** What the template has changed, what it expects of the cohorts, and the way back. */
function Said({ form, begun, onUndo }: { form: Form; begun: Begun; onUndo: () => void }) {
  const { title, covariates } = begun.template;
  const changes = changesInWords(form, begun);
  return (
    <Callout tone="good" title={t("Filled in: {{title}}", { title: declared(title) })} isNews>
      <Stack>
        {covariates.length > 0 && (
          <p>
            {t(
              "Each cohort’s file of covariates must have the columns {{columns}}. Tell the cohorts how to compute them, so that they mean the same everywhere.",
              { columns: list(covariates) },
            )}
          </p>
        )}
        {changes.length ? <Facts facts={changes} /> : <p>{t("Everything is as it was before.")}</p>}
        <div>
          <Button onClick={onUndo}>{t("Undo")}</Button>
        </div>
      </Stack>
    </Callout>
  );
}
