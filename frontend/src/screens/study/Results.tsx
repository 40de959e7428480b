import { useQuery } from "@tanstack/react-query";

import type { Schemas, Study } from "../../api/client";
import { isOver, results } from "../../api/queries";
import { DownloadLink } from "../../ui/Button";
import { Callout } from "../../ui/Callout";
import { Card, Facts, Muted, Section, Unseen } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Table, type Column } from "../../ui/Table";
import { bytes, count } from "../../words/format";
import { Pictures } from "./results/Pictures";
import { Parameters, SummaryOfTable } from "./results/Tables";
import { useStudy } from "./StudyLayout";

/** What came out: numbers, pictures, loci, files. */
export function Results() {
  const study = useStudy();
  if (study.state !== "done") return <NotYet study={study} />;
  return (
    <>
      {study.summary && <Numbers summary={study.summary} />}
      {study.has_pictures && <Pictures study={study} />}
      <OfTables study={study} />
      <Files study={study} />
    </>
  );
}

function NotYet({ study }: { study: Study }) {
  if (isOver(study)) return <Muted>The study ended without results.</Muted>;
  return <Muted>The results will be here once the study is done.</Muted>;
}

/** Of a study of tables, what its files have. */
function OfTables({ study }: { study: Study }) {
  const { data: files = [] } = useQuery(results(study.id));
  const named = (end: string) => files.find(({ name }) => name.endsWith(end))?.name;
  const [parameters, summary] = [named(".parameters.json"), named(".summary.tsv")];
  return (
    <>
      {parameters && <Parameters study={study} file={parameters} />}
      {summary && <SummaryOfTable study={study} file={summary} />}
    </>
  );
}

function Numbers({ summary }: { summary: Schemas["Summary"] }) {
  const facts: [string, string][] = [
    ["People", count(summary.people)],
    ...known("Cases", summary.cases),
    ...known("Controls", summary.controls),
    ["Variants", count(summary.variants)],
    ["Genomic inflation λ", summary.genomic_inflation?.toFixed(4) ?? "not known"],
  ];
  return (
    <Card>
      <Section title="In numbers">
        <Facts facts={facts} />
      </Section>
    </Card>
  );
}

const known = (name: string, value: number | null): [string, string][] =>
  value === null ? [] : [[name, count(value)]];

function Files({ study }: { study: Study }) {
  const columns: Column<Schemas["Result"]>[] = [
    { title: "File", cell: (row) => row.name },
    { title: "Size", cell: (row) => bytes(row.size), isNumber: true },
    { title: "SHA-256", cell: (row) => <code title={row.sha256}>{row.sha256.slice(0, 16)}…</code> },
    {
      title: "Download",
      cell: (row) => (
        <DownloadLink href={`/api/v1/studies/${study.id}/results/${row.name}`}>
          Download<Unseen> {row.name}</Unseen>
        </DownloadLink>
      ),
    },
  ];
  return (
    <Section title="Files">
      <Loaded query={useQuery(results(study.id))}>
        {(rows) =>
          rows.length ? (
            <Table caption="Result files" columns={columns} rows={rows} rowKey={(row) => row.name} />
          ) : (
            <Callout tone="warning" title="The study is done, and has no files." />
          )
        }
      </Loaded>
    </Section>
  );
}
