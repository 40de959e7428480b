import { declared, t } from "../words/language";
import { Callout } from "./Callout";

/** Why results are not those of the pooled data, wherever they or their study are shown; nothing if they are. */
export function NotPooled({ differs }: { differs: string }) {
  if (!differs) return null;
  return (
    <Callout tone="warning" title={t("Not the pooled result")}>
      {declared(differs)}
    </Callout>
  );
}
