/** Lists of things with a few fields each: covariates, and columns of tables. */
import { useId, type ChangeEvent } from "react";

import { Button } from "../../ui/Button";
import { CheckField, FieldGroup, SelectField, TextField } from "../../ui/Field";
import { Muted, Row, Stack } from "../../ui/Layout";
import { columnsFrom, type Column } from "./form";
import type { Covariate } from "./options";
import styles from "./Entries.module.css";

interface Rows<T> {
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
            name={row.name || `covariate ${index + 1}`}
            onRemove={() => onChange(rows.toSpliced(index, 1))}
          >
            <TextField
              label="Name in the cohorts' files"
              value={row.name}
              onChange={(name) => set({ name })}
              autoComplete="off"
            />
            <CheckField
              label="Categorical"
              checked={row.isCategorical}
              onChange={(isCategorical) => set({ isCategorical })}
            />
            {row.isCategorical && (
              <TextField
                label="Levels, the reference first"
                hint="Separated by commas."
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
          Add a covariate
        </Button>
      </Row>
    </FieldGroup>
  );
}

const TYPES = [
  ["number", "Number"],
  ["integer", "Whole number"],
  ["text", "Text: neither read nor changed"],
] as const;

export function ColumnRows({ rows, onChange, error }: Rows<Column>) {
  return (
    <FieldGroup legend="Columns of the cohorts' tables" error={error}>
      {rows.map((row, index) => {
        const set = (changes: Partial<Column>) => onChange(rows.with(index, { ...row, ...changes }));
        return (
          <Entry
            key={index}
            name={row.name || `column ${index + 1}`}
            onRemove={() => onChange(rows.toSpliced(index, 1))}
          >
            <TextField
              label="Name in the first line"
              value={row.name}
              onChange={(name) => set({ name })}
              autoComplete="off"
            />
            <SelectField label="Type" value={row.type} options={TYPES} onChange={(type) => set({ type })} />
            <TextField label="Unit" value={row.unit} onChange={(unit) => set({ unit })} autoComplete="off" />
          </Entry>
        );
      })}
      <Row>
        <Button onClick={() => onChange([...rows, { name: "", type: "number", unit: "" }])}>
          Add a column
        </Button>
        <FromFile onRead={onChange} />
      </Row>
    </FieldGroup>
  );
}

interface EntryProps {
  name: string;
  onRemove: () => void;
  children: React.ReactNode;
}

function Entry({ name, onRemove, children }: EntryProps) {
  return (
    <div className={styles.entry}>
      {children}
      <Button look="quiet" onClick={onRemove} aria-label={`Remove ${name}`}>
        Remove
      </Button>
    </div>
  );
}

/** Reads a file's columns here in the browser; nothing of it is sent. */
function FromFile({ onRead }: { onRead: (columns: Column[]) => void }) {
  const id = useId();
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const input = event.currentTarget;
    const [file] = input.files ?? [];
    if (file) onRead(columnsFrom(await file.slice(0, MOST).text()));
    input.value = "";
  };
  return (
    <Stack>
      <label htmlFor={id}>Or take them from a CSV file, whose first line names the columns:</label>
      <input id={id} type="file" accept=".csv,text/csv" onChange={read} />
      <Muted>They replace those above. The file stays on this computer.</Muted>
    </Stack>
  );
}

const MOST = 1 << 20; // bytes: more than any line of names
