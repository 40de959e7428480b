import { useState, type SubmitEvent } from "react";

import { answer, api, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { of } from "../../api/queries";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { TextField } from "../../ui/Field";
import { Card, Muted, Row, Section } from "../../ui/Layout";
import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";

/** Who may watch the study beside its coordinator. */
export function Observers({ study }: { study: Study }) {
  const [name, setName] = useState("");
  const change = useChange((observers: string[]) =>
    answer(api.PATCH("/api/v1/studies/{study}", { ...of(study.id), body: { observers } })),
  );
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    change.mutate([...study.observers, name.trim()], { onSuccess: () => setName("") });
  };
  const without = (observer: string) => study.observers.filter((each) => each !== observer);
  return (
    <form onSubmit={add}>
      <Card>
        <Section title={t("Observers")}>
          <Muted>{t("They see everything in this study, but cannot change anything.")}</Muted>
          <Refusal error={change.error} />
          {study.observers.map((observer) => (
            <Row key={observer}>
              <strong>{study.names[observer] ?? observer}</strong>
              <Button look="quiet" busy={change.isPending} onClick={() => change.mutate(without(observer))}>
                <Rich
                  text="Remove<unseen> {{name}}</unseen>"
                  values={{ name: study.names[observer] ?? observer }}
                />
              </Button>
            </Row>
          ))}
          <TextField
            label={t("User name of an observer")}
            value={name}
            onChange={setName}
            error={change.error?.fields.observers}
            autoComplete="off"
            required
          />
          <div>
            <Button type="submit" busy={change.isPending}>
              {t("Add")}
            </Button>
          </div>
        </Section>
      </Card>
    </form>
  );
}
