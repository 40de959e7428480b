import { useEffect, useRef } from "react";
import { NavLink, useLocation } from "react-router";

import styles from "./Tabs.module.css";

/** The pages of one thing, as links. */
export function Tabs({ label, pages }: { label: string; pages: readonly (readonly [string, string])[] }) {
  const nav = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    const { current } = nav;
    const tab = current?.querySelector<HTMLElement>("[aria-current]");
    // On a small screen they are a row that is wider than the page.
    if (current && tab) current.scrollLeft = tab.offsetLeft - (current.clientWidth - tab.offsetWidth) / 2;
  }, [pathname]);
  return (
    <nav ref={nav} aria-label={label} className={styles.tabs}>
      {pages.map(([to, title]) => (
        <NavLink key={to} to={to} className={styles.tab ?? ""}>
          {title}
        </NavLink>
      ))}
    </nav>
  );
}
