import { NavLink } from "react-router";

import styles from "./Tabs.module.css";

/** The pages of one thing, as links. */
export function Tabs({ label, pages }: { label: string; pages: readonly (readonly [string, string])[] }) {
  return (
    <nav aria-label={label} className={styles.tabs}>
      {pages.map(([to, title]) => (
        <NavLink key={to} to={to} className={styles.tab ?? ""}>
          {title}
        </NavLink>
      ))}
    </nav>
  );
}
