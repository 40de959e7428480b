import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";

import { answer, api, type ApiError, type Person } from "../api/client";
import { session } from "../api/queries";
import { Button } from "../ui/Button";
import { Refusal } from "../ui/Callout";
import { NewPasswordField, TextField } from "../ui/Field";
import { PageTitle, Stack } from "../ui/Layout";
import { Door } from "./Door";
import { Rich } from "../ui/Rich";
import { t } from "../words/language";

/** Creates the administrator. Only the address that `unpooled up` printed has the token, behind its #. */
export function FirstRun() {
  const token = window.location.hash.slice(1);
  return <Door>{token ? <FirstRunForm token={token} /> : <WithoutToken />}</Door>;
}

function WithoutToken() {
  return (
    <>
      <PageTitle>{t("First run")}</PageTitle>
      <p>
        {t("This platform has no administrator yet. Whoever started it becomes one, in one of two ways:")}
      </p>
      <ul>
        <li>
          <Rich text="open the address that <code>unpooled up</code> printed, or" />
        </li>
        <li>
          <Rich text="run <code>unpooled administrator NAME</code> where the platform runs, and sign in here." />
        </li>
      </ul>
    </>
  );
}

function FirstRunForm({ token }: { token: string }) {
  const client = useQueryClient();
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const create = useMutation<Person, ApiError>({
    mutationFn: () => answer(api.POST("/api/v1/first-run", { body: { token, username, password } })),
    onSuccess: (me) => client.setQueryData(session.queryKey, me),
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const wrong = create.error?.fields ?? {};
  return (
    <form onSubmit={submit}>
      <Stack>
        <PageTitle>{t("Create the administrator")}</PageTitle>
        <p>
          {t("You are the first one here. The administrator sees every study and makes the other accounts.")}
        </p>
        <Refusal error={create.error} />
        <TextField
          label={t("User name")}
          value={username}
          onChange={setUsername}
          error={wrong.username}
          autoComplete="username"
          required
        />
        <NewPasswordField
          label={t("Password")}
          value={password}
          onChange={setPassword}
          error={wrong.password}
        />
        <Button type="submit" look="primary" busy={create.isPending}>
          {t("Create the administrator")}
        </Button>
      </Stack>
    </form>
  );
}
