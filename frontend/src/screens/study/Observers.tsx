import { useState, type SubmitEvent } from "react";

import { answer, api, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { of } from "../../api/queries";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { TextField } from "../../ui/Field";
import { Card, Muted, Row, Section, Unseen } from "../../ui/Layout";

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
        <Section title="Observers">
          <Muted>They see everything in this study, but cannot change anything.</Muted>
          <Refusal error={change.error} />
          {study.observers.map((observer) => (
            <Row key={observer}>
              <strong>{observer}</strong>
              <Button look="quiet" busy={change.isPending} onClick={() => change.mutate(without(observer))}>
                Remove<Unseen> {observer}</Unseen>
              </Button>
            </Row>
          ))}
          <TextField
            label="User name of an observer"
            value={name}
            onChange={setName}
            error={change.error?.fields.observers}
            autoComplete="off"
            required
          />
          <div>
            <Button type="submit" busy={change.isPending}>
              Add
            </Button>
          </div>
        </Section>
      </Card>
    </form>
  );
}
