import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { usePlatformChange } from "../api/changes";
import { answer, api, type Schemas } from "../api/client";
import { platform } from "../api/queries";
import { useMe } from "../app/session";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Callout, Refusal } from "../ui/Callout";
import { Facts, Muted, PageTitle, Section } from "../ui/Layout";
import { Loaded } from "../ui/Loading";
import { LongTable } from "../ui/LongTable";
import type { Column } from "../ui/Table";
import { Ago } from "../ui/Time";
import { bytes } from "../words/format";
import { message, t, type Message } from "../words/language";
import { STUDY } from "../words/states";

type Standing = Schemas["PlatformStanding"];
type Study = Schemas["StudyStanding"];
type Client = Schemas["ClientStanding"] & { study: Study };

/** What is wrong where a check fails, and what helps. */
const MISSING: Record<Schemas["PlatformCheck"], Message> = {
  database: message("The database does not answer, or belongs to another home folder."),
  store: message("The store of files does not answer: look at it, and at UNPOOLED_STORE."),
  migrations: message("The database's tables are not up to date: run “unpooled manage migrate”."),
  broker: message("Redis does not answer: look at it, and at UNPOOLED_BROKER_URL."),
  sweep: message("No worker has looked at the studies for a minute: start one."),
  disk: message("Less than a gibibyte of disk is free: make room."),
  compensator: message("The compensator does not answer: ask its operator."),
};

/** How the platform stands, for its administrators. */
export function Platform() {
  const isAdministrator = useMe().role === "administrator";
  return (
    <>
      <PageTitle beside={isAdministrator && <Sweep />}>{t("Platform")}</PageTitle>
      {isAdministrator ? (
        <Standing />
      ) : (
        <Callout tone="info" title={t("Only administrators see how the platform stands.")} />
      )}
    </>
  );
}

function Standing() {
  return (
    <Loaded query={useQuery(platform)}>
      {(found) => (
        <>
          <Checks found={found} />
          <Section title={t("Studies that are not over")}>
            <Studies rows={found.studies} />
          </Section>
          <Section title={t("Clients")}>
            <Clients
              rows={found.studies.flatMap((study) => study.clients.map((client) => ({ ...client, study })))}
            />
          </Section>
        </>
      )}
    </Loaded>
  );
}

function Sweep() {
  const sweep = usePlatformChange(() => answer(api.POST("/api/v1/platform/sweep")));
  return (
    <>
      <Button busy={sweep.isPending} onClick={() => sweep.mutate()}>
        {t("Look at all studies now")}
      </Button>
      <Refusal error={sweep.error} />
    </>
  );
}

function Checks({ found }: { found: Standing }) {
  const wrong = found.checks.filter((check) => !check.is_ok);
  return (
    <>
      {wrong.map(({ name }) => (
        <Callout key={name} tone="bad" title={MISSING[name]()} />
      ))}
      {wrong.length === 0 && <Callout tone="good" title={t("All that the platform needs is there.")} />}
      <Facts
        facts={[
          ...(found.workers ? [[t("Workers"), found.workers.join(", ") || "–"] as const] : []),
          [t("Last look at all studies"), <Ago key="swept" at={found.swept_at} />],
          [
            t("Disk"),
            t("{{free}} of {{total}} are free", {
              free: bytes(found.disk_free),
              total: bytes(found.disk_total),
            }),
          ],
        ]}
      />
    </>
  );
}

function StudyLink({ study: { id, name } }: { study: Study }) {
  return <Link to={`/studies/${id}`}>{name}</Link>;
}

function Studies({ rows }: { rows: readonly Study[] }) {
  const columns: Column<Study>[] = [
    { title: t("Study"), cell: (row) => <StudyLink study={row} /> },
    { title: t("Coordinator"), cell: (row) => row.owner },
    { title: t("State"), cell: (row) => <Badge said={STUDY[row.state]} />, isText: true },
    { title: t("Oldest round"), cell: (row) => <Oldest study={row} /> },
  ];
  if (rows.length === 0) return <Muted>{t("There are none.")}</Muted>;
  return (
    <LongTable
      caption={t("Studies that are not over")}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      isLong
    />
  );
}

function Oldest({ study }: { study: Study }) {
  if (!study.oldest_round) return "–";
  return (
    <>
      <Ago at={study.oldest_round} />
      {study.is_stuck && <Badge said={STUCK} />}
    </>
  );
}

const STUCK = { word: message("Stuck"), tone: "warning", icon: "alert" } as const;
const SILENT = { word: message("Silent"), tone: "warning", icon: "alert" } as const;

function Clients({ rows }: { rows: readonly Client[] }) {
  const columns: Column<Client>[] = [
    { title: t("Cohort"), cell: (row) => row.name },
    { title: t("Study"), cell: (row) => <StudyLink study={row.study} /> },
    { title: t("Release"), cell: (row) => row.release || "–" },
    {
      title: t("Last heard"),
      cell: (row) => (
        <>
          <Ago at={row.heard_at} /> {row.is_silent && <Badge said={SILENT} />}
        </>
      ),
    },
  ];
  if (rows.length === 0) return <Muted>{t("No cohort has joined one of these studies.")}</Muted>;
  return (
    <LongTable
      caption={t("Clients")}
      columns={columns}
      rows={rows}
      rowKey={(row) => `${row.study.id} ${row.name}`}
      isLong
    />
  );
}
