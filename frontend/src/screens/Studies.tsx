import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import type { StudyRow } from "../api/client";
import { methods, studies } from "../api/queries";
import { useMe } from "../app/session";
import { Badge } from "../ui/Badge";
import { Button, ButtonLink } from "../ui/Button";
import { Card, Muted, PageTitle, Row, Small } from "../ui/Layout";
import { Loaded } from "../ui/Loading";
import { LongTable } from "../ui/LongTable";
import type { Column } from "../ui/Table";
import { Ago } from "../ui/Time";
import { DEMO, STUDY, type Said } from "../words/states";
import { Finder } from "./studies/Finder";
import { addressOf, found, isNarrow, placeInWords, wantedOf, type Wanted } from "./studies/found";
import { TryDemo } from "./TryDemo";
import { declared, declaredPair, plural, t } from "../words/language";

export function Studies() {
  const [address, setAddress] = useSearchParams();
  const wanted = wantedOf(address);
  const change = (changes: Partial<Wanted>) =>
    // Each letter that is typed is no step of the browser's Back.
    setAddress(addressOf({ ...wanted, ...changes }), {
      replace: "search" in changes,
      preventScrollReset: true,
    });
  const query = useQuery(studies(wanted.isArchived));
  const mayCreate = useMe().role !== "observer";
  return (
    <>
      <PageTitle
        beside={
          <Row>
            <Button look="quiet" onClick={() => change({ isArchived: !wanted.isArchived })}>
              {wanted.isArchived ? t("Back to current studies") : t("Archived studies")}
            </Button>
            {mayCreate && (
              <ButtonLink look="primary" to="/studies/new">
                {t("New study")}
              </ButtonLink>
            )}
          </Row>
        }
      >
        {wanted.isArchived ? t("Archived studies") : t("Studies")}
      </PageTitle>
      <Loaded query={query}>
        {(rows) =>
          rows.length ? (
            <Found rows={rows} wanted={wanted} onChange={change} />
          ) : (
            <Empty archived={wanted.isArchived} mayCreate={mayCreate} />
          )
        }
      </Loaded>
    </>
  );
}

interface FoundProps {
  rows: readonly StudyRow[];
  wanted: Wanted;
  onChange: (changes: Partial<Wanted>) => void;
}

function Found({ rows, wanted, onChange }: FoundProps) {
  const { data: known = [] } = useQuery(methods);
  const left = found(rows, wanted);
  return (
    <>
      {(rows.length > 1 || isNarrow(wanted)) && (
        <Finder rows={rows} left={left.length} methods={known} wanted={wanted} onChange={onChange} />
      )}
      {left.length > 0 && (
        <List key={addressOf(wanted).toString()} rows={left} isInbox={wanted.order === "inbox"} />
      )}
    </>
  );
}

function List({ rows, isInbox }: { rows: readonly StudyRow[]; isInbox: boolean }) {
  const { data: known = [] } = useQuery(methods);
  const columns: Column<StudyRow>[] = [
    { title: t("Name"), cell: (row) => <Link to={`/studies/${row.id}`}>{row.name}</Link> },
    { title: t("Trait"), cell: (row) => row.phenotype || "–" },
    {
      title: t("Test"),
      cell: (row) => declared(known.find((method) => method.name === row.test)?.title ?? row.test),
      isMinor: true,
    },
    { title: t("State"), cell: (row) => <State row={row} />, isText: true },
    { title: t("Cohorts"), cell: (row) => `${row.cohorts_joined}/${row.cohorts_wanted}`, isNumber: true },
    { title: t("Coordinator"), cell: (row) => row.owner_name, isMinor: true },
    { title: t("Last activity"), cell: (row) => <Ago at={row.active_at} /> },
  ];
  return (
    <LongTable
      caption={t("Studies")}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      groupOf={isInbox && rows.length > 1 ? placeInWords : undefined}
      isLong
    />
  );
}

const stopped = (many: number): Said => ({
  word: () => plural(many, "{{n}} cohort has stopped", "{{n}} cohorts have stopped"),
  tone: "bad",
  icon: "cross",
});

/** The state; of a study that is at work also what is being done, and how much of it. */
function State({ row }: { row: StudyRow }) {
  const { id, state, reason, now, is_demo, asks_you, cohorts_stopped } = row;
  const isAtWork = state === "running" || state === "paused";
  const title = declaredPair(now.title, ": ");
  const done = now.total
    ? t("{{title}}, {{done}} of {{total}}", { title, done: now.done, total: now.total })
    : title;
  return (
    <>
      <Row>
        <Badge said={STUDY[state]} to={state === "done" ? `/studies/${id}/results` : undefined} />
        {is_demo && <Badge said={DEMO} />}
        {cohorts_stopped > 0 && <Badge said={stopped(cohorts_stopped)} />}
      </Row>
      {(isAtWork || state === "failed") && <Small>{state === "running" ? done : declared(reason)}</Small>}
      {asks_you && <Small>{declared(asks_you)}</Small>}
    </>
  );
}

function Empty({ archived, mayCreate }: { archived: boolean; mayCreate: boolean }) {
  if (archived) return <Muted>{t("The archive is empty.")}</Muted>;
  if (!mayCreate)
    return <Muted>{t("No study is open to you yet. Its coordinator adds you as an observer.")}</Muted>;
  return (
    <Card>
      <h2>{t("No study yet")}</h2>
      <p>
        {t(
          "A study starts with a question. Say what is tested and by which rules, invite at least three cohorts, and hand each its invitation. Their data stay where they are.",
        )}
      </p>
      <Row>
        <ButtonLink look="primary" to="/studies/new">
          {t("Create the first study")}
        </ButtonLink>
        <ButtonLink to="/guide">{t("Read the guide")}</ButtonLink>
      </Row>
      <TryDemo />
    </Card>
  );
}
