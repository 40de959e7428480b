import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../api/client";
import { log } from "../../api/queries";
import { Section } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Table, type Column } from "../../ui/Table";
import { Moment } from "../../ui/Time";
import { useStudy } from "./StudyLayout";

type Line = Schemas["LogLine"];

const COLUMNS: Column<Line & { number: number }>[] = [
  { title: "Time", cell: (line) => (line.time ? <Moment at={line.time} /> : "") },
  { title: "Who", cell: (line) => line.who },
  { title: "What", cell: (line) => line.what, isText: true },
];

/** What happened, the newest first. */
export function Log() {
  const study = useStudy();
  return (
    <Section title="Log">
      <Loaded query={useQuery(log(study.id))}>
        {(lines) => (
          <Table
            caption="Log, newest first"
            columns={COLUMNS}
            rows={lines.map((line, number) => ({ ...line, number })).reverse()}
            rowKey={(line) => String(line.number)}
          />
        )}
      </Loaded>
    </Section>
  );
}
