import { answer, api, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { of } from "../../api/queries";
import { Callout } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { plural, t } from "../../words/language";

/** How the cohorts' lists of variants lie beside one another, where they do not fit together. */
export function OverlapCard({ study }: { study: Study }) {
  const accept = useChange(() => answer(api.POST("/api/v1/studies/{study}/overlap", of(study.id))));
  if (!study.lists_said.length) return null;
  const shared = study.lists_share;
  return (
    <Callout
      tone="warning"
      title={
        shared
          ? plural(
              shared,
              "The cohorts' lists share {{n}} variant.",
              "The cohorts' lists share {{n}} variants.",
            )
          : t("The cohorts' lists share no variants.")
      }
    >
      <ul>
        {study.lists_said.map((said) => (
          <li key={said}>{said}</li>
        ))}
      </ul>
      <p>
        {t(
          "The study waits. Who can act: the cohort whose files are not the right ones; it starts again with others. The other cohorts need do nothing.",
        )}
      </p>
      {shared > 0 && (
        <Confirm
          look="plain"
          label={plural(shared, "Go on with {{n}} variant", "Go on with {{n}} variants")}
          title={plural(shared, "Go on with {{n}} variant?", "Go on with {{n}} variants?")}
          change={accept}
        >
          <p>
            {t(
              "Variants that some cohort lacks are left out. This is right where cohorts used different arrays.",
            )}
          </p>
        </Confirm>
      )}
    </Callout>
  );
}
