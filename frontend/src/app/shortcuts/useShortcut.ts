import { useEffect } from "react";

import type { Deed } from "./declared";

const TAKEN = new Map<Deed, () => void>();

/** While this part of the page is there, it does what the shortcut is for. */
export function useShortcut(deed: Deed, act: () => void): void {
  useEffect(() => {
    TAKEN.set(deed, act);
    return () => {
      if (TAKEN.get(deed) === act) TAKEN.delete(deed);
    };
  }, [deed, act]);
}

/** Do it, if a part of the page is there for it; whether one is. */
export function done(deed: Deed): boolean {
  const act = TAKEN.get(deed);
  act?.();
  return act !== undefined;
}
