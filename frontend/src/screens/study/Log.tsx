import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../api/client";
import { log } from "../../api/queries";
import { Section } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Table, type Column } from "../../ui/Table";
import { Moment } from "../../ui/Time";
import { useStudy } from "./StudyLayout";
import { declared, t } from "../../words/language";

type Line = Schemas["LogLine"];

const columns = (): Column<Line & { number: number }>[] => [
  { title: t("Time"), cell: (line) => (line.time ? <Moment at={line.time} /> : "") },
  { title: t("Who"), cell: (line) => (line.who === "platform" ? t("Platform") : line.who_name) },
  { title: t("What"), cell: (line) => declared(line.what), isText: true },
];

/** What happened, the newest first. */
export function Log() {
  const study = useStudy();
  return (
    <Section title={t("Log")}>
      <Loaded query={useQuery(log(study.id))}>
        {(lines) => (
          <Table
            caption={t("Log, newest first")}
            columns={columns()}
            rows={lines.map((line, number) => ({ ...line, number })).reverse()}
            rowKey={(line) => String(line.number)}
          />
        )}
      </Loaded>
    </Section>
  );
}
