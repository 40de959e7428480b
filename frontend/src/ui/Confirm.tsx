import { useId, useState, type ReactNode, type SubmitEvent } from "react";

import type { ApiError } from "../api/client";
import { Button, type Look } from "./Button";
import { Refusal } from "./Callout";
import { Dialog } from "./Dialog";
import { Stack, Unseen } from "./Layout";
import { t } from "../words/language";

interface Props {
  /** On the button that asks, and on the one that does it. */
  label: string;
  /** What it is done to, where that is not clear from the label alone. */
  about?: string;
  look?: Look;
  title: string;
  /** What follows from it, and what must be known for it: fields. */
  children: ReactNode;
  change: {
    mutateAsync: () => Promise<unknown>;
    isPending: boolean;
    error: ApiError | null;
    reset: () => void;
  };
  onDone?: () => void;
}

/** A button for what cannot be undone, or needs an answer: it says the consequences, and asks. */
export function Confirm({ label, about, look = "danger", title, children, change, onDone }: Props) {
  const [isAsking, setAsking] = useState(false);
  const form = useId();
  const close = () => {
    setAsking(false);
    change.reset();
  };
  const act = async (event: SubmitEvent) => {
    event.preventDefault();
    await change.mutateAsync().then(
      () => {
        close();
        onDone?.();
      },
      () => undefined, // the refusal is shown
    );
  };
  return (
    <>
      <Button look={look} onClick={() => setAsking(true)}>
        {label}
        {about && <Unseen> {about}</Unseen>}
      </Button>
      {isAsking && (
        <Dialog
          title={title}
          onClose={close}
          actions={
            <>
              <Button
                type="submit"
                form={form}
                look={look === "danger" ? "danger" : "primary"}
                busy={change.isPending}
              >
                {label}
              </Button>
              <Button onClick={close}>{t("Cancel")}</Button>
            </>
          }
        >
          <form id={form} onSubmit={act}>
            <Stack>
              {children}
              <Refusal error={change.error} />
            </Stack>
          </form>
        </Dialog>
      )}
    </>
  );
}
