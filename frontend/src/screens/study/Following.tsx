import { useState } from "react";
import { Link } from "react-router";

import { useChange } from "../../api/changes";
import { answer, api, type Study } from "../../api/client";
import { of } from "../../api/queries";
import { Refusal } from "../../ui/Callout";
import { CheckField } from "../../ui/Field";
import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";

/** Whether one wants to be told what becomes of the study. */
export function Following({ study }: { study: Study }) {
  const change = useChange((isWanted: boolean) =>
    isWanted
      ? answer(api.PUT("/api/v1/studies/{study}/following", of(study.id)))
      : answer(api.DELETE("/api/v1/studies/{study}/following", of(study.id))),
  );
  const [wanted, setWanted] = useState<boolean>(); // until the server has said
  const tick = (isWanted: boolean) => {
    setWanted(isWanted);
    change.mutate(isWanted, { onSettled: () => setWanted(undefined) });
  };
  return (
    <>
      <CheckField
        label={t("Notify me about this study")}
        hint={
          <>
            <Rich
              text="At the addresses that you give under <a>Notifications</a>."
              parts={{ a: <Link to="/account/notifications" /> }}
            />
          </>
        }
        checked={wanted ?? study.is_followed}
        onChange={tick}
      />
      <Refusal error={change.error} />
    </>
  );
}
