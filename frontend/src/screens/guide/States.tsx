import type { CohortState, StudyState } from "../../api/client";
import { Badge } from "../../ui/Badge";
import { Table, type Column } from "../../ui/Table";
import { COHORT, STUDY, type Said } from "../../words/states";

interface Meaning {
  said: Said;
  means: string;
  acts: string;
}

const OF_STUDIES: Record<StudyState, Omit<Meaning, "said">> = {
  draft: {
    means: "Nobody is invited. Everything can be changed.",
    acts: "You: invite cohorts, or delete it.",
  },
  open: {
    means: "Cohorts are invited, join, accept, and check their data.",
    acts: "The data managers of those that are not ready; you, if one is not invited yet.",
  },
  ready: {
    means: "Every cohort has accepted and checked its data.",
    acts: "Nobody, if it starts by itself; otherwise you: Start.",
  },
  running: { means: "Questions are asked and answered.", acts: "Nobody. You can pause or abort it." },
  paused: {
    means: "No further question is asked. The reason is shown on every page of the study.",
    acts: "You, if you paused it: Resume. Otherwise whoever the reason names; the study then continues by itself.",
  },
  done: { means: "The results are here, and go to every cohort.", acts: "You: download, archive." },
  aborted: { means: "Ended on purpose, without results.", acts: "You: duplicate it to run it again." },
  failed: {
    means: "Ended without results, because it could not go on. The reason is shown.",
    acts: "You: fix what the reason says, and duplicate it.",
  },
};

const OF_COHORTS: Record<CohortState, Omit<Meaning, "said">> = {
  invited: { means: "Its invitation has not been used.", acts: "You hand it over; its data manager joins." },
  joined: {
    means: "Its key is here. Its data manager looks at plan and cohorts.",
    acts: "Both of you: compare fingerprints. Its data manager accepts, once all cohorts have joined.",
  },
  accepted: { means: "It reads and checks its files.", acts: "Nobody, unless it reports a problem." },
  ready: { means: "It can answer questions.", acts: "Nobody. Its client has to stay on." },
  revoked: {
    means: "Nobody is admitted with its invitation.",
    acts: "You: reissue it, or, before the start, invite another one.",
  },
};

const COLUMNS: Column<Meaning>[] = [
  { title: "State", cell: (row) => <Badge said={row.said} /> },
  { title: "What it means", cell: (row) => row.means },
  { title: "Who can act", cell: (row) => row.acts },
];

/** Every state, in the badges that the other pages have. */
export function States() {
  return (
    <>
      <h3>A study</h3>
      <Table caption="States of a study" columns={COLUMNS} rows={rows(STUDY, OF_STUDIES)} rowKey={byWord} />
      <h3>A cohort</h3>
      <Table caption="States of a cohort" columns={COLUMNS} rows={rows(COHORT, OF_COHORTS)} rowKey={byWord} />
      <p>
        A running study pauses by itself when a cohort that it waits for is not heard from for about a minute,
        when a cohort reports a problem, when the compensator does not answer, and when the platform’s disk is
        full. It continues by itself when the reason is gone. What the cohorts have sent is kept.
      </p>
    </>
  );
}

const byWord = (row: Meaning): string => row.said.word;

function rows<State extends string>(
  said: Record<State, Said>,
  meanings: Record<State, Omit<Meaning, "said">>,
): Meaning[] {
  return (Object.keys(said) as State[]).map((state) => ({ said: said[state], ...meanings[state] }));
}
