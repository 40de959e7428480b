import styles from "./Flagged.module.css";

const FLAG = /^(.*) \((--[a-z-]+)\)$/;

/** A label; PLINK's flag in parentheses after it is small, for those who know it. */
export function Flagged({ label }: { label: string }) {
  const [, name, flag] = FLAG.exec(label) ?? [];
  if (!flag) return label;
  return (
    <>
      {name} <small className={styles.flag}>({flag})</small>
    </>
  );
}
