import type { ReactNode } from "react";

import button from "./Button.module.css";
import styles from "./Menu.module.css";

/** Buttons that are seldom needed, behind one; it closes when the focus leaves it, by Escape and by a choice. */
export function Menu({ title, children }: { title: ReactNode; children: ReactNode }) {
  return (
    // The keys and clicks are those of the buttons in it.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <details
      className={styles.menu}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
      }}
      onKeyDown={({ currentTarget, key }) => {
        if (key !== "Escape") return;
        currentTarget.open = false;
        currentTarget.querySelector("summary")?.focus();
      }}
      onClick={({ currentTarget, target }) => {
        if (target instanceof Element && target.closest("button")) currentTarget.open = false;
      }}
    >
      <summary className={`${button.button} ${button.plain}`}>
        {title}
        <span aria-hidden="true">▾</span>
      </summary>
      <div className={styles.choices}>{children}</div>
    </details>
  );
}
