/** What is being typed, kept in this tab: loading the page again, or an accident, loses nothing. */
import { useEffect, useState } from "react";

const key = (name: string): string => `unpooled-kept-${name}`;

export function useKept<T extends object>(name: string, initial: () => T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => kept(name, initial()));
  useEffect(() => sessionStorage.setItem(key(name), JSON.stringify(value)), [name, value]);
  return [value, setValue];
}

export const forget = (name: string): void => sessionStorage.removeItem(key(name));

/** What was kept, if it has the fields that it would have today. */
function kept<T extends object>(name: string, initial: T): T {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(key(name)) ?? "null");
    const fields = Object.keys(initial).join();
    return typeof found === "object" && found && Object.keys(found).join() === fields
      ? (found as T)
      : initial;
  } catch {
    return initial;
  }
}
