import { useQuery } from "@tanstack/react-query";
import { Link, Navigate, Outlet, useOutletContext, useParams } from "react-router";

import type { Study, StudyState } from "../../api/client";
import { methods, study } from "../../api/queries";
import { Badge } from "../../ui/Badge";
import { Callout } from "../../ui/Callout";
import { Muted, PageTitle, Row } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Tabs } from "../../ui/Tabs";
import { DEMO, STUDY } from "../../words/states";
import { FailureCard } from "./FailureCard";

/** What is around every page of a study: its name, its state, what went wrong, and its pages. */
export function StudyLayout() {
  const { id = "" } = useParams();
  return (
    <>
      <p>
        <Link to="/">All studies</Link>
      </p>
      <Loaded query={useQuery(study(id))}>
        {(found) => (
          <>
            <Head study={found} />
            <Outlet context={found} />
          </>
        )}
      </Loaded>
    </>
  );
}

/** The study whose page this is, as it was two seconds ago at most. */
export const useStudy = (): Study => useOutletContext<Study>();

function Head({ study }: { study: Study }) {
  const { data: known = [] } = useQuery(methods);
  const method = known.find((each) => each.name === study.test)?.title ?? study.test;
  const about = [study.phenotype, method, `coordinated by ${study.owner}`].filter(Boolean).join(" · ");
  const base = `/studies/${study.id}`;
  return (
    <>
      <PageTitle
        beside={
          <Row>
            {study.is_demo && <Badge said={DEMO} />}
            <Badge said={STUDY[study.state]} />
          </Row>
        }
      >
        {study.name}
      </PageTitle>
      <Muted>{about}</Muted>
      {study.one_operator && (
        <Callout tone="warning" title="One operator runs server and compensator: this study is not blind.">
          Together they could unmask what a single cohort sent. For a trial that is fine; for real data let
          somebody else run the compensator.
        </Callout>
      )}
      {!study.may_change && <Muted>You may watch this study, not change it.</Muted>}
      <FailureCard study={study} />
      <Tabs
        label="Pages of this study"
        pages={[
          [`${base}/plan`, "Plan"],
          [`${base}/cohorts`, "Cohorts"],
          [`${base}/progress`, "Progress"],
          [`${base}/results`, "Results"],
          [`${base}/privacy`, "Privacy and traffic"],
          [`${base}/log`, "Log"],
        ]}
      />
    </>
  );
}

const PAGE: Record<StudyState, string> = {
  draft: "cohorts",
  open: "cohorts",
  ready: "cohorts",
  running: "progress",
  paused: "progress",
  done: "results",
  aborted: "progress",
  failed: "progress",
};

/** From a study's bare address to the page that matters in its state. */
export function ToItsPage() {
  return <Navigate to={PAGE[useStudy().state]} replace />;
}
