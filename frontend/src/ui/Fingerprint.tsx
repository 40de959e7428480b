import { useRef, useState } from "react";

import { copied } from "../words/clipboard";
import { Button } from "./Button";
import styles from "./Fingerprint.module.css";
import { Rich } from "./Rich";

interface Props {
  /** In groups of four, as the cohorts' programs show it. */
  children: string;
  /** What it is: "the fingerprint of the key of Graz". */
  name: string;
}

/** What people compare by telephone, with a button that copies it. */
export function Fingerprint({ children, name }: Props) {
  const shown = useRef<HTMLElement>(null);
  const [isCopied, setCopied] = useState(false);
  if (!children) return "–";
  const copy = async () => {
    const isDone = await copied(children);
    if (!isDone && shown.current) window.getSelection()?.selectAllChildren(shown.current); // for Ctrl-C
    setCopied(isDone);
  };
  return (
    <span className={styles.fingerprint}>
      <code ref={shown}>{children}</code>
      <Button look="quiet" onClick={copy}>
        {isCopied ? (
          <Rich text="Copied<unseen> {{name}}</unseen>" values={{ name }} />
        ) : (
          <Rich text="Copy<unseen> {{name}}</unseen>" values={{ name }} />
        )}
      </Button>
    </span>
  );
}
