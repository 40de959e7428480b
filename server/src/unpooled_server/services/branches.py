"""A study's procedures in the database: begun, gone on with and ended, each change in one transaction.

A branch is always run again from what is kept of it, also where this very process has run it before: so what
happens after a crash is what happens always. What it does next is found out first; then it is stored, under
the study's lock, if nobody else was faster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, cast

from django.db import transaction
from django.utils import timezone

from unpooled.asking import driver, procedure
from unpooled.asking import question as questions
from unpooled.asking.driver import Entry, Outcome, Running
from unpooled.asking.procedure import PROCEDURES, Call, Each
from unpooled.asking.question import Question
from unpooled.methods import questions_of, with_chunks
from unpooled.protocol import codec, masking, two_party
from unpooled_server.bells import doorbell
from unpooled_server.errors import OtherRelease
from unpooled_server.models import Asked, Branch, Kept, Round, RowFile, Study
from unpooled_server.names import LIVE, UNFINISHED, BranchState
from unpooled_server.services import panels
from unpooled_server.services.joining import locked
from unpooled_server.services.transitions import touch
from unpooled_server.storage import store

RELEASE = version("unpooled-core")


@dataclass(frozen=True)
class Content:
    """Bytes of a row, or the file in which they lie already, where they are many."""

    data: bytes
    file: str = ""

    @classmethod
    def of(cls, study: Study, pieces: Sequence[bytes | memoryview]) -> Content:
        """Keep bytes that are given in pieces."""
        if sum(memoryview(piece).nbytes for piece in pieces) < store.LARGE:
            return cls(b"".join(pieces))
        return cls(b"", store.keep_state(study.pk, pieces))

    def read(self, study: Study) -> bytes:
        """The bytes; store.LostFile. Those in a file are mapped, which reads as bytes do."""
        return cast(bytes, store.load_state(study.pk, self.file)) if self.file else self.data


@dataclass(frozen=True)
class Progress:
    """Progress of a branch until it waited, or ended. Its rows are on disk; nothing else is stored yet."""

    procedure: str
    kept: Content | None
    """The arguments, or the value of one that has ended; None if its journal goes on."""
    waits_for: Question | Each | None
    asks: Content | None
    """The question that it waits for, encoded."""
    came: Content | None
    """Is what it had waited for, if its journal goes on with that."""
    rows: Sequence[RowFile]
    children: Sequence[Progress]
    """The branches that it waits for, already begun."""
    finishes: Sequence[Progress]
    """Branches that it has begun and does not wait for."""

    @property
    def state(self) -> BranchState:
        match self.waits_for:
            case Question():
                return BranchState.ASKING
            case Each():
                ended = all(child.state == BranchState.ENDED for child in self.children)
                return BranchState.DUE if ended else BranchState.WAITING
        return BranchState.ENDED


def given(study: Study) -> procedure.Study:
    """Return what the study's procedures are given."""
    return procedure.Study(with_chunks(study.plan), lambda: panels.agreed(study))


def begun(study: Study, call: Call[Any]) -> Progress:
    """Begin a branch. Nothing is stored."""
    running = Running(call, questions_of(study.plan))
    return _progress(study, running, running.go_on(), is_new=True)


class OvertakenError(Exception):
    """Another worker has gone on with the branch meanwhile: there is nothing left to do."""


def gone_on(study: Study, branch_id: int, waited_for: bytes, came: bytes) -> Progress:
    """Continue a branch with what it has waited for; `waited_for` is the digest of that. No row is stored.

    Raises OvertakenError if it waits for something else by now, OtherRelease, and ProtocolError where it does
    not ask again what it has asked.
    """
    # One statement, so that the branch and what is kept of it are of one moment; row by row, for the memory.
    kept = Kept.objects.filter(branch=branch_id, branch__waits_for=waited_for).select_related("branch")
    branch, arguments, journal = None, b"", []
    try:
        for row in kept.iterator(chunk_size=1):
            branch, data = row.branch, Content(bytes(row.data), row.file).read(study)
            if row.asked:
                journal.append(Entry(bytes(row.asked), data))
            else:
                arguments = data
    except store.LostFile:
        # Not if another worker has gone on twice since the row was read: then the file was erased.
        if Branch.objects.filter(pk=branch_id, waits_for=waited_for).exists():
            raise
        raise OvertakenError from None
    if branch is None:
        raise OvertakenError
    if branch.release != RELEASE:
        raise OtherRelease(branch.release, RELEASE)
    call = PROCEDURES[branch.procedure].call(given(study), arguments)
    running = Running.again(call, journal, questions_of(study.plan), waited_for)
    waits_for, values = running.waits_for, running.read(came)
    # Nor does the caller keep what came: of a large network every array that is held counts.
    del call, arguments, journal, data, came
    outcome = running.go_on(values)
    goes_on = outcome.waits_for is not None and not outcome.replaced
    entry = Content.of(study, [driver.came_bytes(waits_for, values)]) if goes_on else None
    del values
    return _progress(study, running, outcome, entry)


