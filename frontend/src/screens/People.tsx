import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";
import { Link } from "react-router";

import { answer, api, type ApiError, type Person, type Schemas } from "../api/client";
import { people } from "../api/queries";
import { useMe } from "../app/session";
import { Button } from "../ui/Button";
import { Callout, Refusal } from "../ui/Callout";
import { Confirm } from "../ui/Confirm";
import { NewPasswordField, SelectField, TextField } from "../ui/Field";
import { Card, Columns, Muted, PageTitle, Row, Section } from "../ui/Layout";
import { Loaded } from "../ui/Loading";
import { Table, type Column } from "../ui/Table";
import { ROLE } from "../words/states";

type Role = Schemas["Role"];

const ROLES = (["coordinator", "observer", "administrator"] as const).map(
  (role) => [role, `${ROLE[role].word}: ${ROLE[role].may}`] as const,
);

/** Accounts, for administrators. */
export function People() {
  const isAdministrator = useMe().role === "administrator";
  return (
    <>
      <PageTitle>People</PageTitle>
      {isAdministrator ? (
        <>
          <Accounts />
          <NewPerson />
        </>
      ) : (
        <Callout tone="info" title="Administrators manage accounts.">
          Ask one of them for a new account, another role, or a password that you have forgotten.
        </Callout>
      )}
    </>
  );
}

function Accounts() {
  const me = useMe();
  const found = useQuery(people);
  const columns: Column<Person>[] = [
    { title: "User name", cell: (row) => row.username },
    { title: "Role", cell: (row) => ROLE[row.role].word },
    {
      title: "Account",
      cell: (row) =>
        row.username === me.username ? (
          <Link to="/account">Yours</Link>
        ) : (
          <Row>
            <ChangeRole person={row} />
            <ResetPassword username={row.username} />
            <CloseAccount username={row.username} />
          </Row>
        ),
    },
  ];
  return (
    <Loaded query={found}>
      {(rows) => <Table caption="Accounts" columns={columns} rows={rows} rowKey={(row) => row.username} />}
    </Loaded>
  );
}

function ChangeRole({ person: { username, role } }: { person: Person }) {
  const [chosen, setChosen] = useState<Role>(role);
  const change = usePersonChange(username, { role: chosen });
  return (
    <Confirm
      label="Change role"
      about={`of ${username}`}
      look="quiet"
      title={`Change the role of ${username}`}
      change={change}
    >
      <SelectField label="Role" value={chosen} options={ROLES} onChange={setChosen} />
      <Muted>It takes effect with their next click. Studies that they own stay theirs.</Muted>
    </Confirm>
  );
}

function ResetPassword({ username }: { username: string }) {
  const [password, setPassword] = useState("");
  const change = usePersonChange(username, { password });
  return (
    <Confirm
      label="Reset password"
      about={`of ${username}`}
      look="quiet"
      title={`Reset the password of ${username}`}
      change={change}
      onDone={() => setPassword("")}
    >
      <NewPasswordField
        label="New password"
        value={password}
        onChange={setPassword}
        error={change.error?.fields.password}
        isHandedOver
      />
      <Muted>Their sessions end. Hand the password over as you would any other secret.</Muted>
    </Confirm>
  );
}

function CloseAccount({ username }: { username: string }) {
  const close = usePersonChange(username, { active: false });
  return (
    <Confirm
      label="Close account"
      about={`of ${username}`}
      title={`Close the account of ${username}?`}
      change={close}
    >
      <p>{username} cannot sign in any more. Their studies stay, and an administrator can steer them.</p>
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
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    await create.mutateAsync().then(
      () => {
        setUsername("");
        setPassword("");
      },
      () => undefined, // the refusal is shown
    );
  };
  const wrong = create.error?.fields ?? {};
  return (
    <form onSubmit={submit}>
      <Card>
        <Section title="Create an account">
          <Refusal error={create.error} />
          <Columns>
            <TextField
              label="User name"
              value={username}
              onChange={setUsername}
              error={wrong.username}
              autoComplete="off"
              required
            />
            <NewPasswordField
              label="First password"
              value={password}
              onChange={setPassword}
              error={wrong.password}
              isHandedOver
            />
            <SelectField label="Role" value={role} options={ROLES} onChange={setRole} />
          </Columns>
          <Muted>Hand the password over as you would any other secret.</Muted>
          <div>
            <Button type="submit" look="primary" busy={create.isPending}>
              Create account
            </Button>
          </div>
        </Section>
      </Card>
    </form>
  );
}

const usePersonChange = (username: string, body: Schemas["PatchedChangedPersonRequest"]) =>
  usePeopleChange(() =>
    answer(api.PATCH("/api/v1/people/{username}", { params: { path: { username } }, body })),
  );

function usePeopleChange(act: () => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation<unknown, ApiError>({
    mutationFn: act,
    onSettled: () => client.invalidateQueries({ queryKey: people.queryKey }),
  });
}
