import type { ReactNode } from "react";

import { Card } from "../ui/Layout";
import styles from "./Door.module.css";
import { t } from "../words/language";

/** The page of somebody who is not signed in: what this is, and one form. */
export function Door({ children }: { children: ReactNode }) {
  return (
    <main className={styles.door}>
      <p className={styles.brand}>
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="40" height="40" />
        Unpooled
      </p>
      <p className={styles.what}>{t("The result of a pooled study, without pooling the data.")}</p>
      <Card>{children}</Card>
    </main>
  );
}
