/** Lists of things with a few fields each: covariates; columns of tables are in ColumnRows. */
import { Button } from "../../ui/Button";
import { CheckField, FieldGroup, TextField } from "../../ui/Field";
import { Row } from "../../ui/Layout";
import type { Covariate } from "./options";
import styles from "./Entries.module.css";
import { t } from "../../words/language";

export interface Rows<T> {
  rows: readonly T[];
  onChange: (rows: T[]) => void;
  error: string | undefined;
}

export function CovariateRows({ legend, rows, onChange, error }: Rows<Covariate> & { legend: string }) {
  return (
    <FieldGroup legend={legend} error={error}>
      {rows.map((row, index) => {
        const set = (changes: Partial<Covariate>) => onChange(rows.with(index, { ...row, ...changes }));
        return (
          <Entry
            key={index}
            name={row.name || t("covariate {{number}}", { number: index + 1 })}
            onRemove={() => onChange(rows.toSpliced(index, 1))}
          >
            <TextField
              label={t("Name in the cohorts' files")}
              value={row.name}
              onChange={(name) => set({ name })}
              autoComplete="off"
            />
            <CheckField
              label={t("Categorical")}
              checked={row.isCategorical}
              onChange={(isCategorical) => set({ isCategorical })}
            />
            {row.isCategorical && (
              <TextField
                label={t("Levels, the reference first")}
                hint={t("Separated by commas.")}
                value={row.levels}
                onChange={(levels) => set({ levels })}
                autoComplete="off"
              />
            )}
          </Entry>
        );
      })}
      <Row>
        <Button onClick={() => onChange([...rows, { name: "", isCategorical: false, levels: "" }])}>
          {t("Add a covariate")}
        </Button>
      </Row>
    </FieldGroup>
  );
}

interface EntryProps {
  name: string;
  onRemove: () => void;
  children: React.ReactNode;
}

export function Entry({ name, onRemove, children }: EntryProps) {
  return (
    <div className={styles.entry}>
      {children}
      <Button look="quiet" onClick={onRemove} aria-label={t("Remove {{name}}", { name })}>
        {t("Remove")}
      </Button>
    </div>
  );
}
