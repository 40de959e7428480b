"""Answering questions until the study has ended: several at once, computing while others are being sent."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayTable
from unpooled.described.what_leaves import DEALING, DECRYPTION, TO_SERVER, Form
from unpooled.methods.shared.options import RINT
from unpooled.plan.common_options import COMPONENTS, LOCO
from unpooled.protocol import messages
from unpooled.protocol.messages import Questions
from unpooled.protocol.problems import Problem
from unpooled.protocol.sealing import SigningKey
from unpooled.protocol.stages import Doing
from unpooled_client.data.options import DataOptions
from unpooled_client.network.answers import Refused, Study
from unpooled_client.network.api import LONG_POLL
from unpooled_client.state.events import BYTES, Event, Paused, Resumed, Sent, StepProgress
from unpooled_client.state.fingerprint import Fingerprint, stamp
from unpooled_client.study.book import Heard, open_book
from unpooled_client.study.cluster import Cluster
from unpooled_client.study.deriving import Deriving
from unpooled_client.study.few_apart import entered
from unpooled_client.study.following import Following
from unpooled_client.study.joining import changed_terms
from unpooled_client.study.reading import Alignments, ListApart, Unaligned, guard
from unpooled_client.study.remaining import Pace, last_pass
from unpooled_client.study.resting import RestingPlaces
from unpooled_client.study.rounds import Answerer, Compute, Dealing, Entered, Share
from unpooled_client.study.session import BEFORE, OVER, Session
from unpooled_client.study.trust import TELL_BOTH, Distrust, Terms, check_identity
from unpooled_client.study.unsent import Unsent

if TYPE_CHECKING:
    from unpooled_client.state.folder import Acceptance
    from unpooled_client.study.word_codes import Coding

T = TypeVar("T")

MOST_THREADS = 8
"""A server has no more questions open at once."""

FIRST_LOOK = 1.0
"""Seconds that the first long poll may last: then people are told who the study is waiting for."""

SENDING = 3
"""Questions beside those being computed, so that sending one does not stop the computing of the next."""

_TIMING_EVERY = 30.0

VERIFYING = "Verify what is asked by the sums so far"

RUNNING, PAUSED = "running", "paused"


class Gone(Exception):
    """There is no such round any more: the next look at the study says why."""


@dataclass
class Work:
    """The questions of one study that this client is at, and what came of those before."""

    session: Session
    terms: Terms
    alignments: Alignments | Unaligned
    options: DataOptions
    cluster: Cluster | None = None
    running: dict[int, Future[Share | None]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    paces: dict[str, Pace] = field(default_factory=dict)
    """Paces of the steps over variants, by their titles with the iteration."""
    paused: str | None = None
    known: tuple[str, int] = ("", 0)
    """The study's state and version when it was last looked at."""
    entered: bool = False
    """True if it is on record whose sums leave."""
    idle: int = 0
    received: int = 0
    """Bytes of the sums that were told."""
    reported: float = 0.0
    stamps: list[tuple[int, int] | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        acceptance = self.session.saved.acceptance
        if acceptance is None:
            raise AssertionError("nothing was accepted")
        compute: Compute = questions.answer
        if self.cluster is not None:
            compute = self.cluster.reading(*self._genotypes())
        book = open_book(self.session.folder, acceptance.seed, self.terms.plan, self.session.saved.sizes)
        self.resting = RestingPlaces(self.session.folder.states, acceptance.seed)
        self.following = Following(
            self.terms,
            functools.partial(self._of_place, self.session.api.told),
            functools.partial(self._of_place, self.session.api.shown),
            self.alignments.agreed_panel,
            lambda: self.answerer.witness,
            lambda question, place, told: book.hear(question, Heard.of(place, told)),
            self._tell_of_sums,
            self.resting,
        )
        self.answerer = Answerer(
            self.terms,
            acceptance.seed,
            book,
            compute,
            acceptance.own,
            self.following.question,
            unsent=Unsent(self.session.folder.unsent, book) if self.terms.plan.in_pairs else None,
        )
        self.last_pass = last_pass(self.terms.plan)
        # Threads that send hold no place, so that computing goes on while they wait for the server.
        self.places = threading.Semaphore(self.session.threads)
        # Filled by the threads that send, emptied by the run: append and pop are atomic in CPython.
        self.outbox: list[Sent] = []
        self.at_work: Counter[Doing] = Counter()
        self.coding = self._coding(acceptance) if self.terms.plan.searched else None
        self.deriving = Deriving(self.session.folder, acceptance.seed)
        self.lock = threading.Lock()

    def _coding(self, acceptance: Acceptance) -> Coding:
        from unpooled_client.study.word_codes import Coding  # few studies search for words

        return Coding(self.session, self.terms, acceptance.seed, acceptance.own, self.outbox.append)

    def _genotypes(self) -> tuple[Path, Fingerprint]:
        """The file that the cluster's workers read, as it was accepted; of a copy, as it is now."""
        if self.options.copied is None or not isinstance(self.alignments, Alignments):
            return self.options.genotypes, self.session.saved.files[self.options.fileset.genotypes]
        copy = self.alignments.data.options.genotypes
        return copy, Fingerprint.of(copy)

    def answer_until_over(self) -> Iterator[Event]:
        """Answer until the study is over, or until what was accepted no longer holds."""
        asking: Future[Questions] | None = None
        self.session.api.doing = Doing.WAITING
        while True:
            # Asked for while others are computed, so that no thread waits for the network.
            if asking is None and len(self.running) < self.session.threads + SENDING:
                asking = self._ask()
            started, idle = time.perf_counter(), not self.running
            yield from self.session.until_one([*self.running.values(), *([asking] if asking else [])])
            if idle:
                self.session.count("waiting", time.perf_counter() - started)
            yield from self._collect()
            if asking is not None and asking.done():
                found, asking = asking.result(), None
                yield from self._begin(found)
                if found.state in OVER and not self.running:
                    self.resting.forget()
                    if self.answerer.unsent:
                        self.answerer.unsent.erase_all()
                    return
                if (yield from self._is_void(found)):
                    return

    def _ask(self) -> Future[Questions]:
        wait = LONG_POLL if self.idle else FIRST_LOOK
        return self.session.spawn(self.session.api.questions, wait, tuple(self.running), *self.known)

    def _begin(self, found: Questions) -> Iterator[Event]:
        """Start on the questions that are new."""
        if found.panel_digest:
            yield from self.alignments.fetch_panel(self.session, found.panel_digest)
        new = [question for question in found.items if question.round not in self.running]
        # The first poll of an idle client is short: then people are told for whom the study waits.
        self.idle = 0 if new or self.running else self.idle + 1
        if new and not (yield from self._is_entered()):
            return
        if new and not self.terms.plan.in_pairs:
            self.answerer = self.answerer.witnessing(found.witness, found.code_keys)
        elif new and self.answerer.pairs is None:
            saved, plan = self.session.saved, self.terms.plan
            parts = plan.cohorts * plan.is_encrypted
            sealed = yield from self.session.wait_for(self.session.api.boxes, plan.cohorts, parts)
            secret = saved.acceptance.secret if saved.acceptance else b""
            self.answerer = self.answerer.paired(sealed, SigningKey(saved.signing_key), secret)
        for question in new:
            self.session.not_waiting()
            self.running[question.round] = self.session.spawn(self._answer, question)
        if self.cluster is not None and self.running and not self.cluster.threads():
            yield from self.session.waiting(f"a worker of the Dask cluster at {self.cluster.address}", ())

    def _is_entered(self) -> Generator[Event, None, bool]:
        """Put on record whose sums leave, before the first sum does; the answer which variants are here is no
        sum. False if the terms changed meanwhile.
        """
        data, samples = self.alignments.data, self.alignments.samples
        if not self.entered and (samples is not None or isinstance(data, ArrayTable)):
            options = self.options.under(self.terms.plan)
            self.entered = yield from entered(self.session, self.terms, options, data, samples)
            return self.entered
        return True

    def _answer(self, message: messages.Question) -> Share | None:
        """Compute one share and deliver it; None if the round is gone. Runs in a thread of its own."""
        self._check_files()
        try:
            question = self.answerer.question(message)
        except Gone:
            return None
        if message.place:  # encoded once: the book, the mask and the second check all name it by that
            message = replace(message, question=questions.encode(question))
        cohort, panel = self.alignments.cohort_for(question)
        # Before all that follows: what the book refuses is neither coded, dealt for nor derived from.
        entered = self.answerer.enter(message, question, panel)
        if question.needs_codes and self.coding:
            with self._doing(Doing.COMPUTING), self.places:
                cohort = self.coding.coded(cohort, self.answerer.code_keys)
        dealing = entered.dealing()
        dealt = self.session.spawn(self._deal, dealing) if dealing else None
        with self._doing(Doing.COMPUTING), self.places:
            if any(option.of(self.terms.plan) for option in (RINT, COMPONENTS, LOCO)):
                cohort = self.deriving.extended(cohort, question)
            share = entered.share(cohort)
        self.session.count("computing", share.seconds)
        quantity = f"{share.title}: {', '.join(share.arrays)}"
        sent = self.session.record(
            quantity, share.data, Form.MASKED, TO_SERVER, round=share.round, arrays=share.arrays
        )
        keeps = bool(message.place) and self.following.keeps(message)
        delivered = self._put(share, keeps)
        # The server takes no share before its dealing, which may still have been on its way.
        if dealt and not delivered:
            delivered = dealt.result() and self._put(share, keeps)
        self.outbox.append(sent)
        if delivered and self.answerer.carrier:
            delivered = self._help(entered, share)
        return share if delivered else None

    def _help(self, entered: Entered, share: Share) -> bool:
        """Wait for the others' encrypted shares, and help to read their sum; False if the round is gone."""
        size = self.terms.plan.cohorts * len(share.data)
        try:
            while not (shares := self.session.api.all_shares(share.round, size)):
                pass
        except Refused as error:
            if error.status not in (404, 409, 410):
                raise
            return False
        with self._doing(Doing.COMPUTING), self.places:
            data = entered.help(shares)
        sent = self.session.record(
            f"{share.title}: {DECRYPTION}", data, Form.MASKED, TO_SERVER, round=share.round
        )
        delivered = self._deliver(lambda: self.session.api.put_help(share.round, data))
        self.outbox.append(sent)
        if delivered and self.answerer.unsent:
            self.answerer.unsent.erase(share.round)
        return delivered

    def _of_place(self, get: Callable[[str], T], place: str) -> T:
        """The sums of a place, or how they were compared; Gone where the study has ended meanwhile.

        Distrust if they are kept back.
        """
        try:
            return get(place)
        except Refused as error:
            if error.status != 404:
                raise
            if self.session.api.study().state != RUNNING:
                raise Gone from error
            raise Distrust(
                Problem.QUESTION,
                f"the server goes on from sums that it does not tell (of the place {place} in the study).",
                TELL_BOTH,
            ) from error

    def _tell_of_sums(self, received: int, seconds: float) -> None:
        self.session.count("verifying", seconds)
        self.received += received
        if self.received:
            took = self.session.seconds["verifying"]
            working = len(self.running)
            self.session.tell(StepProgress(VERIFYING, self.received, None, BYTES, working, took=took))

    def _put(self, share: Share, keeps: bool) -> bool:
        put = self.session.api.put_share
        delivered = self._deliver(lambda: put(share.round, share.nonce, share.data, keeps))
        if delivered and self.answerer.unsent and not self.answerer.carrier:
            self.answerer.unsent.erase(share.round)
        return delivered

    def _deal(self, dealing: Dealing) -> bool:
        """Deliver what a round is compared by; False where the server no longer waits for it."""
        quantity = f"{dealing.title}: {DEALING}"
        sent = self.session.record(quantity, dealing.data, Form.CLEAR, TO_SERVER, round=dealing.round)
        delivered = self._deliver(lambda: self.session.api.put_dealing(dealing.round, dealing.data))
        self.outbox.append(sent)
        return delivered

    @contextlib.contextmanager
    def _doing(self, doing: Doing) -> Iterator[None]:
        """Have the requests of this time tell what is being done: computing, if anything is computed."""
        self._count(doing, 1)
        try:
            yield
        finally:
            self._count(doing, -1)

    def _count(self, doing: Doing, more: int) -> None:
        with self.lock:
            self.at_work[doing] += more
            busy = (each for each in (Doing.COMPUTING, Doing.SENDING) if self.at_work[each])
            self.session.api.doing = next(busy, Doing.WAITING)

    def _check_files(self) -> None:
        """DataChanged if a file is no longer the accepted one. Looks into none whose size and time stay."""
        stamps = [_stamp(path) for path in self.options.paths.values()]
        if stamps != self.stamps:
            guard(self.session.saved.files, self.options.paths)
            self.stamps = stamps

    def _deliver(self, put: Callable[[], None]) -> bool:
        """Deliver a part of an answer; False if the server no longer waits for it."""
        with self._doing(Doing.SENDING), self.session.clock("sending"):
            try:
                put()
            except Refused as error:
                if error.status not in (404, 409, 410):
                    raise
                return False  # the next look at the study says why
        return True

    def _collect(self) -> Iterator[Event]:
        """Take note of the questions that are answered; raises what went wrong with one."""
        # First all that are done: the dictionary must not change while it is gone through.
        finished = [round_number for round_number, future in self.running.items() if future.done()]
        for round_number in finished:
            share = self.running.pop(round_number).result()
            if share is not None:
                yield self._progress(share)
        while self.outbox:
            yield self.outbox.pop(0)
        if finished and not self.running:
            yield from self._report_timing()

    def _progress(self, share: Share) -> StepProgress:
        """Return the progress of a step, now that this share is delivered."""
        title, working = share.progress, len(self.running)
        if not share.variants:
            self.done[title] += 1
            return StepProgress(title, self.done[title], None, "questions", working)
        now, total = time.monotonic(), self.alignments.variants
        pace = self.paces.setdefault(title, Pace(now - share.seconds, share.start))
        pace.add(share.start, share.variants)
        return StepProgress(
            title,
            pace.done(total),
            total,
            "variants",
            working,
            left=pace.left(total, now),
            is_last=title == self.last_pass,
        )

    def _report_timing(self) -> Iterator[Event]:
        """Tell the coordinator now and then how long what takes; no answer is waited for."""
        if time.monotonic() - self.reported > _TIMING_EVERY:
            self.reported = time.monotonic()
            yield from self.session.report_timing()

    def _is_void(self, found: Questions) -> Generator[Event, None, bool]:
        """Tell whether what was accepted no longer holds; report pauses, and who is missing, too."""
        self.known = found.state, self.known[1]
        if found.state == RUNNING and self.paused is not None:
            self.paused = None
            yield Resumed()
        if found.items or self.running or found.state in OVER:
            return False
        study = yield from self.session.study()
        self.known = study.state, study.version
        check_identity(study, self.session.saved)
        if study.state == PAUSED and study.reason != self.paused:
            self.paused = study.reason
            yield Paused(study.reason)
        if study.state in BEFORE:
            if study.cohort_state == "joined" or changed_terms(self.session, study):
                return True
            if study.list_apart is not None:
                raise ListApart(study.list_apart, by_list=False)
            if study.cohort_state != "ready":
                # The server may want the list after all: the cohort that had the same one left it out.
                yield from self.alignments.announce(self.session, self.terms)
        yield from self._tell_for_whom(study)
        return False

    def _tell_for_whom(self, study: Study) -> Iterator[Event]:
        names = tuple(name for name in study.waiting_for if name != study.cohort)
        if study.state == RUNNING:
            yield from self.session.waiting("the sums of the other cohorts' answers", names, study.waits)
        elif study.state in BEFORE:
            what = "the other cohorts to be ready" if names else "the study to start"
            yield from self.session.waiting(what, names, study.waits)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        return stamp(path)
    except OSError:
        return None
