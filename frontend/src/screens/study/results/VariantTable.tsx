/** Rows of variants with all their numbers. One row is in the tab order; arrow keys lead to the others. */
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";

import { Unseen } from "../../../ui/Layout";
import { GeneNearby } from "./GeneNearby";
import table from "../../../ui/Table.module.css";
import { count } from "../../../words/format";
import { limits, measured, megabases, place, pValue } from "../../../words/genetics";
import styles from "./Loci.module.css";
import { ordered, rowAfter, type Key, type Order, type Variant } from "./rows";
import { t } from "../../../words/language";

interface Column {
  title: string;
  key?: Key;
  cell: (row: Variant) => ReactNode;
  isNumber?: boolean;
}

interface Props {
  rows: readonly Variant[];
  effect: string;
  confidence: number;
  order: Order | null;
  /** Null where only the server knows the order. */
  onOrder: ((order: Order | null) => void) | null;
  wanted: Variant | null;
  onLook: (row: Variant) => void;
}

export function VariantTable({ rows, effect, confidence, order, onOrder, wanted, onLook }: Props) {
  const [current, setCurrent] = useState(0);
  const body = useRef<HTMLTableSectionElement>(null);
  const columns = columnsOf(effect, confidence);
  const active = Math.min(current, rows.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = rowAfter(event.key, active, rows.length);
    if (next === null) return;
    event.preventDefault();
    setCurrent(next);
    body.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    // A region that scrolls must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={table.frame} role="region" aria-label={t("Loci and variants")} tabIndex={0}>
      <table className={`${table.table} ${styles.table}`}>
        <caption className="visually-hidden">
          {t("Loci and variants. Arrow keys move between the rows.")}
        </caption>
        <thead>
          <tr>
            <th scope="col">
              <Sort title={t("Variant")} by="id" order={order} onOrder={onOrder} />
            </th>
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                className={column.isNumber ? table.number : undefined}
                aria-sort={sortOf(column.key, order)}
              >
                {column.key ? (
                  <Sort title={column.title} by={column.key} order={order} onOrder={onOrder} />
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        {/* The keys move between the buttons in it, which are what is pressed. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
        <tbody ref={body} onKeyDown={onKeyDown}>
          {rows.map((row, number) => (
            // A click beside the button is meant for it, too.
            <tr
              key={row.index}
              className={styles.row}
              data-wanted={row.index === wanted?.index}
              onClick={() => {
                setCurrent(number);
                onLook(row);
              }}
            >
              <th scope="row">
                <button
                  type="button"
                  className={styles.go}
                  tabIndex={number === active ? 0 : -1}
                  onFocus={() => setCurrent(number)}
                >
                  {row.id || t("(no ID)")}
                </button>
                {row.lead && (
                  <span className={styles.lead}>
                    {" "}
                    <span aria-hidden="true">◆</span>
                    <Unseen>{t("leads its locus")}</Unseen>
                  </span>
                )}
              </th>
              {columns.map((column) => (
                <td key={column.title} className={column.isNumber ? table.number : undefined}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function columnsOf(effect: string, confidence: number): Column[] {
  return [
    { title: t("Place"), key: "place", cell: (row) => place(row.chromosome, row.position) },
    { title: "A1 / A2", cell: (row) => `${row.a1} / ${row.a2}` },
    { title: t("A1 frequency"), key: "a1_freq", cell: (row) => measured(row.a1_freq), isNumber: true },
    {
      title: t("{{effect}} ({{percent}} % limits)", { effect, percent: confidence * 100 }),
      key: "effect",
      cell: (row) => `${measured(row.effect)} (${limits(row)})`,
      isNumber: true,
    },
    { title: t("SE"), key: "se", cell: (row) => measured(row.se), isNumber: true },
    {
      title: "P",
      key: "p",
      cell: (row) => <span title={row.p ?? undefined}>{pValue(row.neg_log10_p)}</span>,
      isNumber: true,
    },
    { title: "−log₁₀ P", cell: (row) => measured(row.neg_log10_p), isNumber: true },
    { title: t("Gene"), cell: GeneNearby },
    {
      title: t("Locus"),
      cell: (row) => (row.locus ? megabases(row.locus.start, row.locus.end) : t("no locus")),
    },
    {
      title: t("Variants"),
      key: "variants",
      cell: (row) => (row.locus ? count(row.locus.variants) : ""),
      isNumber: true,
    },
  ];
}

const sortOf = (key: Key | undefined, order: Order | null) =>
  key && order?.key === key ? (order.isDown ? "descending" : "ascending") : undefined;

interface SortProps {
  title: string;
  by: Key;
  order: Order | null;
  onOrder: Props["onOrder"];
}

function Sort({ title, by, order, onOrder }: SortProps) {
  if (!onOrder) return title;
  const sign = order?.key === by ? (order.isDown ? "↓" : "↑") : "↕";
  return (
    <button type="button" className={styles.sort} onClick={() => onOrder(ordered(order, by))}>
      {title}
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}
