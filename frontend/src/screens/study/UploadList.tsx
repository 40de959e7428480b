import { useId, type ChangeEvent } from "react";

import { answer, api, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { of } from "../../api/queries";
import { Callout, Refusal } from "../../ui/Callout";
import { Card, Muted, Section } from "../../ui/Layout";
import { t } from "../../words/language";

/** Whether the plan goes by a list of variants that is not there yet: nobody can be invited before. */
export const lacksList = (study: Study): boolean => study.plan.panel_mode === "list" && !study.list_ready;

/** Takes the coordinator's list of variants, where the plan goes by one. */
export function UploadList({ study }: { study: Study }) {
  const id = useId();
  const upload = useChange((file: File) =>
    answer(
      api.PUT("/api/v1/studies/{study}/list", {
        ...of(study.id),
        body: file as unknown as string, // sent as it is
        bodySerializer: () => file,
        headers: { "Content-Type": "text/plain" },
      }),
    ),
  );
  if (study.plan.panel_mode !== "list") return null;
  const take = (event: ChangeEvent<HTMLInputElement>) => {
    const input = event.currentTarget;
    const [file] = input.files ?? [];
    if (file) upload.mutate(file);
    input.value = ""; // the same file, mended, can be chosen again
  };
  return (
    <Card>
      <Section title={t("List of variants")}>
        <Refusal error={upload.error} />
        {study.list_ready && (
          <Callout tone="good" title={t("The list has been uploaded.")} isNews={upload.isSuccess} />
        )}
        <label htmlFor={id}>
          {study.list_ready
            ? t("Replace it with another list: a .bim file, or the list of an earlier study")
            : t("The list that the study uses: a .bim file, or the list of an earlier study")}
        </label>
        <input id={id} type="file" disabled={upload.isPending} onChange={take} />
        {upload.isPending && <Muted>{t("Sending…")}</Muted>}
      </Section>
    </Card>
  );
}
