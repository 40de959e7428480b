/** The results of a study of encodings: of each column of words its dictionary. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../../api/client";
import { resultText } from "../../../api/queries";
import { Card, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { count, fixed } from "../../../words/format";
import { measured } from "../../../words/genetics";
import { declared, plural, t } from "../../../words/language";
import { readEncoding, type Value, type Words } from "./tables";

const SHOWN = 50;

export function Encoding({ study, file }: { study: Study; file: string }) {
  return (
    <Loaded query={useQuery({ ...resultText(study.id, file), select: readEncoding })}>
      {(columns) => columns.map((column) => <Dictionary key={column.name} column={column} />)}
    </Loaded>
  );
}

function Dictionary({ column }: { column: Words }) {
  return (
    <Card>
      <Section title={`${column.name} (${column.encoding})`}>
        {column.note && <Muted>{declared(column.note)}</Muted>}
        {column.values.length ? (
          <Values column={column} />
        ) : (
          <Muted>{t("Nothing was asked for it: each cohort computes it from its own words.")}</Muted>
        )}
      </Section>
    </Card>
  );
}

function Values({ column: { name, values, known, folded } }: { column: Words }) {
  const rest = values.slice(-1);
  const shown = [...values.slice(0, -1).slice(0, SHOWN), ...rest];
  const columns: Column<Value>[] = [
    { title: t("Value"), cell: (row) => (row.isRest ? t("all others: the rest") : row.value) },
    { title: t("People"), cell: (row) => count(row.count), isNumber: true },
    {
      title: t("Share"),
      cell: (row) => (known ? `${fixed((100 * row.count) / known, 1)} %` : "–"),
      isNumber: true,
    },
  ];
  if (values.some(({ encoded }) => encoded !== null))
    columns.push({ title: t("Encoded"), cell: (row) => measured(row.encoded, 6), isNumber: true });
  return (
    <>
      <Table
        caption={t("Values of {{name}}", { name })}
        columns={columns}
        rows={shown}
        rowKey={(row) => (row.isRest ? "\0" : row.value)}
      />
      {values.length > shown.length && (
        <Muted>
          {t("The most frequent values are shown; the file has all {{values}}.", {
            values: count(values.length - 1),
          })}
        </Muted>
      )}
      {folded > 0 && (
        <Muted>
          {plural(
            folded,
            "{{n}} value of the plan has too few people, or too few cohorts, and counts as the rest.",
            "{{n}} values of the plan have too few people, or too few cohorts, and count as the rest.",
          )}
        </Muted>
      )}
    </>
  );
}
