import { useState } from "react";

import { answer, api, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { of } from "../../api/queries";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { FormCard } from "../../ui/FormCard";
import { Muted, Row } from "../../ui/Layout";
import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";

/** Who may watch the study beside its coordinator. */
export function Observers({ study }: { study: Study }) {
  const [name, setName] = useState("");
  const change = useChange((observers: string[]) =>
    answer(api.PATCH("/api/v1/studies/{study}", { ...of(study.id), body: { observers } })),
  );
  const add = () => change.mutate([...study.observers, name.trim()], { onSuccess: () => setName("") });
  const without = (observer: string) => study.observers.filter((each) => each !== observer);
  return (
    <FormCard title={t("Observers")} change={change} label={t("Add")} look="plain" onSubmit={add}>
      <Muted>{t("They see everything in this study, but cannot change anything.")}</Muted>
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
    </FormCard>
  );
}
