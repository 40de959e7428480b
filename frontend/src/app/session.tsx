/**
 * Who is signed in. Without a session there is the sign-in; when a session ends under an open page, a dialog
 * asks for the password over it, and everything that was typed stays.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, lazy, Suspense, useContext, useState, type ReactNode } from "react";

import type { Person } from "../api/client";
import { firstRun, session } from "../api/queries";
import { forgetAll } from "../screens/form/kept";
import { SignIn, SignInForm } from "../screens/SignIn";
import { Dialog } from "../ui/Dialog";
import { Refusal } from "../ui/Callout";
import { t } from "../words/language";

const FirstRun = lazy(async () => ({ default: (await import("../screens/FirstRun")).FirstRun }));

const Me = createContext<Person | null>(null);

/** The person who is signed in. */
export function useMe(): Person {
  const me = useContext(Me);
  if (!me) throw new Error("useMe is for pages behind the sign-in");
  return me;
}

export function RequireSession({ children }: { children: ReactNode }) {
  const { data: me, error } = useQuery(session);
  const [known, setKnown] = useState<Person | null>(null);
  if (me && me !== known) setKnown(me);
  if (me === undefined) return <Refusal error={error} />;
  if (!known) return <Welcome />;
  return (
    <Me value={known}>
      {children}
      {me === null && <Expired known={known} />}
    </Me>
  );
}

function Welcome() {
  const { data, error } = useQuery(firstRun);
  if (error) return <Refusal error={error} />;
  if (!data) return null;
  return <Suspense>{data.needed ? <FirstRun /> : <SignIn />}</Suspense>;
}

function Expired({ known }: { known: Person }) {
  const client = useQueryClient();
  const onSignedIn = (me: Person) => {
    if (me.username === known.username) void client.invalidateQueries();
    else {
      forgetAll();
      window.location.reload();
    }
  };
  return (
    <Dialog title={t("Your session has ended")}>
      <p>{t("Sign in again to continue. What you have typed is still there.")}</p>
      <SignInForm username={known.username} onSignedIn={onSignedIn} />
    </Dialog>
  );
}
