import { Link } from "react-router";

import { Icon } from "./Icon";
import type { Said } from "../words/states";
import styles from "./Badge.module.css";
import tones from "./tones.module.css";

interface Props {
  said: Said;
  /** Where it leads, if anywhere. */
  to?: string | undefined;
}

/** A state: icon and word, and a colour that only repeats them. */
export function Badge({ said, to }: Props) {
  const look = `${styles.badge} ${tones[said.tone]}`;
  const inner = (
    <>
      <Icon name={said.icon} />
      {said.word()}
    </>
  );
  return to ? (
    <Link className={`${look} ${styles.link}`} to={to}>
      {inner}
    </Link>
  ) : (
    <span className={look}>{inner}</span>
  );
}
