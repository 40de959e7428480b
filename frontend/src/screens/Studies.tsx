import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import type { StudyRow } from "../api/client";
import { methods, studies } from "../api/queries";
import { useMe } from "../app/session";
import { Badge } from "../ui/Badge";
import { Button, ButtonLink } from "../ui/Button";
import { Card, Muted, PageTitle, Row, Small } from "../ui/Layout";
import { Loaded } from "../ui/Loading";
import { Table, type Column } from "../ui/Table";
import { Ago } from "../ui/Time";
import { count } from "../words/format";
import { DEMO, STUDY } from "../words/states";
import { TryDemo } from "./TryDemo";

export function Studies() {
  const [search, setSearch] = useSearchParams();
  const archived = search.has("archived");
  const found = useQuery(studies(archived));
  const mayCreate = useMe().role !== "observer";
  return (
    <>
      <PageTitle
        beside={
          <Row>
            <Button look="quiet" onClick={() => setSearch(archived ? {} : { archived: "" })}>
              {archived ? "Back to current studies" : "Show archived studies"}
            </Button>
            {mayCreate && (
              <ButtonLink look="primary" to="/studies/new">
                New study
              </ButtonLink>
            )}
          </Row>
        }
      >
        {archived ? "Archived studies" : "Studies"}
      </PageTitle>
      <Loaded query={found}>
        {(rows) => (rows.length ? <List rows={rows} /> : <Empty archived={archived} mayCreate={mayCreate} />)}
      </Loaded>
    </>
  );
}

function List({ rows }: { rows: readonly StudyRow[] }) {
  const { data: known = [] } = useQuery(methods);
  const columns: Column<StudyRow>[] = [
    { title: "Name", cell: (row) => <Link to={`/studies/${row.id}`}>{row.name}</Link> },
    { title: "Trait", cell: (row) => row.phenotype || "–" },
    { title: "Test", cell: (row) => known.find((method) => method.name === row.test)?.title ?? row.test },
    { title: "State", cell: (row) => <State row={row} />, isText: true },
    { title: "Cohorts", cell: (row) => `${row.cohorts_joined}/${row.cohorts_wanted}`, isNumber: true },
    { title: "Coordinator", cell: (row) => row.owner },
    { title: "Last activity", cell: (row) => <Ago at={row.active_at} /> },
  ];
  return <Table caption="Studies" columns={columns} rows={rows} rowKey={(row) => row.id} />;
}

/** The state; of a study that is at work also what is being done, and how much of it. */
function State({ row: { state, reason, now, is_demo } }: { row: StudyRow }) {
  const isAtWork = state === "running" || state === "paused";
  const done = now.total ? `${now.title}, ${count(now.done)} of ${count(now.total)}` : now.title;
  return (
    <>
      <Row>
        <Badge said={STUDY[state]} />
        {is_demo && <Badge said={DEMO} />}
      </Row>
      {(isAtWork || state === "failed") && <Small>{state === "running" ? done : reason}</Small>}
    </>
  );
}

function Empty({ archived, mayCreate }: { archived: boolean; mayCreate: boolean }) {
  if (archived) return <Muted>The archive is empty.</Muted>;
  if (!mayCreate) return <Muted>No study is open to you yet. Its coordinator adds you as an observer.</Muted>;
  return (
    <Card>
      <h2>No study yet</h2>
      <p>
        A study starts with a question. Say what is tested and by which rules, invite at least three cohorts,
        and hand each its invitation. Their data stay where they are.
      </p>
      <Row>
        <ButtonLink look="primary" to="/studies/new">
          Create the first study
        </ButtonLink>
        <ButtonLink to="/guide">Read the guide</ButtonLink>
      </Row>
      <TryDemo />
    </Card>
  );
}
