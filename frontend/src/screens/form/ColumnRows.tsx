/** The columns of the cohorts' tables, each with its type, and of a category how its words become numbers. */
import { Button } from "../../ui/Button";
import { FieldGroup, SelectField, TextArea, TextField } from "../../ui/Field";
import { Muted, Row } from "../../ui/Layout";
import { plural, t } from "../../words/language";
import {
  columnsFrom,
  hasClasses,
  hasLimits,
  isByHash,
  isImage,
  levelsIn,
  newColumn,
  type Column,
  type Encoding,
  type Scaling,
} from "./columns";
import { FromFile } from "./FromFile";
import styles from "./ColumnRows.module.css";

const types = () =>
  [
    ["number", t("Number")],
    ["integer", t("Whole number")],
    ["category", t("Category: words to be encoded")],
    ["image", t("Image: names of files")],
    ["text", t("Text: neither read nor changed")],
  ] as const;

const roles = () =>
  [
    ["feature", t("Feature")],
    ["outcome", t("Outcome that a model predicts")],
    ["patient", t("Patient: whose row it is")],
    ["ignored", t("Ignored: neither read nor changed")],
  ] as const;

const encodings = () =>
  [
    ["one-hot", t("One-hot: a column of 0 and 1 for each value")],
    ["ordinal", t("Ordinal: the place of the value in the list")],
    ["frequency", t("Frequency: the share of the pool that has the value")],
    ["target", t("Target: the mean of another column")],
    ["hash", t("Hash: a few columns, without a list")],
    ["ngrams", t("N-grams: similar spellings lie near, without a list")],
  ] as const satisfies readonly (readonly [Encoding, string])[];

const scalings = () =>
  [
    ["", t("Mean 0, deviation 1")],
    ["robust", t("Robust: by the distance of the quartiles")],
    ["log", t("Logarithm: of values above 0")],
    ["log1p", t("Logarithm of 1 + value: of values above −1")],
    ["yeo-johnson", t("Yeo and Johnson's power: for skewed values")],
  ] as const satisfies readonly (readonly [Scaling, string])[];

interface Props {
  rows: readonly Column[];
  onChange: (rows: Column[]) => void;
  error: string | undefined;
}

export function ColumnRows({ rows, onChange, error }: Props) {
  return (
    <FieldGroup legend={t("Columns of the cohorts' tables")} error={error} isRequired>
      {rows.map((row, index) => (
        <ColumnEntry
          key={index}
          row={row}
          name={row.name || t("column {{number}}", { number: index + 1 })}
          onChange={(row) => onChange(rows.with(index, row))}
          onRemove={() => onChange(rows.toSpliced(index, 1))}
        />
      ))}
      <Row>
        <Button onClick={() => onChange([...rows, newColumn()])}>{t("Add a column")}</Button>
        <FromFile
          label={t("Or take them from a CSV file, whose first line names the columns:")}
          hint={t("They replace those above. The file stays on this computer.")}
          accept=".csv,text/csv"
          onRead={(text) => onChange(columnsFrom(text))}
        />
      </Row>
    </FieldGroup>
  );
}

interface EntryProps {
  row: Column;
  name: string;
  onChange: (row: Column) => void;
  onRemove: () => void;
}

function ColumnEntry({ row, name, onChange, onRemove }: EntryProps) {
  const set = (changes: Partial<Column>) => onChange({ ...row, ...changes });
  return (
    <div className={styles.entry}>
      <TextField
        label={t("Name in the first line")}
        value={row.name}
        onChange={(name) => set({ name })}
        autoComplete="off"
      />
      <SelectField label={t("Type")} value={row.type} options={types()} onChange={(type) => set({ type })} />
      <SelectField label={t("Role")} value={row.role} options={roles()} onChange={(role) => set({ role })} />
      {hasClasses(row) ? (
        <Levels
          hint={t("One on each line: the classes. A row with any other word is left out.")}
          levels={row.levels}
          onChange={(levels) => set({ levels })}
        />
      ) : row.type === "category" && row.role === "feature" ? (
        <Words row={row} set={set} />
      ) : isImage(row) ? (
        <TextField
          label={t("Channels, rows and columns")}
          hint={t("Such as 1x28x28: all images have this size; nothing resizes them.")}
          value={row.size}
          onChange={(size) => set({ size })}
          autoComplete="off"
        />
      ) : (
        <>
          <TextField
            label={t("Unit")}
            value={row.unit}
            onChange={(unit) => set({ unit })}
            autoComplete="off"
          />
          {hasLimits(row) && <Limits row={row} set={set} />}
          {hasLimits(row) && row.role === "feature" && (
            <SelectField
              label={t("Scaling in a model")}
              hint={t(
                "Found from all cohorts' values and kept in the model, which takes values as measured.",
              )}
              value={row.scaling}
              options={scalings()}
              onChange={(scaling) => set({ scaling })}
            />
          )}
        </>
      )}
      <Button look="quiet" onClick={onRemove} aria-label={t("Remove {{name}}", { name })}>
        {t("Remove")}
      </Button>
    </div>
  );
}

function Limits({ row, set }: { row: Column; set: (changes: Partial<Column>) => void }) {
  const about = { inputMode: "decimal", autoComplete: "off" } as const;
  return (
    <>
      <TextField
        label={t("Lowest possible value")}
        hint={t("May be empty. A client with a value beyond sends nothing and says where it stands.")}
        value={row.low}
        onChange={(low) => set({ low })}
        {...about}
      />
      <TextField
        label={t("Highest possible value")}
        value={row.high}
        onChange={(high) => set({ high })}
        {...about}
      />
    </>
  );
}

function Words({ row, set }: { row: Column; set: (changes: Partial<Column>) => void }) {
  return (
    <>
      <SelectField
        label={t("Encoding")}
        value={row.encoding}
        options={encodings()}
        onChange={(encoding) => set({ encoding, argument: "" })}
      />
      {row.encoding === "target" && (
        <TextField
          label={t("Column of the target, of numbers or 0 and 1")}
          value={row.argument}
          onChange={(argument) => set({ argument })}
          autoComplete="off"
        />
      )}
      {isByHash(row) ? (
        <TextField
          label={t("Number of columns, such as 64")}
          value={row.argument}
          onChange={(argument) => set({ argument })}
          inputMode="numeric"
          autoComplete="off"
        />
      ) : (
        <>
          <Levels
            hint={t("One on each line. Any other word counts as the rest; what follows a tab is a remark.")}
            levels={row.levels}
            onChange={(levels) => set({ levels })}
          />
          {!row.levels.trim() && (
            <div className={styles.whole}>
              <TextField
                label={t("Or how many different values a cohort has at most, such as 512")}
                hint={t(
                  "Where they are not known: words that enough people in enough cohorts have are looked for.",
                )}
                value={row.most}
                onChange={(most) => set({ most })}
                inputMode="numeric"
                autoComplete="off"
              />
            </div>
          )}
        </>
      )}
    </>
  );
}

interface LevelsProps {
  hint: string;
  levels: string;
  onChange: (levels: string) => void;
}

function Levels({ hint, levels, onChange }: LevelsProps) {
  const count = levelsIn(levels).length;
  return (
    <div className={styles.whole}>
      <TextArea label={t("Values")} hint={hint} value={levels} onChange={onChange} rows={4} />
      {count > 0 && <Muted>{plural(count, "{{n}} value", "{{n}} values")}</Muted>}
      <FromFile
        label={t("Or take them from a file, one value on each line:")}
        accept=".txt,.tsv,text/plain"
        onRead={onChange}
      />
    </div>
  );
}
