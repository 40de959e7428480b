import type { ReactNode } from "react";

import { ApiError } from "../api/client";
import { declared } from "../words/language";
import type { IconName, Tone } from "../words/states";
import { Icon } from "./Icon";
import styles from "./Callout.module.css";
import tones from "./tones.module.css";

const ICONS: Record<Tone, IconName> = {
  neutral: "half",
  info: "half",
  good: "check",
  warning: "alert",
  bad: "cross",
};

interface Props {
  tone: Tone;
  title?: string;
  children?: ReactNode;
  /** It appeared because of something the reader did: it is read out at once. */
  isNews?: boolean;
}

/** Something that the reader should know before going on. */
export function Callout({ tone, title, children, isNews = false }: Props) {
  return (
    <div className={`${styles.callout} ${tones[tone]}`} role={isNews ? "alert" : undefined}>
      <Icon name={ICONS[tone]} />
      <div>
        {title && <p className={styles.title}>{title}</p>}
        {children}
      </div>
    </div>
  );
}

/** What the server refused, with its remedy. Nothing if there is nothing, or if a dialog asks to sign in again. */
export function Refusal({ error }: { error: Error | null | undefined }) {
  if (!error || (error instanceof ApiError && error.isSignedOut)) return null;
  return (
    <Callout tone="bad" title={declared(error.message)} isNews>
      {error instanceof ApiError && declared(error.remedy)}
    </Callout>
  );
}
