import { useRef, useState } from "react";

import type { Schemas } from "../../api/client";
import { Button } from "../../ui/Button";
import { Callout } from "../../ui/Callout";
import { Dialog } from "../../ui/Dialog";
import { Field } from "../../ui/Field";
import { fileName, saveText } from "../../words/files";
import styles from "./InvitationDialog.module.css";

interface Props {
  issued: Schemas["IssuedInvitation"];
  /** The study's name. */
  study: string;
  ofTables: boolean;
  onClose: () => void;
}

/** An invitation, which the server tells once and keeps as a hash only. */
export function InvitationDialog({ issued, study, ofTables, onClose }: Props) {
  const text = useRef<HTMLTextAreaElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    setCopied(await copied(issued.invitation, text.current));
  };
  const save = () => saveText(fileName(study, issued.cohort, "invitation.txt"), `${issued.invitation}\n`);
  return (
    <Dialog
      title={`Invitation of ${issued.cohort}`}
      actions={
        <>
          <Button look="primary" onClick={copy}>
            {isCopied ? "Copied" : "Copy"}
          </Button>
          <Button onClick={save}>Save as file</Button>
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <Callout tone="warning" title="It is shown only once.">
        Whoever has it takes part as {issued.cohort}: hand it to its data manager as you would a password. If
        it is lost, reissue it.
      </Callout>
      <Field label="Invitation">
        {(wired) => (
          <textarea
            ref={text}
            className={styles.text}
            rows={5}
            readOnly
            value={issued.invitation}
            {...wired}
          />
        )}
      </Field>
      <p>
        The data manager runs{" "}
        <code>unpooled-client run invitation.txt {ofTables ? "--table FILE" : "--bfile PREFIX"}</code> beside
        the data.
      </p>
    </Dialog>
  );
}

/** Whether the text is on the clipboard, which browsers give to pages with TLS and of this machine only. */
async function copied(text: string, shown: HTMLTextAreaElement | null): Promise<boolean> {
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const done = await clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (!done) shown?.select(); // the reader presses Ctrl-C
  return done ?? false;
}
