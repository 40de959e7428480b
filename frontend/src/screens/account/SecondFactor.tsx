import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type ApiError, type Schemas } from "../../api/client";
import { session } from "../../api/queries";
import { useMe } from "../../app/session";
import { TextField } from "../../ui/Field";
import { FormCard } from "../../ui/FormCard";
import { Muted } from "../../ui/Layout";
import { SecretDialog } from "../../ui/Secret";
import { t } from "../../words/language";

type Begun = Schemas["BegunFactor"];

const title = () => t("Second factor");

/** The codes of an authenticator app, with which one signs in besides the password. */
export function SecondFactor() {
  const me = useMe();
  const [begun, setBegun] = useState<Begun | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const done = (found: string[]) => {
    setBegun(null);
    setCodes(found);
  };
  return (
    <>
      {me.has_second_factor ? (
        <TurnOff />
      ) : begun ? (
        <Confirmed begun={begun} onDone={done} />
      ) : (
        <Begin onBegun={setBegun} />
      )}
      {codes.length > 0 && (
        <SecretDialog
          title={t("Codes for when the app is lost")}
          label={t("Codes")}
          secret={codes.join(" ")}
          onClose={() => setCodes([])}
        >
          {t("Each signs you in once, in place of the app's code. Keep them where the app is not.")}
        </SecretDialog>
      )}
    </>
  );
}

/** Changes the second factor; then reads anew whether there is one. */
function useFactor<Output>(act: () => Promise<Output>) {
  const client = useQueryClient();
  return useMutation<Output, ApiError>({
    mutationFn: act,
    onSuccess: () => client.invalidateQueries({ queryKey: session.queryKey }),
  });
}

function Begin({ onBegun }: { onBegun: (begun: Begun) => void }) {
  const begin = useFactor(() => answer(api.POST("/api/v1/account/second-factor")));
  const submit = () => begin.mutate(undefined, { onSuccess: onBegun });
  return (
    <FormCard title={title()} change={begin} label={t("Set up an app")} look="plain" onSubmit={submit}>
      <Muted>
        {t(
          "Besides your password you then type a code that an authenticator app shows, on your phone for example.",
        )}
      </Muted>
    </FormCard>
  );
}

function Confirmed({ begun, onDone }: { begun: Begun; onDone: (codes: string[]) => void }) {
  const [code, setCode] = useState("");
  const confirm = useFactor(() => answer(api.PUT("/api/v1/account/second-factor", { body: { code } })));
  const submit = () => confirm.mutate(undefined, { onSuccess: ({ codes }) => onDone(codes) });
  return (
    <FormCard title={title()} change={confirm} label={t("Turn on")} onSubmit={submit}>
      <p>
        {t("Let the app read this picture, or type the secret into it. Then type the code that it shows.")}
      </p>
      <Picture rows={begun.picture} />
      <p>
        <code>{begun.secret}</code>
      </p>
      <CodeField value={code} onChange={setCode} />
    </FormCard>
  );
}

function TurnOff() {
  const [code, setCode] = useState("");
  const off = useFactor(() => answer(api.POST("/api/v1/account/second-factor/off", { body: { code } })));
  return (
    <FormCard title={title()} change={off} label={t("Turn off")} look="danger" onSubmit={() => off.mutate()}>
      <Muted>{t("You sign in with your password and a code of your app.")}</Muted>
      <CodeField value={code} onChange={setCode} />
    </FormCard>
  );
}

interface Field {
  value: string;
  onChange: (code: string) => void;
}

export function CodeField(field: Field) {
  return <TextField label={t("Code of the app")} autoComplete="one-time-code" required {...field} />;
}

/** A QR code, black on white whatever the page's colours: cameras want that. */
function Picture({ rows }: { rows: string[] }) {
  const quiet = 4; // the margin that the standard asks for
  const side = rows.length + 2 * quiet;
  const squares = rows.flatMap((row, y) =>
    Array.from(row, (cell, x) => (cell === "1" ? `M${x + quiet} ${y + quiet}h1v1h-1z` : "")),
  );
  return (
    <svg viewBox={`0 0 ${side} ${side}`} width={200} role="img" aria-label={t("QR code of the secret")}>
      <rect width={side} height={side} fill="#fff" />
      <path d={squares.join("")} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
