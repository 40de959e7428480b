import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../api/client";
import { leaving, parties, traffic } from "../../api/queries";
import { Facts, Muted, Section, Stack } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Table, type Column } from "../../ui/Table";
import { bytes, count, duration } from "../../words/format";
import { PHASE } from "../../words/states";
import { matrix, type Cell, type PartyRow } from "./matrix";
import { useStudy } from "./StudyLayout";

type Traffic = Schemas["TrafficTable"];

/** What each party got and could read, how many bytes went, and how long each party worked. */
export function Privacy() {
  const study = useStudy();
  return (
    <>
      <Loaded query={useQuery(parties(study.id))}>{(rows) => <Parties rows={rows} />}</Loaded>
      <Loaded query={useQuery(leaving(study.id))}>{(rows) => <Leaving rows={rows} />}</Loaded>
      <Loaded query={useQuery(traffic(study.id))}>
        {(found) => (
          <>
            <Bytes found={found} />
            <Seconds found={found} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Parties({ rows }: { rows: readonly Schemas["Party"][] }) {
  const columns: Column<Schemas["Party"]>[] = [
    { title: "Party", cell: (row) => capital(row.name) },
    { title: "Gets", cell: (row) => row.gets, isText: true },
    { title: "Can read", cell: (row) => row.reads, isText: true },
    { title: "Never gets", cell: (row) => row.never, isText: true },
    {
      title: "Received so far",
      cell: (row) => (row.bytes === null ? "–" : bytes(row.bytes)),
      isNumber: true,
    },
  ];
  return (
    <Section title="What each party gets">
      <Table caption="What each party gets" columns={columns} rows={rows} rowKey={(row) => row.name} />
      <Muted>The cohorts' bytes are for all of them together; below they are listed separately.</Muted>
    </Section>
  );
}

function Leaving({ rows }: { rows: readonly Schemas["Leaving"][] }) {
  const columns: Column<Schemas["Leaving"]>[] = [
    { title: "Quantity", cell: (row) => row.what },
    { title: "Meaning", cell: (row) => row.detail, isText: true },
    { title: "How much", cell: (row) => row.shape, isText: true },
    { title: "Form", cell: (row) => row.form },
    { title: "Readable by", cell: (row) => row.readable_by, isText: true },
    { title: "What it tells", cell: (row) => row.learns, isText: true },
  ];
  return (
    <Section title="What leaves a cohort">
      <Muted>From the protocol's own declarations: the same that every cohort sees before it accepts.</Muted>
      <Table caption="What leaves a cohort" columns={columns} rows={rows} rowKey={(row) => row.what} />
    </Section>
  );
}

function Bytes({ found }: { found: Traffic }) {
  const toServer = found.links.map(({ party, phase, to_server }) => ({ party, phase, value: to_server }));
  const fromServer = found.links.map(({ party, phase, from_server }) => ({
    party,
    phase,
    value: from_server,
  }));
  const contents = found.links
    .filter(({ content }) => content > 0)
    .map(({ party, phase, content }) => ({ party, phase, value: content }));
  return (
    <Section title="Traffic">
      <Facts
        facts={[
          ["Until the last sum, all parties", bytes(found.total)],
          ["Delivery of results", bytes(found.delivery_of_results)],
          ["Requests", count(found.links.reduce((sum, link) => sum + link.requests, 0))],
        ]}
      />
      {found.links.length > 0 && (
        <>
          <Matrix title="Sent to the server" cells={toServer} unit={bytes} />
          <Matrix title="Received from the server" cells={fromServer} unit={bytes} />
          {contents.length > 0 && (
            <>
              <Matrix title="Bytes of messages, without their headers" cells={contents} unit={count} />
              <Muted>
                So each cohort&apos;s own ledger counts them: unpooled-client ledger verify --server
              </Muted>
            </>
          )}
        </>
      )}
    </Section>
  );
}

function Seconds({ found }: { found: Traffic }) {
  const { server = {}, compensator = {}, ...cohorts } = found.seconds;
  const cells = Object.entries(cohorts).flatMap(([party, phases]) =>
    Object.entries(phases).map(([phase, value]) => ({ party, phase, value })),
  );
  const measured = [...Object.entries(server), ...Object.entries(compensator)];
  if (!cells.length && !measured.length) return null;
  return (
    <Section title="Running time">
      <Muted>As measured at the server and the compensator, and as reported by each cohort.</Muted>
      <Facts facts={measured.map(([phase, value]) => [PHASE[phase] ?? phase, duration(value)] as const)} />
      {cells.length > 0 && <Matrix title="At the cohorts" cells={cells} unit={duration} />}
    </Section>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

interface MatrixProps {
  title: string;
  cells: readonly Cell[];
  unit: (value: number) => string;
}

/** A number for each party and phase, with the sum of each party's. */
function Matrix({ title, cells, unit }: MatrixProps) {
  const { phases, rows } = matrix(cells);
  const columns: Column<PartyRow>[] = [
    { title: "Party", cell: (row) => (row.party === "compensator" ? "Compensator" : row.party) },
    ...phases.map((phase) => ({
      title: PHASE[phase] ?? phase,
      cell: (row: PartyRow) => (phase in row.values ? unit(row.values[phase] ?? 0) : "–"),
      isNumber: true,
    })),
    { title: "Together", cell: (row) => <strong>{unit(row.sum)}</strong>, isNumber: true },
  ];
  return (
    <Stack>
      <h3>{title}</h3>
      <Table caption={title} columns={columns} rows={rows} rowKey={(row) => row.party} />
    </Stack>
  );
}
