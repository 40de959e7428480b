import { count } from "../words/format";
import styles from "./Progress.module.css";

interface Props {
  label: string;
  done: number;
  total: number;
}

/** A bar with its numbers beside it. */
export function Progress({ label, done, total }: Props) {
  return (
    <div className={styles.progress}>
      <span>{label}</span>
      <span className={styles.numbers}>
        {count(done)} of {count(total)}
      </span>
      <progress max={total || 1} value={done} aria-label={label} />
    </div>
  );
}
