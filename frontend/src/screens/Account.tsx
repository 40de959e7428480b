import { useMutation } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";

import { answer, api, type ApiError } from "../api/client";
import { useMe } from "../app/session";
import { Button } from "../ui/Button";
import { Callout, Refusal } from "../ui/Callout";
import { NewPasswordField, TextField } from "../ui/Field";
import { Card, Columns, PageTitle, Section } from "../ui/Layout";
import { ROLE } from "../words/states";

export function Account() {
  const me = useMe();
  return (
    <>
      <PageTitle>{me.username}</PageTitle>
      <p>
        {ROLE[me.role].word}: {ROLE[me.role].may}.
      </p>
      <ChangePassword />
    </>
  );
}

function ChangePassword() {
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const change = useMutation<unknown, ApiError>({
    mutationFn: () => answer(api.POST("/api/v1/session/password", { body: { old, new: fresh } })),
    onSuccess: () => {
      setOld("");
      setFresh("");
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    change.mutate();
  };
  const wrong = change.error?.fields ?? {};
  return (
    <form onSubmit={submit}>
      <Card>
        <Section title="Change your password">
          <Refusal error={change.error} />
          {change.isSuccess && (
            <Callout tone="good" title="Your password is changed." isNews>
              Your sessions in other browsers have ended.
            </Callout>
          )}
          <Columns>
            <TextField
              label="Present password"
              type="password"
              autoComplete="current-password"
              value={old}
              onChange={setOld}
              error={wrong.old}
              required
            />
            <NewPasswordField label="New password" value={fresh} onChange={setFresh} error={wrong.new} />
          </Columns>
          <div>
            <Button type="submit" look="primary" busy={change.isPending}>
              Change password
            </Button>
          </div>
        </Section>
      </Card>
    </form>
  );
}
