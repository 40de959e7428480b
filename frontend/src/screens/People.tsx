import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { usePeopleChange } from "../api/changes";
import { answer, api, type Person, type Schemas } from "../api/client";
import { people } from "../api/queries";
import { useMe } from "../app/session";
import { Callout } from "../ui/Callout";
import { Confirm } from "../ui/Confirm";
import { NewPasswordField, SelectField, TextField } from "../ui/Field";
import { FormCard } from "../ui/FormCard";
import { Columns, Muted, PageTitle, Row } from "../ui/Layout";
import { Loaded } from "../ui/Loading";
import { Table, type Column } from "../ui/Table";
import { ROLE } from "../words/states";
import { t } from "../words/language";

type Role = Schemas["Role"];

const roles = () =>
  (["coordinator", "observer", "administrator"] as const).map(
    (role) => [role, `${ROLE[role].word()}: ${ROLE[role].may()}`] as const,
  );

/** Accounts, for administrators. */
export function People() {
  const isAdministrator = useMe().role === "administrator";
  return (
    <>
      <PageTitle>{t("People")}</PageTitle>
      {isAdministrator ? (
        <>
          <Accounts />
          <NewPerson />
        </>
      ) : (
        <Callout tone="info" title={t("Administrators manage accounts.")}>
          {t(
            "Ask one of them for a new account, another role, or a new password if you have forgotten yours.",
          )}
        </Callout>
      )}
    </>
  );
}

function Accounts() {
  const me = useMe();
  const found = useQuery(people);
  const columns: Column<Person>[] = [
    { title: t("User name"), cell: (row) => row.username },
    { title: t("Display name"), cell: (row) => row.display_name || "–" },
    { title: t("Role"), cell: (row) => ROLE[row.role].word() },
    {
      title: t("Account"),
      cell: (row) =>
        row.username === me.username ? (
          <Link to="/account">{t("Yours")}</Link>
        ) : (
          <Row>
            <ChangeName person={row} />
            <ChangeRole person={row} />
            <ResetPassword username={row.username} />
            {row.has_second_factor && <DropFactor username={row.username} />}
            <CloseAccount username={row.username} />
          </Row>
        ),
    },
  ];
  return (
    <Loaded query={found}>
      {(rows) => (
        <Table caption={t("Accounts")} columns={columns} rows={rows} rowKey={(row) => row.username} />
      )}
    </Loaded>
  );
}

function ChangeRole({ person: { username, role } }: { person: Person }) {
  const [chosen, setChosen] = useState<Role>(role);
  const change = usePersonChange(username, { role: chosen });
  return (
    <Confirm
      label={t("Change role")}
      about={t("of {{username}}", { username })}
      look="quiet"
      title={t("Change the role of {{username}}", { username })}
      change={change}
    >
      <SelectField label={t("Role")} value={chosen} options={roles()} onChange={setChosen} />
      <Muted>{t("It takes effect with their next click. Studies that they own stay theirs.")}</Muted>
    </Confirm>
  );
}

function ChangeName({ person: { username, display_name } }: { person: Person }) {
  const [name, setName] = useState(display_name);
  const change = usePersonChange(username, { display_name: name });
  return (
    <Confirm
      label={t("Change name")}
      about={t("of {{username}}", { username })}
      look="quiet"
      title={t("Change the name of {{username}}", { username })}
      change={change}
    >
      <TextField
        label={t("Display name")}
        value={name}
        onChange={setName}
        error={change.error?.fields.display_name}
        autoComplete="off"
        maxLength={80}
      />
      <Muted>{t("It is shown instead of the user name, with which they sign in as before.")}</Muted>
    </Confirm>
  );
}

function ResetPassword({ username }: { username: string }) {
  const [password, setPassword] = useState("");
  const change = usePersonChange(username, { password });
  return (
    <Confirm
      label={t("Reset password")}
      about={t("of {{username}}", { username })}
      look="quiet"
      title={t("Reset the password of {{username}}", { username })}
      change={change}
      onDone={() => setPassword("")}
    >
      <NewPasswordField
        label={t("New password")}
        value={password}
        onChange={setPassword}
        error={change.error?.fields.password}
        isHandedOver
      />
      <Muted>
        {t(
          "Their sessions end, and their API tokens and passkeys are removed. Hand the password over as you would any other secret.",
        )}
      </Muted>
    </Confirm>
  );
}

function DropFactor({ username }: { username: string }) {
  const drop = usePersonChange(username, { drop_second_factor: true });
  return (
    <Confirm
      label={t("Turn off second factor")}
      about={t("of {{username}}", { username })}
      look="quiet"
      title={t("Turn off the second factor of {{username}}?", { username })}
      change={drop}
    >
      <p>{t("For somebody who has lost app and codes. They then sign in with their password alone.")}</p>
    </Confirm>
  );
}

function CloseAccount({ username }: { username: string }) {
  const close = usePersonChange(username, { active: false });
  return (
    <Confirm
      label={t("Close account")}
      about={t("of {{username}}", { username })}
      title={t("Close the account of {{username}}?", { username })}
      change={close}
    >
      <p>
        {t("{{username}} cannot sign in any more. Their studies stay, and an administrator can steer them.", {
          username,
        })}
      </p>
    </Confirm>
  );
}

function NewPerson() {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<Role>("coordinator");
  const create = usePeopleChange(() =>
    answer(api.POST("/api/v1/people", { body: { username, password, role } })),
  );
  const submit = () =>
    create.mutate(undefined, {
      onSuccess: () => {
        setUsername("");
        setPassword("");
      },
    });
  const wrong = create.error?.fields ?? {};
  return (
    <FormCard title={t("Create an account")} change={create} label={t("Create account")} onSubmit={submit}>
      <Columns>
        <TextField
          label={t("User name")}
          value={username}
          onChange={setUsername}
          error={wrong.username}
          autoComplete="off"
          required
        />
        <NewPasswordField
          label={t("First password")}
          value={password}
          onChange={setPassword}
          error={wrong.password}
          isHandedOver
        />
        <SelectField label={t("Role")} value={role} options={roles()} onChange={setRole} />
      </Columns>
      <Muted>{t("Hand the password over as you would any other secret.")}</Muted>
    </FormCard>
  );
}

const usePersonChange = (username: string, body: Schemas["PatchedChangedPersonRequest"]) =>
  usePeopleChange(() =>
    answer(api.PATCH("/api/v1/people/{username}", { params: { path: { username } }, body })),
  );
