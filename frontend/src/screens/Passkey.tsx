import { useMutation } from "@tanstack/react-query";

import { answer, api, ApiError, type Person } from "../api/client";
import { Button } from "../ui/Button";
import { Refusal } from "../ui/Callout";
import { t } from "../words/language";

/** Whether this browser has passkeys at this address: over HTTPS, or at localhost, and for none that is a number. */
export const hasPasskeys = () =>
  "PublicKeyCredential" in window &&
  "parseRequestOptionsFromJSON" in PublicKeyCredential &&
  !/:|^[\d.]+$/.test(location.hostname);

/** What the device answers, for the server. */
export async function fromDevice(
  asked: Promise<Credential | null>,
  remedy: string,
): Promise<Record<string, unknown>> {
  const made = await asked.catch(() => null); // also when the person says no
  if (made instanceof PublicKeyCredential) return made.toJSON() as Record<string, unknown>;
  throw new ApiError(0, "no-passkey", t("The browser gave no passkey."), remedy);
}

/** The way to sign in without a password, where the browser has it. */
export function SignInWithPasskey({ onSignedIn }: { onSignedIn: (me: Person) => void }) {
  const signIn = useMutation<Person, ApiError>({
    mutationFn: async () => {
      const { options } = await answer(api.POST("/api/v1/session/passkey"));
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
        options as unknown as PublicKeyCredentialRequestOptionsJSON,
      );
      const credential = await fromDevice(
        navigator.credentials.get({ publicKey }),
        t("Try again, or sign in with your password. You add passkeys on your account's page."),
      );
      return answer(api.PUT("/api/v1/session/passkey", { body: { credential } }));
    },
    onSuccess: onSignedIn,
  });
  if (!hasPasskeys()) return null;
  return (
    <>
      <Refusal error={signIn.error} />
      <Button busy={signIn.isPending} onClick={() => signIn.mutate()}>
        {t("Sign in with a passkey")}
      </Button>
    </>
  );
}
