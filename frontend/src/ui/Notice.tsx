import { useEffect, useState, type ReactNode } from "react";
import { useLocation } from "react-router";

import type { Said } from "../words/states";
import { Icon } from "./Icon";
import styles from "./Notice.module.css";
import { hasSeen, remember } from "./seen";
import tones from "./tones.module.css";

interface Props {
  /** What it is about, so that it is told once. */
  id: string;
  said: Said;
  title: string;
  children: ReactNode;
}

/** Something to know once: told in full on the first page, and from then on a chip that opens. */
export function Notice({ id, said, title, children }: Props) {
  const { pathname } = useLocation();
  const [first, setFirst] = useState(() => (hasSeen(id) ? null : pathname));
  const [opened, setOpened] = useState<string | null>(first);
  useEffect(() => remember(id), [id]);
  if (first !== null && first !== pathname) {
    setFirst(null);
    setOpened(null);
  }
  const isOpen = opened === pathname;
  return (
    <details
      className={`${styles.notice} ${tones[said.tone]}`}
      open={isOpen}
      onToggle={(event) => setOpened(event.currentTarget.open ? pathname : null)}
    >
      <summary>
        <Icon name={said.icon} />
        {isOpen ? title : said.word()}
      </summary>
      <p>{children}</p>
    </details>
  );
}
