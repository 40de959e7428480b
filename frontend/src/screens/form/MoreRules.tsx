import { useState } from "react";

import { ChoiceField, TextField } from "../../ui/Field";
import { Columns, Stack } from "../../ui/Layout";
import { OptionFields } from "./OptionFields";
import { placeOf } from "./options";
import { PlanFlag, PlanNumber, type Part } from "./part";
import { t } from "../../words/language";

/** What most studies leave as it is. */
export function MoreRules(part: Part) {
  const [isOpen, setOpen] = useState(false);
  const options = part.method.options.filter((option) => placeOf(option) === "more").map(({ name }) => name);
  const hasProblem = [...FIELDS, ...options].some((field) => part.wrong(`plan.${field}`));
  return (
    <details open={isOpen || hasProblem} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("More rules")}</summary>
      <Stack>
        {!part.method.of_tables && <OfVariants {...part} />}
        <OptionFields {...part} place="more" />
        <Masking {...part} />
      </Stack>
    </details>
  );
}

const FIELDS = ["panel_mode", "chromosomes", "autosomes", "chunk_size", "masking", "ring_bits", "variance"];

function OfVariants(part: Part) {
  const { form, set, wrong } = part;
  return (
    <>
      <ChoiceField
        legend={t("Agreement on variants")}
        value={form.panelMode}
        options={[
          {
            value: "names",
            label: t("By the cohorts' own lists"),
            hint: t("Each sends its list of variants; the study is about those that all have."),
          },
          {
            value: "list",
            label: t("By a list that you upload"),
            hint: t("The cohorts' own lists stay with them. Upload it before you invite."),
          },
        ]}
        error={wrong("plan.panel_mode")}
        onChange={(panelMode) => set({ panelMode })}
      />
      <Columns>
        <TextField
          label={t("Chromosomes")}
          hint={t("As --chr, such as 1-4, 22, X. Empty for all.")}
          value={form.chromosomes}
          onChange={(chromosomes) => set({ chromosomes })}
          error={wrong("plan.chromosomes")}
          autoComplete="off"
        />
        <PlanNumber {...part} name="autosomes" label={t("Autosomes")} hint={t("22 for people.")} />
        <PlanNumber
          {...part}
          name="chunk_size"
          label={t("Variants in one question")}
          hint={t("0 chooses automatically.")}
        />
      </Columns>
      <Columns>
        <PlanFlag
          {...part}
          name="nonfounders"
          label="--nonfounders"
          hint={t("Count those with parents in the file.")}
        />
        <PlanFlag
          {...part}
          name="allow_no_sex"
          label="--allow-no-sex"
          hint={t("Keep those of unknown sex.")}
        />
      </Columns>
    </>
  );
}

function Masking(part: Part) {
  const { form, set, wrong } = part;
  return (
    <>
      <ChoiceField
        legend={t("Masks")}
        value={form.masking}
        options={[
          { value: "modular", label: t("Uniform"), hint: t("A masked number says nothing by itself.") },
          {
            value: "gaussian",
            label: t("Gaussian noise"),
            hint: t("For comparison with the literature: it hides less, and results are less exact."),
          },
        ]}
        error={wrong("plan.masking")}
        onChange={(masking) => set({ masking })}
      />
      <Columns>
        {form.masking === "modular" ? (
          <PlanNumber
            {...part}
            name="ring_bits"
            label={t("Bits of the ring")}
            hint={t("32, 64 or 128, at least.")}
          />
        ) : (
          <PlanNumber {...part} name="variance" label={t("Variance of the noise")} />
        )}
      </Columns>
    </>
  );
}
