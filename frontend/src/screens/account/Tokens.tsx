import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useAccountChange } from "../../api/changes";
import { answer, api, type Schemas } from "../../api/client";
import { tokens } from "../../api/queries";
import { Confirm } from "../../ui/Confirm";
import { SelectField, TextField } from "../../ui/Field";
import { FormCard } from "../../ui/FormCard";
import { Columns, Muted, Section } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { SecretDialog } from "../../ui/Secret";
import { Table, type Column } from "../../ui/Table";
import { Ago, Moment, useNow } from "../../ui/Time";
import { t } from "../../words/language";

type Token = Schemas["ApiTokenRow"];
type Issued = Schemas["IssuedApiToken"];
type Scope = Schemas["TokenScope"];

const scopes = (): readonly (readonly [Scope, string])[] => [
  ["read", t("Read: what you may see of studies")],
  ["change", t("Read and change: what you may do with studies")],
];

/** Tokens with which programs use the API in one's name. */
export function Tokens() {
  const [issued, setIssued] = useState<Issued | null>(null);
  return (
    <>
      <Section title={t("API tokens")}>
        <Muted>
          {t(
            "With a token a program does what you could do with studies, without your password. It manages no accounts, and makes no other tokens.",
          )}
        </Muted>
        <List />
      </Section>
      <NewToken onIssued={setIssued} />
      <Example />
      {issued && (
        <SecretDialog
          title={t("API token “{{name}}”", { name: issued.name })}
          label={t("Token")}
          secret={issued.token}
          onClose={() => setIssued(null)}
        >
          {t(
            "Whoever has it acts in your name. Keep it in a file that only you can read, or in a store of secrets.",
          )}
        </SecretDialog>
      )}
    </>
  );
}

function List() {
  const now = useNow();
  const columns: Column<Token>[] = [
    { title: t("Name"), cell: (row) => row.name },
    { title: t("May"), cell: (row) => (row.scope === "read" ? t("Read") : t("Read and change")) },
    { title: t("Last used"), cell: (row) => <Ago at={row.used_at} /> },
    {
      title: t("Expires"),
      cell: (row) => (Date.parse(row.expires_at) > now ? <Moment at={row.expires_at} /> : t("has expired")),
    },
    { title: t("Token"), cell: (row) => <Revoke token={row} /> },
  ];
  return (
    <Loaded query={useQuery(tokens)}>
      {(rows) =>
        rows.length ? (
          <Table caption={t("API tokens")} columns={columns} rows={rows} rowKey={(row) => String(row.id)} />
        ) : (
          <Muted>{t("You have no API token.")}</Muted>
        )
      }
    </Loaded>
  );
}

function Revoke({ token: { id, name } }: { token: Token }) {
  const params = { path: { token: String(id) } };
  const revoke = useAccountChange(() => answer(api.DELETE("/api/v1/account/tokens/{token}", { params })));
  return (
    <Confirm
      label={t("Revoke")}
      about={name}
      title={t("Revoke the token “{{name}}”?", { name })}
      change={revoke}
    >
      <p>{t("Programs that use it are refused from now on.")}</p>
    </Confirm>
  );
}

function NewToken({ onIssued }: { onIssued: (issued: Issued) => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("read");
  const [days, setDays] = useState("90");
  const create = useAccountChange(() =>
    answer(api.POST("/api/v1/account/tokens", { body: { name, scope, days: Number(days) } })),
  );
  const submit = () => {
    create.mutate(undefined, {
      onSuccess: (issued) => {
        setName("");
        onIssued(issued);
      },
    });
  };
  const wrong = create.error?.fields ?? {};
  return (
    <FormCard title={t("Create a token")} change={create} label={t("Create token")} onSubmit={submit}>
      <Columns>
        <TextField
          label={t("What it is for")}
          value={name}
          onChange={setName}
          error={wrong.name}
          autoComplete="off"
          maxLength={80}
          required
        />
        <SelectField label={t("It may")} value={scope} options={scopes()} onChange={setScope} />
        <TextField
          label={t("Days until it expires")}
          type="number"
          min={1}
          max={365}
          value={days}
          onChange={setDays}
          error={wrong.days}
          required
        />
      </Columns>
    </FormCard>
  );
}

function Example() {
  return (
    <Section title={t("How to use it")}>
      <p>{t("Save the token as a file that only you can read. For example, your studies:")}</p>
      <p>
        <code>
          curl -H &quot;Authorization: Bearer $(cat unpooled-token)&quot; {window.location.origin}
          /api/v1/studies
        </code>
      </p>
    </Section>
  );
}
