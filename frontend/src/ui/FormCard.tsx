import type { ReactNode, SubmitEvent } from "react";

import { Button, type Look } from "./Button";
import { Refusal } from "./Callout";
import { Card, Section } from "./Layout";

interface Props {
  title: string;
  /** What the form asks the server for. */
  change: { isPending: boolean; error: Error | null };
  /** On the button that sends it. */
  label: string;
  look?: Look;
  onSubmit: () => void;
  children: ReactNode;
}

/** A form on a card of its own: what the server refused of it, its fields, and the button that sends it. */
export function FormCard({ title, change, label, look = "primary", onSubmit, children }: Props) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form onSubmit={submit}>
      <Card>
        <Section title={title}>
          <Refusal error={change.error} />
          {children}
          <div>
            <Button type="submit" look={look} busy={change.isPending}>
              {label}
            </Button>
          </div>
        </Section>
      </Card>
    </form>
  );
}
