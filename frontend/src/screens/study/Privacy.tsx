import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../api/client";
import { leaving, traffic } from "../../api/queries";
import { Facts, Muted, Section } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Table, type Column } from "../../ui/Table";
import { bytes, count, duration } from "../../words/format";
import { PHASE } from "../../words/states";
import { useStudy } from "./StudyLayout";

type Traffic = Schemas["TrafficTable"];
type Link = Schemas["Link"];

/** What each party got and could read, how many bytes went, and how long each party worked. */
export function Privacy() {
  const study = useStudy();
  return (
    <>
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

function Leaving({ rows }: { rows: readonly Schemas["Leaving"][] }) {
  const columns: Column<Schemas["Leaving"]>[] = [
    { title: "Quantity", cell: (row) => row.what },
    { title: "Meaning", cell: (row) => row.detail },
    { title: "Form", cell: (row) => row.form },
    { title: "Readable by", cell: (row) => row.readable_by },
  ];
  return (
    <Section title="What leaves a cohort">
      <Muted>From the protocol's own declarations: the same that every cohort sees before it accepts.</Muted>
      <Table caption="What leaves a cohort" columns={columns} rows={rows} rowKey={(row) => row.what} />
    </Section>
  );
}

function Bytes({ found }: { found: Traffic }) {
  const columns: Column<Link>[] = [
    { title: "Party", cell: (row) => row.party },
    { title: "Phase", cell: (row) => PHASE[row.phase] ?? row.phase },
    { title: "To the server", cell: (row) => bytes(row.to_server), isNumber: true },
    { title: "From the server", cell: (row) => bytes(row.from_server), isNumber: true },
    { title: "Requests", cell: (row) => count(row.requests), isNumber: true },
  ];
  return (
    <Section title="Traffic">
      <Facts
        facts={[
          ["Until the last sum, all parties", bytes(found.total)],
          ["Delivery of results", bytes(found.delivery_of_results)],
        ]}
      />
      {found.links.length > 0 && (
        <Table
          caption="Bytes per party and phase"
          columns={columns}
          rows={found.links}
          rowKey={(row) => `${row.party} ${row.phase}`}
        />
      )}
    </Section>
  );
}

interface Work {
  party: string;
  phase: string;
  seconds: number;
}

function Seconds({ found }: { found: Traffic }) {
  const rows: Work[] = Object.entries(found.seconds).flatMap(([party, phases]) =>
    Object.entries(phases).map(([phase, seconds]) => ({ party, phase, seconds })),
  );
  const columns: Column<Work>[] = [
    { title: "Party", cell: (row) => row.party },
    { title: "Phase", cell: (row) => PHASE[row.phase] ?? row.phase },
    { title: "Time", cell: (row) => duration(row.seconds), isNumber: true },
  ];
  return (
    <Section title="Running time">
      <Muted>The server's and the compensator's as measured there, each cohort's as it says.</Muted>
      <Table
        caption="Running time per party and phase"
        columns={columns}
        rows={rows}
        rowKey={(row) => `${row.party} ${row.phase}`}
      />
    </Section>
  );
}
