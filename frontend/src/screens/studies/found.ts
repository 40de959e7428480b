/** Which studies are looked for, and in which order: read from the address, and written into it. */
import type { StudyRow, StudyState } from "../../api/client";
import { message, perLanguage } from "../../words/language";
import { STUDY } from "../../words/states";

/** What the list can be ordered by, the usual order first. */
export const ORDERS = {
  inbox: message("What needs you first"),
  newest: message("Newest first"),
  oldest: message("Oldest first"),
  active: message("Last activity"),
  name: message("Name"),
  state: message("State"),
} as const;

export type Order = keyof typeof ORDERS;

/** A state, or those that are in trouble or wait for the reader, whatever their state. */
export type Status = StudyState | "attention" | "yours";

export interface Wanted {
  search: string;
  status: Status | "";
  method: string;
  order: Order;
  isArchived: boolean;
}

const STATES = Object.keys(STUDY) as StudyState[];
const STATUSES: readonly Status[] = ["attention", "yours", ...STATES];

const among = <T extends string>(values: readonly T[], text: string | null): T | undefined =>
  values.find((value) => value === text);

/** What an address asks for; what it asks for and there is not is as usual. */
export const wantedOf = (address: URLSearchParams): Wanted => ({
  search: address.get("search") ?? "",
  status: among(STATUSES, address.get("state")) ?? "",
  method: address.get("method") ?? "",
  order: among(Object.keys(ORDERS) as Order[], address.get("sort")) ?? "inbox",
  isArchived: address.has("archived"),
});

/** The address that asks for this: what is as usual is not in it. */
export function addressOf({ search, status, method, order, isArchived }: Wanted): URLSearchParams {
  const said = { search, state: status, method, sort: order === "inbox" ? "" : order };
  const found = new URLSearchParams(Object.entries(said).filter(([, value]) => value));
  if (isArchived) found.set("archived", "");
  return found;
}

/** Whether something is looked for, rather than all. */
export const isNarrow = ({ search, status, method }: Wanted): boolean =>
  Boolean(search.trim() || status || method);

/** The studies that are wanted, in their order. */
export function found(rows: readonly StudyRow[], wanted: Wanted): StudyRow[] {
  const words = plain(wanted.search).split(/\s+/).filter(Boolean);
  const fits = (row: StudyRow) =>
    (!wanted.method || row.test === wanted.method) && hasStatus(row, wanted.status) && says(row, words);
  return rows.filter(fits).sort(COMPARED[wanted.order]);
}

/** How many studies each status has: those that none has are missing. */
export function statuses(rows: readonly StudyRow[]): [Status, number][] {
  const counted = STATUSES.map((status): [Status, number] => [
    status,
    rows.filter((row) => hasStatus(row, status)).length,
  ]);
  return counted.filter(([, many]) => many);
}

/** Whether it does not go on by itself: a cohort has stopped, or the study is paused. */
const needsAttention = (row: StudyRow): boolean => row.cohorts_stopped > 0 || row.state === "paused";

const hasStatus = (row: StudyRow, status: Status | ""): boolean => {
  if (status === "attention") return needsAttention(row);
  return status === "yours" ? row.asks_you !== "" : !status || row.state === status;
};

/** Whether every word is somewhere in what a reader knows of the study. */
function says(row: StudyRow, words: readonly string[]): boolean {
  if (!words.length) return true;
  const text = plain([row.name, row.description, row.phenotype, row.owner_name].join("\n"));
  return words.every((word) => text.includes(word));
}

/** Without capitals and accents: `Größe` is found by `grosse`, `São` by `sao`. */
const plain = (text: string): string =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("ß", "ss");

const later = (one: string, other: string): number => Date.parse(other) - Date.parse(one);
const newest = (one: StudyRow, other: StudyRow): number =>
  later(one.created_at ?? "", other.created_at ?? "");
const collator = perLanguage((locale) => new Intl.Collator(locale, { numeric: true, sensitivity: "base" }));

/** Places in the inbox, in their order. */
const PLACES = [
  message("Needs attention"),
  message("Waits for you"),
  message("Waits for cohorts"),
  message("Running"),
  message("Over"),
] as const;

/** What a study stands under in the inbox. */
export const placeInWords = (row: StudyRow): string => PLACES[place(row)]();

function place(row: StudyRow): 0 | 1 | 2 | 3 | 4 {
  if (needsAttention(row)) return 0;
  if (row.asks_you) return 1;
  if (row.state === "running") return 3;
  return ["done", "aborted", "failed"].includes(row.state) ? 4 : 2;
}

const COMPARED: Record<Order, (one: StudyRow, other: StudyRow) => number> = {
  inbox: (one, other) => place(one) - place(other) || newest(one, other),
  newest,
  oldest: (one, other) => newest(other, one),
  active: (one, other) => later(one.active_at, other.active_at),
  name: (one, other) => collator().compare(one.name, other.name) || newest(one, other),
  state: (one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state) || newest(one, other),
};
