import { useId, useState } from "react";

import { useChange } from "../../api/changes";
import { Refusal } from "../../ui/Callout";
import { Small } from "../../ui/Layout";
import { Moment } from "../../ui/Time";
import styles from "./Compared.module.css";
import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";

interface Props {
  /** Whose fingerprint: "Graz". */
  of: string;
  by: string;
  at: string | null;
  mayChange: boolean;
  /** Tells the server that it was compared, or takes that back. */
  note: (isSame: boolean) => Promise<unknown>;
}

/** The tick that a fingerprint was compared by telephone, with who did, and when. */
export function Compared({ of, by, at, mayChange, note }: Props) {
  const id = useId();
  const change = useChange<boolean>(note);
  const [wanted, setWanted] = useState<boolean>(); // until the server has said
  const tick = (isSame: boolean) => {
    setWanted(isSame);
    change.mutate(isSame, { onSettled: () => setWanted(undefined) });
  };
  return (
    <div>
      {mayChange ? (
        <label htmlFor={id} className={styles.tick}>
          <input
            id={id}
            type="checkbox"
            checked={wanted ?? at !== null}
            disabled={wanted !== undefined}
            onChange={(event) => tick(event.target.checked)}
          />
          <Rich text="Compared by telephone<unseen> with {{of}}</unseen>" values={{ of }} />
        </label>
      ) : (
        <span>{at ? t("Compared by telephone") : t("Not compared yet")}</span>
      )}
      {at && (
        <Small>
          <Rich text="by {{by}}, <moment/>" parts={{ moment: <Moment at={at} /> }} values={{ by }} />
        </Small>
      )}
      <Refusal error={change.error} />
    </div>
  );
}
