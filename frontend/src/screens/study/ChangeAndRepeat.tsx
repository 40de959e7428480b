import type { Study } from "../../api/client";
import { isRepeatable } from "../../api/queries";
import { ButtonLink } from "../../ui/Button";
import { t } from "../../words/language";

/** Of a study that has ended: the way to its repetition, or to where it is made. */
export function ChangeAndRepeat({ study }: { study: Study }) {
  if (study.repetition) {
    return <ButtonLink to={`/studies/${study.repetition.id}`}>{t("Open its repetition")}</ButtonLink>;
  }
  if (!isRepeatable(study)) return null;
  return (
    <ButtonLink look="primary" to={`/studies/${study.id}/repeat`}>
      {t("Change and repeat")}
    </ButtonLink>
  );
}