def _progress(
    study: Study, running: Running, outcome: Outcome, came: Content | None = None, *, is_new: bool = False
) -> Progress:
    rows = [
        RowFile(
            study=study,
            name=store.keep_rows(study.pk, part.columns),
            table=part.table,
            columns=list(part.columns),
        )
        for part in outcome.rows
    ]
    # At once: arguments and value can be large, and are not held while this is stored. Files come before the
    # rows that name them, and outside the transaction, which nobody has to wait for.
    kept = asks = None
    if outcome.waits_for is None:
        kept = Content.of(study, codec.pieces(outcome.value))
    elif is_new or outcome.replaced:
        kept = Content.of(study, codec.pieces(running.call.arguments))
    if isinstance(outcome.waits_for, Question):
        asks = Content.of(study, questions.pieces(outcome.waits_for))
    calls = outcome.waits_for.calls if isinstance(outcome.waits_for, Each) else ()
    children, finishes = ([begun(study, call) for call in some] for some in (calls, outcome.finishes))
    name = running.call.procedure.name
    return Progress(name, kept, outcome.waits_for, asks, came, rows, children, finishes)


def store_first(study: Study, progress: Progress, *, is_whole: bool) -> None:
    """Store the branch from which all others come: of the whole study, or of what is asked before it."""
    branch = Branch(path="" if is_whole else None)
    _store_new(study, [(branch, progress)])


def store_next(study: Study, branch: Branch, progress: Progress) -> None:
    """Store what a branch did with what came, inside the transaction in which that is settled.

    BoundError if the sum of a new question could overflow.
    """
    if progress.kept is not None:
        _supersede(study, branch)
        _keep([(branch, progress)])
    elif came := progress.came:
        number = branch.kept.count()
        Kept.objects.create(
            branch=branch, number=number, asked=branch.waits_for, data=came.data, file=came.file
        )
    branch.asked += branch.state == BranchState.ASKING  # as it was, when what came was waited for
    branch.state, branch.procedure = progress.state, progress.procedure
    branch.waits_for = driver.digest(progress.waits_for)
    branch.save(update_fields=["state", "procedure", "waits_for", "asked", "last_files"])
    _store_doings(study, [(branch, progress)])
    if progress.state == BranchState.ENDED and branch.parent_id is not None:
        _tell_parent(branch.parent_id)
    unfinished = Round.objects.filter(study=study, state__in=UNFINISHED)
    if Branch.objects.filter(study=study, state=BranchState.DUE).exists() or not unfinished.exists():
        touch(study.pk, last_sum_at=timezone.now())
        doorbell.ring_study(study.pk)


def _supersede(study: Study, branch: Branch) -> None:
    """Delete what is kept of a branch, in whose place something else comes.

    Files stay for one more state: a worker that has read the row may be about to read them.
    """
    files = [file for file in branch.kept.values_list("file", flat=True) if file]
    branch.kept.all().delete()
    drop_files(study, branch.last_files)
    branch.last_files = files


def drop_files(study: Study, files: Iterable[str]) -> None:
    """Delete files that no row names any more, once that is certain."""
    gone = [file for file in files if file]
    transaction.on_commit(lambda: store.drop_states(study.pk, gone))


def forget(study: Study, progress: Progress) -> None:
    """Delete the files of what is not stored, since another worker was faster."""
    drop_files(study, (content.file for content in (progress.kept, progress.asks, progress.came) if content))
    for child in (*progress.children, *progress.finishes):
        forget(study, child)


def _store_new(study: Study, pairs: Sequence[tuple[Branch, Progress]]) -> None:
    for branch, progress in pairs:
        branch.study, branch.release = study, RELEASE
        branch.procedure, branch.state = progress.procedure, progress.state
        branch.waits_for = driver.digest(progress.waits_for)
    Branch.objects.bulk_create(branch for branch, _ in pairs)
    _keep(pairs)
    _store_doings(study, pairs)


