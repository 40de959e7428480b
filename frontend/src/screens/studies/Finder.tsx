/** Search, filters and order of the list of studies, and how many they leave. */
import { useRef } from "react";

import type { Method, StudyRow } from "../../api/client";
import { useShortcut } from "../../app/shortcuts/useShortcut";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { SelectField, TextField } from "../../ui/Field";
import { count } from "../../words/format";
import { declared, plural, t } from "../../words/language";
import { STUDY, type Said } from "../../words/states";
import styles from "./Finder.module.css";
import { addressOf, isNarrow, ORDERS, statuses, type Order, type Status, type Wanted } from "./found";
import { useTyped } from "./useTyped";

interface Props {
  rows: readonly StudyRow[];
  /** How many of them are shown. */
  left: number;
  methods: readonly Method[];
  wanted: Wanted;
  onChange: (changes: Partial<Wanted>) => void;
}

export function Finder({ rows, left, methods, wanted, onChange }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useTyped(wanted.search, (search) => onChange({ search }));
  useShortcut("search", () => field.current?.focus());
  const showAll = () => {
    onChange({ search: "", status: "", method: "" });
    field.current?.focus(); // the button goes away
  };
  return (
    <search>
      <div className={styles.finder}>
        <div className={styles.search}>
          <TextField
            ref={field}
            type="search"
            label={t("Search")}
            placeholder={t("Name, description, trait or coordinator")}
            value={text}
            onChange={setText}
            autoComplete="off"
            spellCheck={false}
          />
        </div>
        <SelectField
          label={t("State")}
          value={wanted.status}
          options={statusOptions(rows, wanted)}
          onChange={(status) => onChange({ status })}
        />
        <SelectField
          label={t("Test or method")}
          value={wanted.method}
          options={methodOptions(rows, methods, wanted)}
          onChange={(method) => onChange({ method })}
        />
        <SelectField
          label={t("Order")}
          value={wanted.order}
          options={orderOptions()}
          onChange={(order) => onChange({ order })}
        />
      </div>
      <div className={styles.found}>
        <p role="status">{inWords(rows.length, left, wanted)}</p>
        {pills(rows).map(([status, said]) => (
          <Badge key={status} said={said} to={`?${addressOf({ ...wanted, status }).toString()}`} />
        ))}
        {isNarrow(wanted) && (
          <Button look="quiet" onClick={showAll}>
            {t("Show all")}
          </Button>
        )}
      </div>
    </search>
  );
}

const inWords = (all: number, left: number, wanted: Wanted): string => {
  if (!isNarrow(wanted)) return plural(all, "{{n}} study", "{{n}} studies");
  if (!left) return t("No study fits.");
  return plural(all, "{{left}} of {{n}} study", "{{left}} of {{n}} studies", { left });
};

/** What somebody has to do something about, said with how many studies there are. */
const PILLS: Partial<Record<Status, (many: number) => Said>> = {
  attention: (many) => ({
    word: () => plural(many, "{{n}} needs attention", "{{n}} need attention"),
    tone: "bad",
    icon: "alert",
  }),
  yours: (many) => ({
    word: () => plural(many, "{{n}} waits for you", "{{n}} wait for you"),
    tone: "info",
    icon: "waiting",
  }),
};

const pills = (rows: readonly StudyRow[]): [Status, Said][] =>
  statuses(rows).flatMap(([status, many]): [Status, Said][] => {
    const said = PILLS[status]?.(many);
    return said ? [[status, said]] : [];
  });

const orderOptions = () =>
  Object.entries(ORDERS).map(([order, called]) => [order, called()] as [Order, string]);

/** Those that some study has, and the one that is chosen. */
function statusOptions(rows: readonly StudyRow[], { status }: Wanted): [Status | "", string][] {
  const counted = statuses(rows);
  if (status && !counted.some(([each]) => each === status)) counted.push([status, 0]);
  return [
    ["", t("All")],
    ...counted.map(([each, many]): [Status, string] => [each, `${called(each)} (${count(many)})`]),
  ];
}

function called(status: Status): string {
  if (status === "attention") return t("Needs attention");
  return status === "yours" ? t("Waits for you") : STUDY[status].word();
}

function methodOptions(
  rows: readonly StudyRow[],
  methods: readonly Method[],
  { method }: Wanted,
): [string, string][] {
  const used = new Set([...rows.map(({ test }) => test), method].filter(Boolean));
  const titles = new Map(methods.map(({ name, title }) => [name, declared(title)]));
  return [["", t("All")], ...[...used].map((name): [string, string] => [name, titles.get(name) ?? name])];
}
