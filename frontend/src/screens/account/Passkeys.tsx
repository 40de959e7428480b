import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useAccountChange } from "../../api/changes";
import { answer, api, type Schemas } from "../../api/client";
import { passkeys } from "../../api/queries";
import { useMe } from "../../app/session";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { Card, Muted, Section } from "../../ui/Layout";
import { Table, type Column } from "../../ui/Table";
import { Ago } from "../../ui/Time";
import { fromDevice, hasPasskeys } from "../Passkey";
import { CodeField } from "./SecondFactor";
import { t } from "../../words/language";

type Passkey = Schemas["PasskeyRow"];

/** The devices with which one signs in without a password. */
export function Passkeys() {
  const { data: rows = [] } = useQuery(passkeys);
  const columns: Column<Passkey>[] = [
    { title: t("Name"), cell: (row) => row.name },
    { title: t("Last used"), cell: (row) => <Ago at={row.used_at} /> },
    { title: t("Passkey"), cell: (row) => <Remove passkey={row} /> },
  ];
  return (
    <Card>
      <Section title={t("Passkeys")}>
        <Muted>
          {hasPasskeys()
            ? t("With a passkey you sign in by your device's PIN, fingerprint or face, without a password.")
            : t("This browser has no passkeys here. They need HTTPS, or http://localhost.")}
        </Muted>
        {rows.length > 0 && (
          <Table caption={t("Passkeys")} columns={columns} rows={rows} rowKey={(row) => String(row.id)} />
        )}
        {hasPasskeys() && (
          <div>
            <Add />
          </div>
        )}
      </Section>
    </Card>
  );
}

function Add() {
  const me = useMe();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const add = useAccountChange(async () => {
    const known = { password, ...(code && { code }) };
    const { options } = await answer(api.POST("/api/v1/account/passkeys", { body: known }));
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
      options as unknown as PublicKeyCredentialCreationOptionsJSON,
    );
    const remedy = t("Try again. A device that holds a passkey of yours makes no other one.");
    const credential = await fromDevice(navigator.credentials.create({ publicKey }), remedy);
    return answer(api.PUT("/api/v1/account/passkeys", { body: { name, credential } }));
  });
  const clear = () => [setName, setPassword, setCode].forEach((set) => set(""));
  const label = t("Add a passkey");
  return (
    <Confirm label={label} look="plain" title={label} change={add} onDone={clear}>
      <TextField
        label={t("Name of the device")}
        value={name}
        onChange={setName}
        error={add.error?.fields.name}
        autoComplete="off"
        maxLength={80}
        required
      />
      <TextField
        label={t("Password")}
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        required
      />
      {me.has_second_factor && <CodeField value={code} onChange={setCode} />}
    </Confirm>
  );
}

function Remove({ passkey: { id, name } }: { passkey: Passkey }) {
  const params = { path: { passkey: String(id) } };
  const remove = useAccountChange(() => answer(api.DELETE("/api/v1/account/passkeys/{passkey}", { params })));
  return (
    <Confirm
      label={t("Remove")}
      about={name}
      title={t("Remove the passkey “{{name}}”?", { name })}
      change={remove}
    >
      <p>{t("Nobody can sign in with it any more. Delete it on the device, too.")}</p>
    </Confirm>
  );
}
