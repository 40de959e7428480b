import { t } from "../words/language";
import styles from "./Progress.module.css";

interface Props {
  label: string;
  done: number;
  total: number;
  /** Beside the bar, instead of its numbers. */
  said?: string;
}

/** A bar with its numbers beside it. */
export function Progress({ label, done, total, said = t("{{done}} of {{total}}", { done, total }) }: Props) {
  return (
    <div className={styles.progress}>
      <span>{label}</span>
      <span className={styles.numbers}>{said}</span>
      <progress max={total || 1} value={done} aria-label={label} aria-valuetext={said} />
    </div>
  );
}
