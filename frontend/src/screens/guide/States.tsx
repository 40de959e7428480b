import type { Stage, StudyState } from "../../api/client";
import { Badge } from "../../ui/Badge";
import { Table, type Column } from "../../ui/Table";
import { STAGE, STUDY, type Said } from "../../words/states";
import { message, t, type Message } from "../../words/language";

interface Meaning {
  said: Said;
  means: Message;
  acts: Message;
}

const OF_STUDIES: Record<StudyState, Omit<Meaning, "said">> = {
  draft: {
    means: message("Nobody is invited. Everything can be changed."),
    acts: message("You: invite cohorts, or delete it."),
  },
  open: {
    means: message("Cohorts are invited, join, accept, and check their data."),
    acts: message("The data managers of those that are not ready; you, if one is not invited yet."),
  },
  ready: {
    means: message("Every cohort has accepted and checked its data."),
    acts: message("Nobody, if it starts by itself; otherwise you: Start."),
  },
  running: {
    means: message("Questions are asked and answered."),
    acts: message("Nobody. You can pause or abort it."),
  },
  paused: {
    means: message("No further question is asked. The reason is shown on every page of the study."),
    acts: message(
      "You, if you paused it: Resume. Otherwise whoever the reason names; the study then continues by itself.",
    ),
  },
  done: {
    means: message("The results are here, and go to every cohort."),
    acts: message("You: download, archive."),
  },
  aborted: {
    means: message("Ended on purpose, without results."),
    acts: message("You: Change and repeat, to run it again."),
  },
  failed: {
    means: message("Ended without results, because it could not go on. The reason is shown."),
    acts: message("You: Change and repeat, after putting right what the reason names."),
  },
};

const OF_COHORTS: Record<Stage, Omit<Meaning, "said">> = {
  invited: {
    means: message("Its invitation has not been used."),
    acts: message("You hand it over; its data manager joins."),
  },
  joined: {
    means: message("Its key is here. Its data manager reads the plan and who takes part."),
    acts: message(
      "Both of you: compare fingerprints. Its data manager accepts, once all cohorts have joined.",
    ),
  },
  accepted: {
    means: message("Its data manager has accepted the plan and the cohorts."),
    acts: message("Its data manager."),
  },
  choosing: {
    means: message("Its data manager chooses the files. Until then its program need not run."),
    acts: message("Its data manager: choose the files, and start."),
  },
  checking: {
    means: message("Its program reads and checks the files; then its data manager releases what will leave."),
    acts: message("Its data manager, at the end."),
  },
  ready: { means: message("It can answer questions."), acts: message("Nobody. Its program has to stay on.") },
  computing: { means: message("It computes an answer."), acts: message("Nobody.") },
  sending: { means: message("An answer, or its list of variants, is on the way."), acts: message("Nobody.") },
  waiting: { means: message("It has answered everything that was asked."), acts: message("Nobody.") },
  done: {
    means: message("The study is done, and its results are for the cohort to take."),
    acts: message("Nobody."),
  },
  offline: {
    means: message(
      "Its program has not been heard from for longer than if it were running; the pill says since when.",
    ),
    acts: message("Its data manager: start the same command again, or check the network."),
  },
  stopped: {
    means: message("Its program ended with a problem, which is shown on every page of the study."),
    acts: message("Its data manager, as the problem says."),
  },
  ended: { means: message("The study ended without results."), acts: message("Nobody.") },
  revoked: {
    means: message("Nobody is admitted with its invitation."),
    acts: message("You: reissue it, or, before the start, invite another one."),
  },
};

const columns = (): Column<Meaning>[] => [
  { title: t("State"), cell: (row) => <Badge said={row.said} /> },
  { title: t("What it means"), cell: (row) => row.means() },
  { title: t("Who can act"), cell: (row) => row.acts() },
];

/** Every state, in the badges that the other pages have. */
export function States() {
  return (
    <>
      <h3>{t("A study")}</h3>
      <Table
        caption={t("States of a study")}
        columns={columns()}
        rows={rows(STUDY, OF_STUDIES)}
        rowKey={byWord}
      />
      <h3>{t("A cohort")}</h3>
      <Table
        caption={t("States of a cohort")}
        columns={columns()}
        rows={rows(STAGE, OF_COHORTS)}
        rowKey={byWord}
      />
      <p>
        {t(
          "A running study pauses by itself when a cohort that it waits for is not heard from for about a minute, when a cohort reports a problem, when the compensator does not answer, and when the platform’s disk is full. It continues by itself when the reason is gone. What the cohorts have sent is kept.",
        )}
      </p>
    </>
  );
}

const byWord = (row: Meaning): string => row.said.word();

function rows<State extends string>(
  said: Record<State, Said>,
  meanings: Record<State, Omit<Meaning, "said">>,
): Meaning[] {
  return (Object.keys(said) as State[]).map((state) => ({ said: said[state], ...meanings[state] }));
}
