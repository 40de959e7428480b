/** Covariates as chips, each with its type. */
import { useRef, useState } from "react";

import { Button } from "../../ui/Button";
import { FieldGroup, TextField } from "../../ui/Field";
import { words, type Covariate } from "./options";
import styles from "./Covariates.module.css";
import { t } from "../../words/language";

interface Props {
  legend: string;
  rows: readonly Covariate[];
  onChange: (rows: Covariate[]) => void;
  error: string | undefined;
}

export function Covariates({ legend, rows, onChange, error }: Props) {
  const [typed, setTyped] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const add = () => {
    const names = words(typed);
    if (names.length)
      onChange([...rows, ...names.map((name) => ({ name, isCategorical: false, levels: "" }))]);
    setTyped("");
  };
  const remove = (index: number) => {
    input.current?.focus(); // the button that was pressed goes away
    onChange(rows.toSpliced(index, 1));
  };
  return (
    <FieldGroup legend={legend} error={error}>
      {rows.length > 0 && (
        <ul className={styles.chips}>
          {rows.map((row, index) => (
            <Chip
              key={index}
              row={row}
              onChange={(row) => onChange(rows.with(index, row))}
              onRemove={() => remove(index)}
            />
          ))}
        </ul>
      )}
      <TextField
        ref={input}
        label={t("Name in the cohorts' files")}
        hint={t("Enter adds it; several at once with commas between them.")}
        value={typed}
        onChange={setTyped}
        onBlur={add}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !typed.trim()) return;
          event.preventDefault(); // else it would send the form
          add();
        }}
        autoComplete="off"
      />
    </FieldGroup>
  );
}

interface ChipProps {
  row: Covariate;
  onChange: (row: Covariate) => void;
  onRemove: () => void;
}

function Chip({ row, onChange, onRemove }: ChipProps) {
  const { name } = row;
  return (
    <li className={styles.chip}>
      <strong>{name}</strong>
      <select
        aria-label={t("Type of {{name}}", { name })}
        value={String(row.isCategorical)}
        onChange={(event) => onChange({ ...row, isCategorical: event.target.value === "true" })}
      >
        <option value="false">{t("Number")}</option>
        <option value="true">{t("Categorical")}</option>
      </select>
      {row.isCategorical && (
        <input
          aria-label={t("Levels of {{name}}, the reference first", { name })}
          placeholder={t("reference, other")}
          value={row.levels}
          onChange={(event) => onChange({ ...row, levels: event.target.value })}
          autoComplete="off"
        />
      )}
      <Button look="quiet" onClick={onRemove} aria-label={t("Remove {{name}}", { name })}>
        ×
      </Button>
    </li>
  );
}
