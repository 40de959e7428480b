import { useEffect, useRef, useState } from "react";

import { t } from "../words/language";
import { Button } from "./Button";
import styles from "./LongTable.module.css";
import { Table, type TableProps } from "./Table";

const MANY = 50;

/** A table of the first rows, and of as many more as somebody wants to see. */
export function LongTable<Row>({ rows, ...rest }: TableProps<Row>) {
  const [shown, setShown] = useState(MANY);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button may be gone: on from the first that is new.
    const name = list.current?.querySelectorAll("th[scope=row]")[shown - MANY];
    if (shown > MANY) name?.parentElement?.querySelector("a")?.focus();
  }, [shown]);
  const more = rows.length - shown;
  return (
    <div ref={list} className={styles.list}>
      <Table rows={rows.slice(0, shown)} {...rest} />
      {more > 0 && (
        <Button look="quiet" onClick={() => setShown(shown + MANY)}>
          {t("Show {{n}} more", { n: Math.min(more, MANY) })}
        </Button>
      )}
    </div>
  );
}
