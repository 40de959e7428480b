import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../api/client";
import { leaving, parties, traffic } from "../../api/queries";
import { Facts, Muted, Section, Small, Stack } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Table, type Column } from "../../ui/Table";
import { bytes, count, duration } from "../../words/format";
import { phaseInWords } from "../../words/states";
import { MaskPicture } from "./MaskPicture";
import { matrix, type Cell, type PartyRow } from "./matrix";
import { useStudy } from "./StudyLayout";
import { declared, declaredPair, t } from "../../words/language";

type Traffic = Schemas["TrafficTable"];

/** What each party got and could read, how many bytes went, and how long each party worked. */
export function Privacy() {
  const study = useStudy();
  return (
    <>
      <MaskPicture study={study} />
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
    { title: t("Party"), cell: (row) => capital(declared(row.name)) },
    { title: t("Gets"), cell: (row) => declared(row.gets), isText: true },
    { title: t("Can read"), cell: (row) => declared(row.reads), isText: true },
    { title: t("Never gets"), cell: (row) => declared(row.never), isText: true },
    {
      title: t("Received so far"),
      cell: (row) => (row.bytes === null ? "–" : bytes(row.bytes)),
      isNumber: true,
    },
  ];
  return (
    <Section title={t("What each party gets")}>
      <Table caption={t("What each party gets")} columns={columns} rows={rows} rowKey={(row) => row.name} />
      <Muted>{t("The cohorts' bytes are for all of them together; below they are listed separately.")}</Muted>
    </Section>
  );
}

function Leaving({ rows }: { rows: readonly Schemas["Leaving"][] }) {
  const columns: Column<Schemas["Leaving"]>[] = [
    { title: t("Quantity"), cell: (row) => <Quantity what={row.what} /> },
    { title: t("Meaning"), cell: (row) => declared(row.detail), isText: true },
    { title: t("How much"), cell: (row) => declared(row.shape), isText: true },
    { title: t("Form"), cell: (row) => declared(row.form) },
    { title: t("Readable by"), cell: (row) => declared(row.readable_by), isText: true },
    { title: t("What it tells"), cell: (row) => declaredPair(row.learns, "; "), isText: true },
  ];
  return (
    <Section title={t("What leaves a cohort")}>
      <Muted>
        {t("From the protocol's own declarations: the same that every cohort sees before it accepts.")}
      </Muted>
      <Table caption={t("What leaves a cohort")} columns={columns} rows={rows} rowKey={(row) => row.what} />
    </Section>
  );
}

/** What a question is called, and small below it the array of it that is sent. */
function Quantity({ what }: { what: string }) {
  const [title, array] = what.split(": ");
  return (
    <>
      {declared(title)}
      {array && (
        <Small>
          <code>{array}</code>
        </Small>
      )}
    </>
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
    <Section title={t("Traffic")}>
      <Facts
        facts={[
          [t("Until the last sum, all parties"), bytes(found.total)],
          [t("Delivery of results"), bytes(found.delivery_of_results)],
          [t("Requests"), count(found.links.reduce((sum, link) => sum + link.requests, 0))],
        ]}
      />
      {found.links.length > 0 && (
        <>
          <Matrix title={t("Sent to the server")} cells={toServer} unit={bytes} />
          <Matrix title={t("Received from the server")} cells={fromServer} unit={bytes} />
          {contents.length > 0 && (
            <>
              <Matrix title={t("Bytes of messages, without their headers")} cells={contents} unit={count} />
              <Muted>
                {t("So each cohort's own ledger counts them: unpooled-client ledger verify --server")}
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
    <Section title={t("Running time")}>
      <Muted>{t("As measured at the server and the compensator, and as reported by each cohort.")}</Muted>
      <Facts facts={measured.map(([phase, value]) => [phaseInWords(phase), duration(value)] as const)} />
      {cells.length > 0 && <Matrix title={t("At the cohorts")} cells={cells} unit={duration} />}
      {found.comparisons.length > 0 && <Comparisons rows={found.comparisons} />}
    </Section>
  );
}

/** How long the turns between server and compensator took, where sums are compared. */
function Comparisons({ rows }: { rows: Traffic["comparisons"] }) {
  const title = t("Turns with the compensator");
  const columns: Column<Traffic["comparisons"][number]>[] = [
    { title: t("Step"), cell: (row) => declared(row.title), isText: true },
    { title: t("Rounds"), cell: (row) => count(row.rounds), isNumber: true },
    { title: t("Turns"), cell: (row) => count(row.turns), isNumber: true },
    { title: t("Slowest turn"), cell: (row) => duration(row.slowest), isNumber: true },
    { title: t("Together"), cell: (row) => duration(row.seconds), isNumber: true },
  ];
  return (
    <Stack>
      <h3>{title}</h3>
      <Table caption={title} columns={columns} rows={rows} rowKey={(row) => row.title} />
    </Stack>
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
    { title: t("Party"), cell: (row) => (row.party === "compensator" ? t("Compensator") : row.party) },
    ...phases.map((phase) => ({
      title: phaseInWords(phase),
      cell: (row: PartyRow) => (phase in row.values ? unit(row.values[phase] ?? 0) : "–"),
      isNumber: true,
    })),
    { title: t("Together"), cell: (row) => <strong>{unit(row.sum)}</strong>, isNumber: true },
  ];
  return (
    <Stack>
      <h3>{title}</h3>
      <Table caption={title} columns={columns} rows={rows} rowKey={(row) => row.party} />
    </Stack>
  );
}
