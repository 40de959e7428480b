/** What is being typed, kept in this tab until sign-out: loading the page again, or an accident, loses nothing. */
import { useEffect, useState } from "react";

const PREFIX = "unpooled-kept-";

/** `name` says whose and what it is; `isSound` is asked whether what was kept can be used today. */
export function useKept<T extends object>(
  name: string,
  initial: () => T,
  isSound: (found: unknown) => found is T,
): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => {
    const found = kept(name);
    return isSound(found) ? found : initial();
  });
  useEffect(() => sessionStorage.setItem(PREFIX + name, JSON.stringify(value)), [name, value]);
  return [value, setValue];
}

export const forget = (name: string): void => sessionStorage.removeItem(PREFIX + name);

/** Forget everything: the next person at this browser is another. */
export function forgetAll(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}

function kept(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "null");
  } catch {
    return null;
  }
}
