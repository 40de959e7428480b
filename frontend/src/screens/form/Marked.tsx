import type { ReactNode } from "react";

import { Icon } from "../../ui/Icon";
import { t } from "../../words/language";
import styles from "./Marked.module.css";

/** A field, and whether what stands in it comes from the template. */
export function Marked({ isMarked, children }: { isMarked: boolean; children: ReactNode }) {
  return (
    <div className={isMarked ? styles.marked : undefined}>
      {children}
      {isMarked && (
        <p className={styles.note}>
          <Icon name="check" /> {t("From the template")}
        </p>
      )}
    </div>
  );
}
