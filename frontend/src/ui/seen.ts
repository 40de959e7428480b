/** What this person has been told already, until they sign out. */

const PREFIX = "unpooled-seen-";

export const hasSeen = (about: string): boolean => localStorage.getItem(PREFIX + about) !== null;

export const remember = (about: string): void => localStorage.setItem(PREFIX + about, "");

/** The next person at this browser is another. */
export function forgetSeen(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}
