import { Icon } from "./Icon";
import type { Said } from "../words/states";
import styles from "./Badge.module.css";
import tones from "./tones.module.css";

/** A state: icon and word, and a colour that only repeats them. */
export function Badge({ said }: { said: Said }) {
  return (
    <span className={`${styles.badge} ${tones[said.tone]}`}>
      <Icon name={said.icon} />
      {said.word}
    </span>
  );
}
