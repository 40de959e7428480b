/** Fields of forms. Each has a visible label, a hint where one helps, and says beside itself what is wrong. */
import {
  useId,
  useState,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
} from "react";

import styles from "./Field.module.css";
import { Flagged } from "./Flagged";
import { t } from "../words/language";

interface Around {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
}

interface Wired {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean;
}

/** Label, hint and error around any one control, which takes the given attributes. */
export function Field({ label, hint, error, children }: Around & { children: (wired: Wired) => ReactNode }) {
  const id = useId();
  const described = [hint ? `${id}-hint` : "", error ? `${id}-error` : ""].filter(Boolean).join(" ");
  return (
    <div className={styles.field} data-wrong={error}>
      <label htmlFor={id}>
        <Flagged label={label} />
      </label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": Boolean(error) })}
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className={styles.error}>
          {error}
        </p>
      )}
    </div>
  );
}

type Input = Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value">;

interface Text extends Around, Input {
  ref?: Ref<HTMLInputElement>;
  value: string;
  onChange: (value: string) => void;
}

export function TextField({ label, hint, error, value, onChange, ...rest }: Text) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => (
        <input
          className={styles.control}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          {...wired}
          {...rest}
        />
      )}
    </Field>
  );
}

/** A password that somebody makes up, for themselves or for whom they hand it to. */
export function NewPasswordField({ isHandedOver = false, ...rest }: Text & { isHandedOver?: boolean }) {
  const hint = isHandedOver
    ? t("At least 10 characters; they change it under their name.")
    : t("At least 10 characters.");
  return <TextField type="password" autoComplete="new-password" hint={hint} required {...rest} />;
}

/** A number as it is typed; empty for none. */
export function NumberField(props: Text) {
  return <TextField inputMode="decimal" autoComplete="off" size={12} {...props} />;
}

export function TextArea({
  label,
  hint,
  error,
  value,
  onChange,
  rows = 3,
  required,
}: Text & { rows?: number }) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => (
        <textarea
          className={styles.control}
          rows={rows}
          required={required}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          {...wired}
        />
      )}
    </Field>
  );
}

interface Select<T extends string> extends Around, Omit<SelectHTMLAttributes<HTMLSelectElement>, "onChange"> {
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}

export function SelectField<T extends string>({
  label,
  hint,
  error,
  value,
  options,
  onChange,
  ...rest
}: Select<T>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => (
        <select
          className={styles.control}
          value={value}
          onChange={(event) => onChange(event.target.value as T)}
          {...wired}
          {...rest}
        >
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface Check {
  label: string;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

export function CheckField({ label, hint, checked, onChange }: Check) {
  const id = useId();
  return (
    <div className={styles.check}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>
        <Flagged label={label} />
      </label>
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface Limit extends Around {
  value: string;
  /** The value that limits nothing. */
  off: string;
  /** What stands there when it is switched on. */
  start: string;
  onChange: (value: string) => void;
}

/** A limit that is off, or a number. */
export function LimitField({ label, hint, error, value, off, start, onChange }: Limit) {
  const id = useId();
  const [isHeld, hold] = useState(false); // or a 0 that is typed on the way to 0.05 would switch it off
  const isOn = isHeld || value !== off;
  const turn = (on: boolean) => {
    hold(on);
    onChange(on ? start : off);
  };
  return (
    <div className={styles.limit} data-wrong={error}>
      <CheckField label={label} hint={isOn && hint} checked={isOn} onChange={turn} />
      {isOn && (
        <input
          className={styles.control}
          inputMode="decimal"
          autoComplete="off"
          aria-label={t("Limit: {{label}}", { label })}
          aria-describedby={error ? id : undefined}
          aria-invalid={Boolean(error)}
          value={value}
          onFocus={() => hold(true)}
          onBlur={() => hold(false)}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {error && (
        <p id={id} className={styles.error}>
          {error}
        </p>
      )}
    </div>
  );
}

interface Group {
  legend: string;
  isRequired?: boolean;
  error?: string | undefined;
  children: ReactNode;
}

/** Fields that belong together under one legend. */
export function FieldGroup({ legend, isRequired = false, error, children }: Group) {
  const id = useId();
  return (
    <fieldset
      className={isRequired ? `${styles.choices} ${styles.required}` : styles.choices}
      aria-describedby={error ? `${id}-error` : undefined}
      data-wrong={error}
    >
      <legend>
        <Flagged label={legend} />
      </legend>
      {children}
      {error && (
        <p id={`${id}-error`} className={styles.error}>
          {error}
        </p>
      )}
    </fieldset>
  );
}

interface Choices<T extends string> {
  legend: string;
  value: T;
  options: readonly { value: T; label: string; hint?: string }[];
  /** Side by side where there is room. */
  isWide?: boolean;
  error?: string | undefined;
  onChange: (value: T) => void;
}

/** One of a few, all in sight. */
export function ChoiceField<T extends string>({
  legend,
  value,
  options,
  isWide = false,
  error,
  onChange,
}: Choices<T>) {
  const id = useId();
  return (
    <FieldGroup legend={legend} error={error}>
      <div className={isWide ? styles.wide : styles.choices}>
        {options.map((option) => (
          <div key={option.value} className={styles.check}>
            <input
              id={`${id}-${option.value}`}
              type="radio"
              name={id}
              checked={value === option.value}
              aria-describedby={option.hint ? `${id}-${option.value}-hint` : undefined}
              onChange={() => onChange(option.value)}
            />
            <label htmlFor={`${id}-${option.value}`}>{option.label}</label>
            {option.hint && (
              <p id={`${id}-${option.value}-hint`} className={styles.hint}>
                {option.hint}
              </p>
            )}
          </div>
        ))}
      </div>
    </FieldGroup>
  );
}
