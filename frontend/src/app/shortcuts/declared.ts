/**
 * Keyboard shortcuts: each declared once, with its keys, its words, and where it leads. What leads nowhere is done
 * by a part of the page that has taken it on (`useShortcut`). The sheet is made from the declarations.
 */
import { STUDY_PAGES } from "../../screens/study/pages";
import { message, type Message } from "../../words/language";

/** Where the reader is. */
export interface Here {
  path: string;
  mayCreate: boolean;
}

export interface Shortcut {
  /** Keys that are pressed one after the other, separated by blanks. */
  keys: string;
  words: Message;
  /** The address that it leads to, if it leads anywhere from here. */
  leads?: (here: Here) => string | null;
  /** What it does where it leads nowhere: some part of the page has taken it on. */
  does?: Deed;
}

/** What parts of pages can do at the press of a key. */
export type Deed = "sheet" | "search" | "previous" | "next" | "whole";

export interface Group {
  title: Message;
  shortcuts: readonly Shortcut[];
}

const to = (address: string) => (): string => address;

/** The pages of a study are numbered as they stand beside one another. */
const ofStudy = STUDY_PAGES.map(([page, title], index): Shortcut => ({
  keys: String(index + 1),
  words: title,
  leads: ({ path }) => {
    const study = /^\/studies\/(?!new$)[^/]+/.exec(path)?.[0];
    return study ? `${study}/${page}` : null;
  },
}));

export const GROUPS: readonly Group[] = [
  {
    title: message("Everywhere"),
    shortcuts: [
      { keys: "?", words: message("Show these shortcuts"), does: "sheet" },
      { keys: "/", words: message("Search, where the page has a search"), does: "search" },
      { keys: "g s", words: message("Studies"), leads: to("/") },
      { keys: "g h", words: message("Guide"), leads: to("/guide") },
      { keys: "g a", words: message("Your account"), leads: to("/account") },
      {
        keys: "n",
        words: message("New study"),
        leads: ({ mayCreate }) => (mayCreate ? "/studies/new" : null),
      },
    ],
  },
  { title: message("In a study"), shortcuts: ofStudy },
  {
    title: message("In results"),
    shortcuts: [
      // Not brackets: where they need AltGr, they look like a browser's own shortcut.
      { keys: "j", words: message("Next locus or variant"), does: "next" },
      { keys: "k", words: message("Previous one"), does: "previous" },
      { keys: "0", words: message("Whole genome"), does: "whole" },
    ],
  },
];

const ALL = GROUPS.flatMap(({ shortcuts }) => shortcuts);

/** The shortcut that these keys are; what of keys begins one; or neither. */
export function matched(pressed: readonly string[]): Shortcut | "begun" | null {
  const keys = pressed.join(" ");
  const whole = ALL.find((shortcut) => shortcut.keys === keys);
  return whole ?? (ALL.some((shortcut) => shortcut.keys.startsWith(`${keys} `)) ? "begun" : null);
}

/** The same after one more key: where that does not go on, it may begin anew. */
export function pressed(before: readonly string[], key: string): [readonly string[], Shortcut | null] {
  for (const keys of [[...before, key], [key]]) {
    const found = matched(keys);
    if (found === "begun") return [keys, null];
    if (found) return [[], found];
  }
  return [[], null];
}

type Key = Pick<
  KeyboardEvent,
  "ctrlKey" | "altKey" | "metaKey" | "repeat" | "isComposing" | "defaultPrevented"
>;

/** Whether a key is for the page: not for the browser, a screen reader, an input method, or a key that is held. */
export const isPlain = (event: Key): boolean =>
  !event.ctrlKey &&
  !event.altKey &&
  !event.metaKey &&
  !event.repeat &&
  !event.isComposing &&
  !event.defaultPrevented;

/** Whether somebody types, or chooses, there. */
export const isField = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('input, textarea, select, [contenteditable]:not([contenteditable="false"])') !== null;
