import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";

import { answer, api, type ApiError, type Person, type Schemas } from "../api/client";
import { people } from "../api/queries";
import { useMe } from "../app/session";
import { Button } from "../ui/Button";
import { Refusal } from "../ui/Callout";
import { Confirm } from "../ui/Confirm";
import { SelectField, TextField } from "../ui/Field";
import { Card, Columns, Muted, PageTitle, Section } from "../ui/Layout";
import { Loaded } from "../ui/Loading";
import { Table, type Column } from "../ui/Table";
import { ROLE } from "../words/states";

type Role = Schemas["Role"];

const ROLES = (["coordinator", "observer", "administrator"] as const).map(
  (role) => [role, `${ROLE[role].word}: ${ROLE[role].may}`] as const,
);

/** Accounts, for administrators. */
export function People() {
  const found = useQuery(people);
  return (
    <>
      <PageTitle>People</PageTitle>
      <Loaded query={found}>{(rows) => <Accounts rows={rows} />}</Loaded>
      <NewPerson />
    </>
  );
}

function Accounts({ rows }: { rows: readonly Person[] }) {
  const me = useMe();
  const columns: Column<Person>[] = [
    { title: "User name", cell: (row) => row.username },
    { title: "Role", cell: (row) => ROLE[row.role].word },
    {
      title: "Account",
      cell: (row) => (row.username === me.username ? "yours" : <CloseAccount username={row.username} />),
    },
  ];
  return <Table caption="Accounts" columns={columns} rows={rows} rowKey={(row) => row.username} />;
}

function CloseAccount({ username }: { username: string }) {
  const close = usePeopleChange(() =>
    answer(
      api.PATCH("/api/v1/people/{username}", { params: { path: { username } }, body: { active: false } }),
    ),
  );
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
            <TextField
              label="First password"
              type="password"
              hint="At least 10 characters; they change it under their name."
              value={password}
              onChange={setPassword}
              error={wrong.password}
              autoComplete="new-password"
              required
            />
          </Columns>
          <SelectField label="Role" value={role} options={ROLES} onChange={setRole} />
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

function usePeopleChange(act: () => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation<unknown, ApiError>({
    mutationFn: act,
    onSettled: () => client.invalidateQueries({ queryKey: people.queryKey }),
  });
}
