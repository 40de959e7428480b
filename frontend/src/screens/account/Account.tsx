import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Outlet } from "react-router";

import { answer, api, type ApiError } from "../../api/client";
import { useMe } from "../../app/session";
import { Callout } from "../../ui/Callout";
import { NewPasswordField, TextField } from "../../ui/Field";
import { FormCard } from "../../ui/FormCard";
import { Card, Columns, Muted, PageTitle } from "../../ui/Layout";
import { Tabs } from "../../ui/Tabs";
import { shownName } from "../../words/people";
import { ROLE } from "../../words/states";
import { LanguageChoice } from "../LanguageChoice";
import { ConnectProvider } from "../Provider";
import { Passkeys } from "./Passkeys";
import { SecondFactor } from "./SecondFactor";
import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";

/** What is around the pages about oneself. */
export function AccountLayout() {
  const me = useMe();
  return (
    <>
      <PageTitle>{shownName(me)}</PageTitle>
      <Muted>
        <Rich
          text="{{role}}: {{may}}. You sign in as <strong>{{username}}</strong>."
          values={{ role: ROLE[me.role].word(), may: ROLE[me.role].may(), username: me.username }}
        />
      </Muted>
      <Tabs
        label={t("Pages of your account")}
        pages={[
          ["/account/profile", t("Name and password")],
          ["/account/notifications", t("Notifications")],
          ["/account/tokens", t("API tokens")],
        ]}
      />
      <Outlet />
    </>
  );
}

/** How one is called, and the password. */
export function Profile() {
  const me = useMe();
  return (
    <>
      <ChangeName />
      <ConnectProvider />
      {me.has_password && <ChangePassword />}
      {me.has_password && <SecondFactor />}
      {me.has_password && <Passkeys />}
      <Card>
        <LanguageChoice />
      </Card>
    </>
  );
}

function ChangeName() {
  const me = useMe();
  const client = useQueryClient();
  const [name, setName] = useState(me.display_name);
  const change = useMutation<unknown, ApiError>({
    mutationFn: () => answer(api.PATCH("/api/v1/session", { body: { display_name: name } })),
    onSuccess: () => client.invalidateQueries(),
  });
  const submit = () => change.mutate();
  return (
    <FormCard title={t("Your name")} change={change} label={t("Change name")} onSubmit={submit}>
      {change.isSuccess && <Callout tone="good" title={t("Your name is changed.")} isNews />}
      <TextField
        label={t("Display name")}
        hint={t("Shown instead of your user name. Leave it empty to be called by that.")}
        value={name}
        onChange={setName}
        error={change.error?.fields.display_name}
        autoComplete="name"
        maxLength={80}
      />
    </FormCard>
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
  const submit = () => change.mutate();
  const wrong = change.error?.fields ?? {};
  return (
    <FormCard
      title={t("Change your password")}
      change={change}
      label={t("Change password")}
      onSubmit={submit}
    >
      {change.isSuccess && (
        <Callout tone="good" title={t("Your password is changed.")} isNews>
          {t("Your sessions in other browsers have ended.")}
        </Callout>
      )}
      <Columns>
        <TextField
          label={t("Current password")}
          type="password"
          autoComplete="current-password"
          value={old}
          onChange={setOld}
          error={wrong.old}
          required
        />
        <NewPasswordField label={t("New password")} value={fresh} onChange={setFresh} error={wrong.new} />
      </Columns>
    </FormCard>
  );
}
