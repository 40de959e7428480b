import { useEffect, useState } from "react";

import { ago, moment } from "../words/format";
import { t } from "../words/language";

/** A moment, in the reader's time zone. */
export function Moment({ at }: { at: string }) {
  return <time dateTime={at}>{moment(at)}</time>;
}

/** How long ago something was; counts on by itself. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return t("never");
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, now)}
    </time>
  );
}

/** The time, every second anew. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
