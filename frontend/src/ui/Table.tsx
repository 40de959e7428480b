import { Fragment, type ReactNode } from "react";

import styles from "./Table.module.css";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the right, so that their digits align. */
  isNumber?: boolean;
  /** Sentences are given room, and are smaller. */
  isText?: boolean;
  /** Left out where a row is short. */
  isMinor?: boolean;
}

export interface TableProps<Row> {
  /** What the table is about; read to those who do not see it. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** What a row stands under, where rows are in groups. */
  groupOf?: ((row: Row) => string) | undefined;
  /** Of many rows: on small screens one says in two or three lines what it has. */
  isLong?: boolean;
  /** Of many columns: on small screens they stand below one another, each value beside its column's title. */
  isWide?: boolean;
}

const look = (column: { isNumber?: boolean; isText?: boolean; isMinor?: boolean }): string | undefined =>
  column.isNumber ? styles.number : column.isText ? styles.text : column.isMinor ? styles.minor : undefined;

/** A table whose first column names its rows. On small screens it scrolls by itself, by keyboard too. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, rowKey, groupOf, isLong = false, isWide = isLong } = props;
  const [first, ...rest] = columns;
  const group = (row?: Row) => row && groupOf?.(row);
  const wordy = isWide || columns.some((column) => column.isText) ? styles.wordy : "";
  return (
    // A region that scrolls must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={styles.frame} role="region" aria-label={caption} tabIndex={0}>
      <table className={`${styles.table} ${wordy} ${isLong ? styles.long : ""}`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" className={look(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <Fragment key={rowKey(row)}>
              {groupOf && group(rows[at - 1]) !== group(row) && (
                <tr className={styles.group}>
                  <th scope="rowgroup" colSpan={columns.length}>
                    {group(row)}
                  </th>
                </tr>
              )}
              <tr>
                <th scope="row">{first?.cell(row)}</th>
                {rest.map((column) => (
                  <td key={column.title} className={look(column)} data-title={column.title}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}
