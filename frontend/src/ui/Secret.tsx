import { useRef, useState } from "react";

import { Button } from "./Button";
import { Callout } from "./Callout";
import { copied } from "../words/clipboard";
import { Dialog } from "./Dialog";
import { TextField } from "./Field";
import { t } from "../words/language";

interface Props {
  title: string;
  label: string;
  secret: string;
  /** What it is good for, and how it is to be kept. */
  children: string;
  onClose: () => void;
}

/** A secret that the server tells once. */
export function SecretDialog({ title, label, secret, children, onClose }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    const isDone = await copied(secret);
    if (!isDone) frame.current?.querySelector("input")?.select(); // the reader presses Ctrl-C
    setCopied(isDone);
  };
  return (
    <Dialog
      title={title}
      actions={
        <>
          <Button look="primary" onClick={copy}>
            {isCopied ? t("Copied") : t("Copy")}
          </Button>
          <Button onClick={onClose}>{t("Close")}</Button>
        </>
      }
    >
      <Callout tone="warning" title={t("It is shown only once.")}>
        {children}
      </Callout>
      <div ref={frame}>
        <TextField label={label} value={secret} onChange={() => undefined} readOnly />
      </div>
    </Dialog>
  );
}
