/** Whether the server answers, as the last call found. */
import { useSyncExternalStore } from "react";

let away = false;
const listeners = new Set<() => void>();

export function setAway(value: boolean): void {
  if (away === value) return;
  away = value;
  listeners.forEach((listener) => listener());
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useAway = (): boolean => useSyncExternalStore(subscribe, () => away);
