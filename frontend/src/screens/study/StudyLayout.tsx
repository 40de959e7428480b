import { useQuery } from "@tanstack/react-query";
import { Link, Navigate, Outlet, useOutletContext, useParams } from "react-router";

import type { Study, StudyState } from "../../api/client";
import { methods, study } from "../../api/queries";
import { Badge } from "../../ui/Badge";
import { Muted, PageTitle, Row } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { NotPooled } from "../../ui/NotPooled";
import { Notice } from "../../ui/Notice";
import { Tabs } from "../../ui/Tabs";
import { DEMO, NOT_BLIND, STUDY } from "../../words/states";
import { FailureCard } from "./FailureCard";
import { OverlapCard } from "./OverlapCard";
import { STUDY_PAGES } from "./pages";
import styles from "./StudyLayout.module.css";
import { moment } from "../../words/format";
import { declared, t } from "../../words/language";

/** What is around every page of a study: its name, its state, what went wrong, and its pages. */
export function StudyLayout() {
  const { id = "" } = useParams();
  return (
    <Loaded query={useQuery(study(id))}>
      {(found) => (
        <>
          <Head study={found} />
          <Outlet context={found} />
        </>
      )}
    </Loaded>
  );
}

/** The study whose page this is, as it was two seconds ago at most. */
export const useStudy = (): Study => useOutletContext<Study>();

function Head({ study }: { study: Study }) {
  const { data: known = [] } = useQuery(methods);
  const method = declared(known.find((each) => each.name === study.test)?.title ?? study.test);
  const mine = study.may_change ? "" : t("You may watch this study, not change it.");
  const by = t("coordinated by {{name}}", { name: study.owner_name });
  const about = [study.phenotype, method, by, mine].filter(Boolean).join(" · ");
  const base = `/studies/${study.id}`;
  return (
    <header className={styles.head}>
      <PageTitle
        beside={
          <>
            <Row>
              {study.is_demo && <Badge said={DEMO} />}
              <Badge said={STUDY[study.state]} to={study.state === "done" ? `${base}/results` : undefined} />
            </Row>
            {study.one_operator && <NotBlind study={study} />}
          </>
        }
      >
        {study.name}
      </PageTitle>
      <Muted>
        <Link to="/">{t("All studies")}</Link> · {about}
      </Muted>
      {study.deleted_at && (
        <Muted>
          {t("Will be deleted on {{date}}: keep its results before.", { date: moment(study.deleted_at) })}
        </Muted>
      )}
      <NotPooled differs={study.unlike_pool} />
      <FailureCard study={study} />
      <OverlapCard study={study} />
      <Tabs
        label={t("Pages of this study")}
        pages={STUDY_PAGES.map(([page, title]) => [`${base}/${page}`, title()])}
      />
    </header>
  );
}

function NotBlind({ study }: { study: Study }) {
  return (
    <Notice
      id={`one operator ${study.id}`}
      said={NOT_BLIND}
      title={t("One operator runs server and compensator: this study is not blind.")}
    >
      {t(
        "Together they could unmask what a single cohort sent. For a trial that is fine; for real data let somebody else run the compensator.",
      )}
    </Notice>
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
