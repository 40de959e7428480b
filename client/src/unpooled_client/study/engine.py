"""The engine of a cohort's client: from an invitation to the result files, as a stream of events.

    engine = Engine(folder, invitation=invitation, options=options, out=out)
    for event in engine.run():
        if isinstance(event, ReviewNeeded | ReleaseNeeded):
            engine.accept(event)  # or engine.decline(), as a person decides

It never prints and never asks: the command line and the window do, from the same events. What it must not
forget is on disk before anything depends on it, so it may be killed at any time and started again.

    join → agree (a person accepts plan and roster) → read and check the data → release (a person lets the
         results of the steps leave) → accept (the sealed seed goes) → agree on variants → answer questions …
         → results
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import platform
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from enum import IntEnum
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from unpooled.asking.cohort import ArrayTable
from unpooled.described import what_leaves
from unpooled.described.what_leaves import Form
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import ENCODING_FILE, LOADINGS_FILE, PARAMETERS_FILE, SCORE_FILE
from unpooled.protocol import bodies
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.problems import Problem
from unpooled.protocol.stages import Doing
from unpooled_client.data.options import DataOptions
from unpooled_client.network.answers import Conflict, Over, Refused, Study
from unpooled_client.network.api import Api, Network
from unpooled_client.state.events import Event, Exit, Failed, Finished, ReleaseNeeded, ReviewNeeded, Started
from unpooled_client.state.files import StateError
from unpooled_client.state.folder import Saved, StateFolder, with_invitation
from unpooled_client.state.journal import line_of
from unpooled_client.state.written import Written
from unpooled_client.study import few_apart, joining, reading, repeating
from unpooled_client.study.answering import Work
from unpooled_client.study.cluster import Cluster
from unpooled_client.study.delivery import agreed_plan, check_offered, deliver, usual_folder
from unpooled_client.study.failures import Explanation, NotDone, UsageProblem, explain
from unpooled_client.study.session import BEFORE, OVER, Session, StudyEnded
from unpooled_client.study.trust import Terms, check_identity

_LAST_WORD = 5.0  # seconds to tell the server why we stop


TOP = 20
"""Variants that are compared with the pool, unless told how many."""

_Writes: TypeAlias = Callable[[Session, Plan, DataOptions, Path, ArrayTable | None], Iterator[Event]]


class Until(IntEnum):
    """Phase at which a run stops."""

    JOINED = 1
    AGREED = 2
    """Plan and roster are accepted."""
    RESULTS = 3


class Engine:
    """One cohort's part in one study."""

    def __init__(
        self,
        folder: StateFolder,
        *,
        invitation: Invitation | None = None,
        options: DataOptions | None = None,
        out: Path | None = None,
        threads: int = 1,
        dask: str | None = None,
        network: Network | None = None,
        join_anew: bool = False,
        few_apart: bool = False,
        check_update: bool = False,
        until: Until = Until.RESULTS,
    ) -> None:
        """`invitation` may be left out to go on with the study in `folder`; `options` too, once checked.

        `out` is the folder for the results; `dask` the address of a scheduler whose workers compute;
        `few_apart`: whoever accepts unseen knows that few people differ from an earlier study's;
        `check_update`: ask the server, too, whether it has a newer release of this client.
        """
        self.folder, self.invitation, self.options, self.out = folder, invitation, options, out
        self.threads, self.dask, self.network = max(1, threads), dask, network or Network()
        self.join_anew, self.few_apart, self.until = join_anew, few_apart, until
        self.check_update = check_update
        self._repetition: StateFolder | None = None
        """Folder in which the run continues if its study has ended and is repeated."""
        self._speaks = True
        """True if the server is to be told of a failure."""
        self._session: Session | None = None
        self._cluster: Cluster | None = None
        self._table: ArrayTable | None = None
        """Table as it was read, in a study of tables."""

    def accept(self, asked: ReviewNeeded | ReleaseNeeded) -> None:
        """A person has read this and accepts. May be called from another thread."""
        self._decide(True, asked)

    def accept_unseen(self, asked: ReviewNeeded | ReleaseNeeded) -> None:
        """Accept for somebody who will not look: what is asked first, and nothing that replaces it; nor that
        few people differ from an earlier study's, unless they knew of that."""
        is_known = self.few_apart or not (isinstance(asked, ReleaseNeeded) and asked.few_apart)
        if self._session is not None and (self._session.asks_anew or not is_known):
            self.leave_unanswered()
        else:
            self.accept(asked)

    def decline(self) -> None:
        """A person declines: the run ends, and the server is told that it was declined."""
        self._decide(False, self._session.asked if self._session else None)

    def leave_unanswered(self) -> None:
        """There is nobody to ask: the run ends, and says what must be accepted."""
        if self._session is not None and not self._session.decision.done():
            self._session.decision.set_exception(joining.Unanswered(self._session))

    def keep_invitation(self) -> None:
        """Remember the invitation in the state folder, so that a later run needs none. Raises StateError."""
        if self.invitation is not None:
            with self.folder.locked():
                self.folder.save(self._saved())

    def stop(self) -> None:
        """End the run soon; it goes on when started again."""
        if self._session is not None:
            self._session.api.stop()

    def run(self) -> Iterator[Event]:
        """Do what is to be done, and tell it; nothing is raised.

        The last event is `Finished` or `Failed`; `Proposal` or `Agreed` if it was to go no further. If the
        study has ended and is repeated, it goes on in another folder.
        """
        yield from self._locked(self._phases)
        while self._repetition is not None:
            self.folder, self._repetition = self._repetition, None
            self.invitation, self.out, self.join_anew, self._speaks = None, None, False, True
            yield from self._locked(self._phases)

    def results(self, top: int = TOP) -> Iterator[Event]:
        """Fetch the results of a study that is done, once more if need be, and do nothing else in it.

        This cohort is then set against the pool, for `top` variants. The last event: `Finished` or `Failed`.
        """
        yield from self._locked(functools.partial(self._only_results, top))

    def _locked(self, phases: Callable[[], Iterator[Event]]) -> Iterator[Event]:
        try:
            with self.folder.locked():
                for event in self._until_failure(phases):
                    self._log(json.dumps(event.to_json()))
                    yield event
        except (StateError, OSError) as error:  # another client has the folder, and the log in it
            yield self._failure(error)

    def _until_failure(self, phases: Callable[[], Iterator[Event]]) -> Iterator[Event]:
        """The events of the run; whatever is raised in it is the last of them."""
        try:
            yield from phases()
        except Exception as error:
            failed = self._failure(error)
            with contextlib.suppress(StateError, OSError):
                if self._session is not None and self._speaks and self.folder.exists():
                    self._session.save(problem=None if failed.exit == Exit.INTERRUPTED else failed)
            yield failed
        finally:
            if self._session is not None:
                self._session.api.close()
            if self._cluster is not None:
                self._cluster.close()

    def _decide(self, accepted: bool, asked: ReviewNeeded | ReleaseNeeded | None) -> None:
        if self._session is None or asked is None or asked is not self._session.asked:
            return  # a question that was replaced meanwhile is not answered by a late click
        if not self._session.decision.done():
            self._session.decision.set_result(accepted)

    def _phases(self) -> Iterator[Event]:
        yield _started()
        if (followed := repeating.followed(self.folder)) is not None:
            self._repetition = StateFolder(Path(followed.folder))
            yield followed
            return
        session = self._session = self._begin()
        session.api.doing = Doing.JOINING
        try:
            study = yield from joining.join(session, anew=self.join_anew)
            session.spawn(session.api.keep_heard)
            if self.check_update:
                yield from self._look_for_update(session)
            if self.until == Until.JOINED or (self.until == Until.AGREED and study.roster is None):
                yield joining.proposal(study)
            if self.until == Until.JOINED:
                return
            while study.state not in OVER:
                study, terms = yield from joining.agree(session, study, self.options)
                if self.until == Until.AGREED:
                    session.api.doing = Doing.CHOOSING
                    yield from session.study()  # so that the server knows
                    return
                study = yield from self._take_part_unless_changed(session, study, terms)
        except Over:
            study = yield from session.study()
        if study.state == "done" or not study.is_repeated:
            yield from self._end(session, study)
        if study.is_repeated:
            self._speaks = False
            self._repetition = yield from repeating.follow(session)

    def _look_for_update(self, session: Session) -> Iterator[Event]:
        from unpooled_client.network.doctor import check_for_update

        bundle = self.network.or_saved(session.saved.network).ca_bundle
        yield (yield from session.wait_for(check_for_update, session.api.server, bundle))

    def _begin(self) -> Session:
        """Load the state, or make it, and connect."""
        saved = self._saved()
        network = self.network.or_saved(saved.network)
        out = str(self.out.absolute()) if self.out else saved.out
        saved = dataclasses.replace(saved, network=network.to_json(), out=out, problem=None)
        threads = self._connect_cluster()
        api = Api(
            saved.invitation,
            saved.instance,
            **dataclasses.asdict(network),
            connections=threads + 8,
            known=bool(saved.cohort),
        )
        return Session(self.folder, saved, api, threads)

    def _saved(self) -> Saved:
        """The state that was found, or a new one, under the invitation that was given."""
        if self.invitation is None:
            return self.folder.load()
        if not self.folder.exists():
            return Saved.new(self.invitation)
        saved = self.folder.load()
        return saved if saved.invitation == self.invitation else with_invitation(saved, self.invitation)

    def _connect_cluster(self) -> int:
        """Connect to the Dask cluster, if one is to compute; how many questions are computed at once."""
        if self.dask is None:
            return self.threads

        self._cluster = Cluster(self.dask)
        # A second question waits for each thread there, so that none is idle while this computer masks.
        return max(self.threads, 2 * self._cluster.threads())

    def _take_part_unless_changed(
        self, session: Session, study: Study, terms: Terms
    ) -> Generator[Event, None, Study]:
        """The study afterwards. What is refused because plan or roster have just changed is no failure."""
        try:
            yield from self._take_part(session, study, terms)
        except Conflict:
            study = yield from session.study()
            if study.state not in OVER and joining.stand(session, study, terms):
                raise
            return study
        return (yield from session.study())

    def _take_part(self, session: Session, study: Study, terms: Terms) -> Iterator[Event]:
        """Everything from the data files to the last answer."""
        options = self._options(session)
        released = session.saved.released == terms.plan_hash
        session.api.doing = Doing.CHECKING
        if released and reading.other_files(session, terms, options):
            accepted = DataOptions.from_json(session.saved.options)
            session.files_changed = accepted.under(terms.plan).paths == options.under(terms.plan).paths
            session.save(released=b"")
            released = False
        data = yield from reading.open_data(session, terms, options, released=released)
        study = yield from session.study()  # reading may have taken long
        if joining.changed_since(session, study, terms):
            return
        alignments = reading.aligned(data, terms.plan)
        yield from alignments.fetch_list(session, terms)
        looked = few_apart.of_files, session.folder, session.saved, options.under(terms.plan), data
        session.save(few_apart=(yield from session.wait_for(*looked)))
        if not session.saved.is_released and not (yield from joining.release(session, study, terms)):
            return  # plan or roster changed
        if not joining.is_accepted(session, terms) or study.cohort_state == "joined":
            if not (yield from joining.accept(session, terms)):
                return  # to read them again
            study = yield from session.study()
        if study.state in BEFORE:
            yield from alignments.announce(session, terms)
        self._table = data if isinstance(data, ArrayTable) else None
        yield from Work(session, terms, alignments, options, self._cluster).answer_until_over()

    def _options(self, session: Session) -> DataOptions:
        if self.options is not None:
            # A worker of a cluster runs in another folder than this program.
            return self.options if self.dask is None else DataOptions.from_json(self.options.to_json())
        if session.saved.options:
            return DataOptions.from_json(session.saved.options)
        raise UsageProblem("no data files are given.", "Give --bfile PREFIX, or --table FILE.")

    def _end(self, session: Session, study: Study) -> Iterator[Event]:
        with session.clock("results"):
            plan, files = yield from self._deliver(session, study)
            for file in plan.files:
                if write := _of_own_people(file):
                    folder = Path(session.saved.out)
                    yield from write(session, plan, self._options(session), folder, self._table)
        reporting = yield from session.report_timing()
        # The study is over for us: a server that does not answer keeps nobody from the results.
        with contextlib.suppress(TimeoutError):
            reporting.exception(timeout=_LAST_WORD)
        yield from _beside_the_pool(session, files, TOP)
        yield _finished(session)

    def _only_results(self, top: int) -> Iterator[Event]:
        yield _started()
        session = self._session = self._begin()
        self._speaks = False

        study = yield from session.study()
        check_identity(study, session.saved)
        if study.state not in OVER:
            raise NotDone(study)
        with session.clock("results"):
            _, files = yield from self._deliver(session, study)
        yield from _beside_the_pool(session, files, top)
        yield _finished(session)

    def _deliver(
        self, session: Session, study: Study
    ) -> Generator[Event, None, tuple[Plan, tuple[Path, ...]]]:
        """The plan that was accepted, and the result files in their folder; StudyEnded if there are none."""

        if study.state != "done":
            raise StudyEnded(study)
        plan = agreed_plan(study, session.saved)
        check_offered(study.results, plan, session.saved.sizes)
        study_id = session.saved.invitation.study
        usual = usual_folder(Path.cwd(), study_id, plan, Written(session.folder))
        folder = Path(session.saved.out).absolute() if session.saved.out else usual
        files = yield from deliver(session, study.results, folder)
        session.save(out=str(folder), delivered=True)
        return plan, files

    def _failure(self, error: Exception) -> Failed:
        """Explain a failure to the person; the server gets no more than a code and the name of a quantity."""
        found = explain(error)
        if found is None:
            self._log("".join(traceback.format_exception(error)))
            found = Explanation(
                Exit.INTERNAL,
                f"this program failed: {type(error).__name__}.",
                f"Start the same command again. If it persists, the details are in {self.folder.log}.",
                Problem.INTERNAL,
            )
        told = self._tell(found) if found.problem else False
        code = str(found.problem.value) if found.problem and told else ""
        refusal = error.code if isinstance(error, Refused) else found.code
        name = found.quantity if code else ""
        is_known = isinstance(error, reading.DataRefused) and error.is_known
        return Failed(found.exit, found.message, found.remedy, code, refusal, name, is_known)

    def _tell(self, found: Explanation) -> bool:
        session = self._session
        if session is None or not session.saved.cohort or found.problem is None or not self._speaks:
            return False
        session.api.doing = Doing.STOPPED
        try:
            told = bodies.problem(found.problem.value, found.quantity)
            session.record(what_leaves.PROBLEM, told, Form.CLEAR, what_leaves.TO_COORDINATOR)
            telling = session.spawn(session.api.report_problem, found.problem, found.quantity)
            # Not for ever: a server that is gone must not keep a failed run alive.
            return telling.exception(timeout=_LAST_WORD) is None
        except (OSError, TimeoutError):
            return False

    def _log(self, text: str) -> None:
        """Add to the log of this cohort, which stays here."""
        with contextlib.suppress(OSError), self.folder.private_log() as file:
            file.write(line_of(text))


# What follows is needed at the end of a study, or only in some: nobody waits for it before a consent.


def _of_own_people(file: str) -> _Writes | None:
    """Return the function that writes something about the cohort's own people from this result file; None if
    there is none.
    """
    if file in (PARAMETERS_FILE, ENCODING_FILE):
        from unpooled_client.study.own_table import encode, normalize

        return normalize if file == PARAMETERS_FILE else encode
    if file in (SCORE_FILE, LOADINGS_FILE):
        from unpooled_client.study.scoring import project, score

        return score if file == SCORE_FILE else project
    return None


def _beside_the_pool(session: Session, files: Sequence[Path], top: int) -> Iterator[Event]:
    from unpooled_client.study.this_cohort_and_pool import compare_with_pool

    yield from compare_with_pool(session, files, top)


def _started() -> Started:
    return Started(os.getpid(), platform.node(), version("unpooled-client"))


def _finished(session: Session) -> Finished:
    traffic = session.api.traffic
    seconds = {phase: round(value, 3) for phase, value in session.seconds.items()}
    return Finished(traffic.sent, traffic.received, seconds)
