import { useMutation, useQuery } from "@tanstack/react-query";

import { answer, api, type ApiError } from "../api/client";
import { provider } from "../api/queries";
import { useMe } from "../app/session";
import { Button } from "../ui/Button";
import { Refusal } from "../ui/Callout";
import { FormCard } from "../ui/FormCard";
import { Card, Muted } from "../ui/Layout";
import { t } from "../words/language";

/** Leaves for the organisation's own sign-in, which sends the browser back. */
function useProvider() {
  const { data } = useQuery(provider);
  const go = useMutation<unknown, ApiError>({
    mutationFn: async () => {
      const { url } = await answer(api.POST("/api/v1/session/provider"));
      window.location.assign(url);
    },
  });
  return { name: data?.name, error: go.error ?? data?.refusal ?? null, go };
}

/** The other way to sign in, where the platform has one. */
export function SignInWithProvider() {
  const { name, error, go } = useProvider();
  if (!name) return null;
  return (
    <>
      <Refusal error={error} />
      <Button busy={go.isPending} onClick={() => go.mutate(undefined)}>
        {t("Sign in with {{name}}", { name })}
      </Button>
    </>
  );
}

/** Connects one's account with the organisation's own sign-in. */
export function ConnectProvider() {
  const me = useMe();
  const { name, error, go } = useProvider();
  if (!name) return null;
  if (me.is_connected) {
    return (
      <Card>
        <Muted>{t("You can sign in with {{name}}.", { name })}</Muted>
      </Card>
    );
  }
  return (
    <FormCard
      title={t("Sign in with {{name}}", { name })}
      change={{ isPending: go.isPending, error }}
      label={t("Connect")}
      look="plain"
      onSubmit={() => go.mutate(undefined)}
    >
      <Muted>{t("Your account, its studies and its name stay as they are.")}</Muted>
    </FormCard>
  );
}
