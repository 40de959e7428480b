import { useRef, useState, type RefObject } from "react";

import type { Schemas, Study } from "../../api/client";
import { useMe } from "../../app/session";
import { Button } from "../../ui/Button";
import { Callout } from "../../ui/Callout";
import { Dialog } from "../../ui/Dialog";
import { CheckField, Field } from "../../ui/Field";
import { Row } from "../../ui/Layout";
import { copied } from "../../words/clipboard";
import { fileName, saveText } from "../../words/files";
import { invitationMessage, mailto } from "../../words/invitation";
import { shownName } from "../../words/people";
import styles from "./InvitationDialog.module.css";
import { t } from "../../words/language";

export type Issued = Schemas["IssuedInvitation"] & { address?: string };

interface Props {
  issued: Issued;
  study: Study;
  onClose: () => void;
}

/** An invitation, which the server tells once and keeps as a hash only, and a message to go with it. */
export function InvitationDialog({ issued, study, onClose }: Props) {
  const text = useRef<HTMLTextAreaElement>(null);
  const save = () =>
    saveText(fileName(study.name, issued.cohort, "invitation.txt"), `${issued.invitation}\n`);
  return (
    <Dialog
      title={t("Invitation of {{cohort}}", { cohort: issued.cohort })}
      actions={
        <>
          <CopyButton label={t("Copy")} text={issued.invitation} shown={text} look="primary" />
          <Button onClick={save}>{t("Save as file")}</Button>
          <Button onClick={onClose}>{t("Close")}</Button>
        </>
      }
    >
      <Callout tone="warning" title={t("It is shown only once.")}>
        {t(
          "Whoever has it takes part as {{cohort}}: hand it to its data manager as you would a password. If it is lost, reissue it.",
          { cohort: issued.cohort },
        )}
      </Callout>
      <Field label={t("Invitation")}>
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
      <Message issued={issued} study={study} />
    </Dialog>
  );
}

/** What the data manager is to do, ready to be sent. */
function Message({ issued, study }: Omit<Props, "onClose">) {
  const me = useMe();
  const text = useRef<HTMLTextAreaElement>(null);
  const [isInside, setInside] = useState(false);
  const message = invitationMessage({
    study: study.name,
    cohort: issued.cohort,
    coordinator: shownName(me),
    plan: study.plan,
    invitation: isInside ? issued.invitation : undefined,
  });
  return (
    <>
      <Field label={t("Message to the data manager")}>
        {(wired) => (
          <textarea ref={text} className={styles.text} rows={7} readOnly value={message} {...wired} />
        )}
      </Field>
      <CheckField
        label={t("Put the invitation into the message")}
        hint={t(
          "Only where nobody else reads the message: mail passes through other hands, and stays where it was.",
        )}
        checked={isInside}
        onChange={setInside}
      />
      <Row>
        <CopyButton label={t("Copy message")} text={message} shown={text} />
        <a
          href={mailto(t("Invitation to the study {{name}}", { name: study.name }), message, issued.address)}
        >
          {t("Write it as a mail")}
        </a>
      </Row>
    </>
  );
}

interface Copying {
  label: string;
  text: string;
  shown: RefObject<HTMLTextAreaElement | null>;
  look?: "primary" | "plain";
}

function CopyButton({ label, text, shown, look = "plain" }: Copying) {
  const [last, setLast] = useState("");
  const copy = async () => {
    if (await copied(text)) setLast(text);
    else shown.current?.select(); // the reader presses Ctrl-C
  };
  return (
    <Button look={look} onClick={copy}>
      {last === text ? t("Copied") : label}
    </Button>
  );
}
