import { useState } from "react";

import { useAccountChange } from "../../api/changes";
import { answer, api, type Schemas } from "../../api/client";
import { CheckField, ChoiceField, FieldGroup, TextField } from "../../ui/Field";
import { FormCard } from "../../ui/FormCard";
import { Muted } from "../../ui/Layout";
import { NOTICE } from "../../words/states";
import { t } from "../../words/language";

type Event = Schemas["ChannelRow"]["events"][number];
type Kind = Schemas["ChannelKind"];

const EVENTS = ["done", "failed", "paused", "waited-for"] as const satisfies readonly Event[];

/** Of what somebody is told, and of which studies. */
export interface Told {
  events: readonly Event[];
  all_own: boolean;
}

interface Fields {
  told: Told;
  onChange: (told: Told) => void;
  error?: string | undefined;
}

export function ChannelFields({ told, onChange, error }: Fields) {
  const set = (event: Event, isWanted: boolean) =>
    onChange({
      ...told,
      events: EVENTS.filter((each) => (each === event ? isWanted : told.events.includes(each))),
    });
  return (
    <>
      <FieldGroup legend={t("Tell me when a study")} error={error}>
        {EVENTS.map((event) => (
          <CheckField
            key={event}
            label={NOTICE[event]()}
            checked={told.events.includes(event)}
            onChange={(isWanted) => set(event, isWanted)}
          />
        ))}
      </FieldGroup>
      <CheckField
        label={t("Of all studies that I coordinate")}
        hint={t("Else only of those on whose page you ask for it.")}
        checked={told.all_own}
        onChange={(all_own) => onChange({ ...told, all_own })}
      />
    </>
  );
}

const kinds = () =>
  [
    { value: "mail", label: t("Mail") },
    { value: "webhook", label: t("Webhook"), hint: t("A signed request to a program of yours.") },
  ] as const;

interface Props {
  sendsMail: boolean;
  onIssued: (issued: Schemas["IssuedChannel"]) => void;
}

export function NewChannel({ sendsMail, onIssued }: Props) {
  const [kind, setKind] = useState<Kind>(sendsMail ? "mail" : "webhook");
  const [address, setAddress] = useState("");
  const [told, setTold] = useState<Told>({ events: EVENTS, all_own: true });
  const create = useAccountChange(() =>
    answer(
      api.POST("/api/v1/account/channels", {
        body: { kind, address: address.trim(), events: [...told.events], all_own: told.all_own },
      }),
    ),
  );
  const submit = () => {
    create.mutate(undefined, {
      onSuccess: (issued) => {
        setAddress("");
        onIssued(issued);
      },
    });
  };
  const wrong = create.error?.fields ?? {};
  return (
    <FormCard title={t("Add an address")} change={create} label={t("Add address")} onSubmit={submit}>
      {sendsMail ? (
        <ChoiceField legend={t("By")} value={kind} options={kinds()} onChange={setKind} />
      ) : (
        <Muted>
          {t("This platform sends no mail, for its operator has not set it up. It calls webhooks.")}
        </Muted>
      )}
      <TextField
        label={kind === "mail" ? t("Mail address") : t("Address of the webhook")}
        hint={kind === "mail" ? undefined : t("It begins with https://")}
        type={kind === "mail" ? "email" : "url"}
        value={address}
        onChange={setAddress}
        error={wrong.address}
        autoComplete={kind === "mail" ? "email" : "off"}
        maxLength={500}
        required
      />
      <ChannelFields told={told} onChange={setTold} error={wrong.events} />
    </FormCard>
  );
}
