import { useEffect, useState } from "react";

const PAUSE = 200; // milliseconds

/**
 * A text that is kept elsewhere, such as in the address, and typed here: written there once the typing pauses.
 * What comes from there, as by the browser's Back, replaces what was typed.
 */
export function useTyped(kept: string, write: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(kept);
  const [seen, setSeen] = useState(kept);
  const [written, setWritten] = useState(kept);
  if (kept !== seen) {
    setSeen(kept);
    if (kept !== written) setText(kept);
    setWritten(kept);
  }
  useEffect(() => {
    if (text === written) return undefined;
    const timer = setTimeout(() => {
      setWritten(text);
      write(text);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [text, written, write]);
  return [text, setText];
}
