import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";

import { answer, api, type ApiError, type Person } from "../api/client";
import { session } from "../api/queries";
import { Button } from "../ui/Button";
import { Refusal } from "../ui/Callout";
import { TextField } from "../ui/Field";
import { PageTitle, Stack } from "../ui/Layout";
import { CodeField } from "./account/SecondFactor";
import { Door } from "./Door";
import { LanguageChoice } from "./LanguageChoice";
import { SignInWithPasskey } from "./Passkey";
import { SignInWithProvider } from "./Provider";
import { t } from "../words/language";

export function SignIn() {
  return (
    <Door>
      <PageTitle>{t("Sign in")}</PageTitle>
      <SignInForm />
      <LanguageChoice />
    </Door>
  );
}

interface Props {
  /** Of whom we know already. */
  username?: string;
  onSignedIn?: (me: Person) => void;
}

export function SignInForm({ username = "", onSignedIn }: Props) {
  const client = useQueryClient();
  const [name, setName] = useState(username);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [isCodeWanted, setCodeWanted] = useState(false);
  const done = (me: Person) => {
    client.setQueryData(session.queryKey, me);
    onSignedIn?.(me);
  };
  const signIn = useMutation<Person, ApiError>({
    mutationFn: () =>
      answer(api.POST("/api/v1/session", { body: { username: name, password, ...(code && { code }) } })),
    onError: (error) => setCodeWanted(isCodeWanted || error.code === "code-wanted"),
    onSuccess: done,
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Refusal error={signIn.error} />
        <TextField label={t("User name")} value={name} onChange={setName} autoComplete="username" required />
        <TextField
          label={t("Password")}
          type="password"
          value={password}
          onChange={setPassword}
          autoComplete="current-password"
          required
        />
        {isCodeWanted && <CodeField value={code} onChange={setCode} />}
        <Button type="submit" look="primary" busy={signIn.isPending}>
          {t("Sign in")}
        </Button>
        <SignInWithPasskey onSignedIn={done} />
        <SignInWithProvider />
      </Stack>
    </form>
  );
}
