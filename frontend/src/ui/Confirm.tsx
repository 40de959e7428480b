import { useState, type ReactNode } from "react";

import type { ApiError } from "../api/client";
import { Button } from "./Button";
import { Refusal } from "./Callout";
import { Dialog } from "./Dialog";
import { Unseen } from "./Layout";

interface Props {
  /** On the button that asks, and on the one that does it. */
  label: string;
  /** What it is done to, where that is not clear from the label alone. */
  about?: string;
  title: string;
  /** What follows from it. */
  children: ReactNode;
  change: {
    mutateAsync: () => Promise<unknown>;
    isPending: boolean;
    error: ApiError | null;
    reset: () => void;
  };
  onDone?: () => void;
}

/** A button for what cannot be undone: it says the consequences, and asks. */
export function Confirm({ label, about, title, children, change, onDone }: Props) {
  const [isAsking, setAsking] = useState(false);
  const close = () => {
    setAsking(false);
    change.reset();
  };
  const act = async () => {
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
      <Button look="danger" onClick={() => setAsking(true)}>
        {label}
        {about && <Unseen> {about}</Unseen>}
      </Button>
      {isAsking && (
        <Dialog
          title={title}
          onClose={close}
          actions={
            <>
              <Button look="danger" busy={change.isPending} onClick={act}>
                {label}
              </Button>
              <Button onClick={close}>Cancel</Button>
            </>
          }
        >
          {children}
          <Refusal error={change.error} />
        </Dialog>
      )}
    </>
  );
}
