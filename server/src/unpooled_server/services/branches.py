"""A study's procedures in the database: begun, gone on with and ended, each change in one transaction.

A branch is always run again from what is kept of it, also where this very process has run it before: so what
happens after a crash is what happens always. What it does next is found out first; then it is stored, under
the study's lock, if nobody else was faster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from typing import Any

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
# PostgreSQL takes up to 1 GB in a field, but holds a row several times over while it writes or reads it.
_LONGEST = 1 << 24
"""Bytes of a row of what is kept of a branch."""


@dataclass(frozen=True)
class Progress:
    """Progress of a branch until it waited, or ended. Its rows are on disk; nothing else is stored yet."""

    procedure: str
    kept: bytes | None
    """The arguments, or the value of one that has ended; None if its journal goes on."""
    waits_for: Question | Each | None
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
    """Continue a branch with what it has waited for; `waited_for` is the digest of that. Nothing is stored.

    Raises OvertakenError if it waits for something else by now, OtherRelease, and ProtocolError where it does
    not ask again what it has asked.
    """
    # One statement, so that the branch and what is kept of it are of one moment; row by row, for the memory.
    kept = Kept.objects.filter(branch=branch_id, branch__waits_for=waited_for).select_related("branch")
    branch, arguments, journal = None, BytesIO(), []
    for row in kept.iterator(chunk_size=1):
        branch = row.branch
        if row.asked:
            journal.append(Entry(bytes(row.asked), bytes(row.data)))
        else:
            arguments.write(row.data)
    if branch is None:
        raise OvertakenError
    if branch.release != RELEASE:
        raise OtherRelease(branch.release, RELEASE)
    call = PROCEDURES[branch.procedure].call(given(study), arguments.getvalue())
    running = Running.again(call, journal, questions_of(study.plan), waited_for)
    return _progress(study, running, running.go_on(running.read(came)))


def _progress(study: Study, running: Running, outcome: Outcome, *, is_new: bool = False) -> Progress:
    rows = [
        RowFile(
            study=study,
            name=store.keep_rows(study.pk, part.columns),
            table=part.table,
            columns=list(part.columns),
        )
        for part in outcome.rows
    ]
    # At once: arguments and value can be large, and are not held while this is stored.
    kept = None
    if outcome.waits_for is None:
        kept = codec.encode(outcome.value)
    elif is_new or outcome.replaced:
        kept = codec.encode(running.call.arguments)
    calls = outcome.waits_for.calls if isinstance(outcome.waits_for, Each) else ()
    children, finishes = ([begun(study, call) for call in some] for some in (calls, outcome.finishes))
    return Progress(running.call.procedure.name, kept, outcome.waits_for, rows, children, finishes)


def store_first(study: Study, progress: Progress, *, is_whole: bool) -> None:
    """Store the branch from which all others come: of the whole study, or of what is asked before it."""
    branch = Branch(path="" if is_whole else None)
    _store_new(study, [(branch, progress)])


def store_next(study: Study, branch: Branch, came: bytes, progress: Progress) -> None:
    """Store what a branch did with what came, inside the transaction in which that is settled.

    BoundError if the sum of a new question could overflow.
    """
    if progress.kept is not None:
        branch.kept.all().delete()
        _keep([(branch, progress)])
    else:
        number = branch.kept.count()
        Kept.objects.create(branch=branch, number=number, asked=branch.waits_for, data=came)
    branch.asked += branch.state == BranchState.ASKING  # as it was, when what came was waited for
    branch.state, branch.procedure = progress.state, progress.procedure
    branch.waits_for = driver.digest(progress.waits_for)
    branch.save(update_fields=["state", "procedure", "waits_for", "asked"])
    _store_doings(study, [(branch, progress)])
    if progress.state == BranchState.ENDED and branch.parent_id is not None:
        _tell_parent(branch.parent_id)
    unfinished = Round.objects.filter(study=study, state__in=UNFINISHED)
    if Branch.objects.filter(study=study, state=BranchState.DUE).exists() or not unfinished.exists():
        touch(study.pk, last_sum_at=timezone.now())
        doorbell.ring_study(study.pk)


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
    rows = [
        Kept(branch=branch, number=number, data=part)
        for branch, progress in pairs
        for number, part in enumerate(_parts(progress.kept or b""))
    ]
    Kept.objects.bulk_create(row for row in rows if len(row.data) < _LONGEST)
    for row in rows:
        if len(row.data) == _LONGEST:  # one by one: a database holds what it is given, and once more the row
            row.save(force_insert=True)


def _parts(data: bytes) -> Iterator[memoryview]:
    for start in range(0, max(len(data), 1), _LONGEST):
        yield memoryview(data)[start : start + _LONGEST]


def _store_doings(study: Study, pairs: Sequence[tuple[Branch, Progress]]) -> None:
    """Store the rows of branches, and ask what they wait for."""
    RowFile.objects.bulk_create(row for _, progress in pairs for row in progress.rows)
    asked = [(branch, progress.waits_for) for branch, progress in pairs]
    _open_rounds(study, [(branch, found) for branch, found in asked if isinstance(found, Question)])
    for branch, progress in pairs:
        if progress.children or progress.finishes:
            _store_begun(study, branch, progress)


def _open_rounds(study: Study, asked: Iterable[tuple[Branch, Question]]) -> None:
    opened = [_round(study, branch, question) for branch, question in asked]
    Round.objects.bulk_create(opened)
    Asked.objects.bulk_create(one.asked for one in opened)


def _round(study: Study, branch: Branch, question: Question) -> Round:
    plan, salt, message = study.plan, os.urandom(masking.SALT_BYTES), questions.encode(question)
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
        question=masking.question(salt, message, bytes.fromhex(study.panel_digest)),
        scheme=scheme.label,
        words=words,
        circuit=circuit,
    )
    opened.asked = Asked(round=opened, message=message)
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
    values: dict[int, list[bytes | memoryview]] = {}
    kept = Kept.objects.filter(branch__in=children).order_by("branch__place", "number")
    for branch_id, data in kept.values_list("branch", "data"):
        values.setdefault(branch_id, []).append(data)
    came = driver.values_bytes(map(b"".join, values.values()))
    progress = gone_on(study, branch.pk, bytes(branch.waits_for), came)
    with locked(study.pk) as fresh:
        if fresh.state not in LIVE:
            return
        # Whoever turns it has won: another worker that went on with the same branch finds it no longer due.
        if not Branch.objects.filter(pk=branch.pk, state=BranchState.DUE).update(state=BranchState.WAITING):
            return
        children.update(state=BranchState.TAKEN)
        Kept.objects.filter(branch__in=values).delete()
        store_next(study, branch, came, progress)