def _store_begun(study: Study, branch: Branch, progress: Progress) -> None:
    """Store the branches that one has begun, numbered as `driver.Tree` numbers them."""
    begun = [(None, one) for one in progress.finishes] + [(branch, one) for one in progress.children]
    path = branch.path
    pairs = [
        (Branch(parent=parent, place=place, path=None if path is None else driver.label(path, place)), one)
        for place, (parent, one) in enumerate(begun, branch.begun)
    ]
    branch.begun += len(pairs)
    branch.save(update_fields=["begun"])
    _store_new(study, pairs)


def _keep(pairs: Iterable[tuple[Branch, Progress]]) -> None:
    """Keep the arguments of branches, or the values of those that have ended."""
    Kept.objects.bulk_create(
        Kept(branch=branch, number=0, data=progress.kept.data, file=progress.kept.file)
        for branch, progress in pairs
        if progress.kept is not None
    )


def _store_doings(study: Study, pairs: Sequence[tuple[Branch, Progress]]) -> None:
    """Store the rows of branches, and ask what they wait for."""
    RowFile.objects.bulk_create(row for _, progress in pairs for row in progress.rows)
    asked = [(branch, progress.waits_for, progress.asks) for branch, progress in pairs]
    _open_rounds(
        study,
        [(branch, found, asks) for branch, found, asks in asked if isinstance(found, Question) and asks],
    )
    for branch, progress in pairs:
        if progress.children or progress.finishes:
            _store_begun(study, branch, progress)


def _open_rounds(study: Study, asked: Iterable[tuple[Branch, Question, Content]]) -> None:
    opened = [_round(study, *each) for each in asked]
    Round.objects.bulk_create(opened)
    Asked.objects.bulk_create(one.asked for one in opened)


def _round(study: Study, branch: Branch, question: Question, asks: Content) -> Round:
    plan, salt = study.plan, os.urandom(masking.SALT_BYTES)
    scheme = plan.scheme(question.ring_bits)
    questions.check_fits(question, scheme, plan.cohorts)
    words, circuit = questions.words(question, scheme), question.opens.circuit if question.opens else ""
    if circuit:
        two_party.lengths(scheme.label, circuit, words)  # refuses what cannot be compared
    opened = Round(
        study=study,
        branch=branch,
        step_name=question.name,
        turn=question.turn,
        salt=salt,
        question=masking.question(salt, questions.pieces(question), bytes.fromhex(study.panel_digest)),
        scheme=scheme.label,
        words=words,
        circuit=circuit,
    )
    opened.asked = Asked(round=opened, message=asks.data, file=asks.file)
    return opened


def _tell_parent(parent_id: int) -> None:
    """Note that a branch can go on, if this was the last of those that it waits for."""
    # The study's lock makes branches that end together see each other.
    at_work = [BranchState.ASKING, BranchState.WAITING, BranchState.DUE]
    if not Branch.objects.filter(parent=parent_id, state__in=at_work).exists():
        Branch.objects.filter(pk=parent_id, state=BranchState.WAITING).update(state=BranchState.DUE)


def due(study: Study) -> list[Branch]:
    """The branches whose own branches have ended."""
    return list(Branch.objects.filter(study=study, state=BranchState.DUE))


def resume(study: Study, due: Sequence[Branch]) -> None:
    """Continue branches that are due."""
    for branch in due:
        with suppress(OvertakenError):
            _resume(study, branch)


def _resume(study: Study, branch: Branch) -> None:
    children = branch.children.filter(state=BranchState.ENDED)
    kept = list(Kept.objects.filter(branch__in=children).order_by("branch__place"))
    values = [Content(bytes(row.data), row.file).read(study) for row in kept]
    came = [driver.values_bytes(map(bytes, values))]
    del values
    progress = gone_on(study, branch.pk, bytes(branch.waits_for), came.pop())
    with locked(study.pk) as fresh:
        if fresh.state not in LIVE:
            return
        # Whoever turns it has won: another worker that went on with the same branch finds it no longer due.
        if not Branch.objects.filter(pk=branch.pk, state=BranchState.DUE).update(state=BranchState.WAITING):
            forget(study, progress)
            return
        for files in children.values_list("last_files", flat=True):
            drop_files(study, files)
        children.update(state=BranchState.TAKEN)
        Kept.objects.filter(pk__in=[row.pk for row in kept]).delete()
        drop_files(study, (row.file for row in kept))
        store_next(study, branch, progress)
