"""Runs procedures: one branch of a study at a time, from what is stored of it, or onwards from where it is.

Of a branch, a call is stored, and a journal of what it has waited for and what came back. `Go` replaces the
call and empties the journal. A branch that is not in memory is run again from its call through its journal.
It must then ask the same, to the byte: nothing is ever asked twice.

The server keeps branches in its database; a `Tree` has those of a whole study in memory. Both use `Running`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled.asking import question as questions
from unpooled.asking.procedure import PROCEDURES, Call, Each, Finish, Go, Later, Rows, Study
from unpooled.asking.question import Arrays, Question
from unpooled.errors import CodecError, ProtocolError
from unpooled.memory.spool import Shelf
from unpooled.protocol import codec

CHANGED = (
    "the study cannot continue: replayed from what is stored, it asks something different. Continue "
    "with the release that began it, on the same kind of machine, or duplicate the study"
)


def label(path: str, number: int) -> str:
    """The label of the place, or the branch, of this number in a branch whose path is a label, too."""
    return f"{path}.{number}" if path else str(number)


_LABEL = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8}))*")  # one spelling of each place


@dataclass(frozen=True, eq=False)
class Entry:
    """Something that a branch has waited for."""

    asked: bytes
    """Digest of the question, or of the calls."""
    came: bytes
    """The sums, or what the calls returned."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Progress of a branch until it had to wait, or had ended."""

    rows: Sequence[Rows]
    finishes: Sequence[Call[Any]]
    """Branches that it has begun and does not wait for."""
    waits_for: Question | Each | None
    """None once it has ended."""
    replaced: bool
    """It goes on as another call, and what its journal has is not needed any more."""
    value: Any
    """Returned in the end."""


def _as_it_is(arguments: Any) -> Any:
    return arguments


class Running:
    """A branch in memory."""

    def __init__(
        self,
        call: Call[Any],
        kinds: Sequence[type[Question]] | None,
        *,
        makes_rows: bool = True,
        keep: Callable[[Any], Any] = _as_it_is,
    ) -> None:
        """`kinds` are all that the study may ask; None for any, where nobody else is asked.

        `keep` puts the arguments of a call where they are kept while the branch waits.
        """
        self._kinds = None if kinds is None else frozenset(kinds)
        self._makes_rows, self._keep = makes_rows, keep
        self._begin(call)

    def _begin(self, call: Call[Any]) -> None:
        self.call = call = dataclasses.replace(call, arguments=self._keep(call.arguments))
        self.waits_for: Question | Each | None = None
        self._generator = iter(call)

    @classmethod
    def again(
        cls, call: Call[Any], journal: Iterable[Entry], kinds: Sequence[type[Question]], waits_for: bytes
    ) -> Running:
        """A branch as it was before: its call, and the entries in their order.

        Raises ProtocolError if it asks for something else than it did, or waits now for something else than
        what has this digest.
        """
        running = cls(call, kinds)
        running.go_on()
        for entry in journal:
            # An answer to another question would be read without complaint, and lead to other sums.
            if running.digest() != entry.asked:
                raise ProtocolError(CHANGED)
            running.go_on(running.read(entry.came))
        if running.digest() != waits_for:
            raise ProtocolError(CHANGED)
        return running

    def go_on(self, came: Any = None) -> Outcome:
        """Run with what was waited for, or from the beginning, until it waits again."""
        rows: list[Rows] = []
        finishes: list[Call[Any]] = []
        replaced = False
        came = _read_only(came)
        while True:
            try:
                event = self._generator.send(came)
            except StopIteration as end:
                self.waits_for = None
                return Outcome(rows, finishes, None, replaced, end.value)
            # What came is for the first yield alone: rows and the like are answered with nothing.
            came = None
            match event:
                case Rows():
                    rows.append(event)
                case Later():
                    rows += event.make() if self._makes_rows else ()
                case Finish():
                    finishes.append(event.call)
                case Go():
                    self._generator.close()
                    self._begin(event.call)
                    replaced = True
                case Each(calls=()):
                    # There is nobody to wait for, so it goes on at once.
                    came = []
                case Question() | Each():
                    self._require_declared(event)
                    self.waits_for = event
                    return Outcome(rows, finishes, event, replaced, None)
                case _:
                    raise TypeError(f"{self.call.procedure.name} yields {type(event).__name__}")

    def _require_declared(self, event: Question | Each) -> None:
        if self._kinds is None or not isinstance(event, Question):
            return
        if type(event) not in self._kinds:
            raise TypeError(f"{self.call.procedure.name} asks {event.name}, which is not declared")

    def rest(self) -> None:
        """Forget all but what is waited for: this run does not go on."""
        self._generator.close()
        del self.call, self._generator

    def digest(self) -> bytes:
        """Return the digest of what is waited for."""
        return digest(self.waits_for)

    def read(self, came: bytes) -> Any:
        """Decode what was waited for from its stored form: see `sums_bytes` and `values_bytes`."""
        if isinstance(self.waits_for, Question):
            return read_sums(self.waits_for, came)
        if self.waits_for is None:
            raise ProtocolError(CHANGED)
        calls = self.waits_for.calls
        came_of = zip(calls, codec.decode(came), strict=True)
        return [call.procedure.value(call.study, value) for call, value in came_of]


@dataclass(frozen=True, order=True)
class Place:
    """Position in a study at which a question is asked."""

    path: tuple[int, ...]
    """The branch: as the how-manieth each on the way to it was begun by the one before, from 0."""
    number: int
    """Number of questions that the branch had asked before, from 0: also as another call, before `Go`."""

    @property
    def label(self) -> str:
        """The numbers of the path, then its own, with points between them: 0.3.2 is question 2 of 0.3."""
        return label(".".join(map(str, self.path)), self.number)

    @classmethod
    def of(cls, label: str) -> Place:
        """The place that a label names; ProtocolError for any other text."""
        if not _LABEL.fullmatch(label):
            raise ProtocolError(f"not a place in a study: {label[:40]!r}")
        *path, number = map(int, label.split("."))
        return cls(tuple(path), number)


@dataclass(frozen=True, eq=False)
class Resting:
    """A study from which everything follows that is asked from now on: nothing else is under way."""

    call: Call[Any]
    """Call of the branch from which all others come."""
    asked: int
    """Number of questions that it has asked before."""
    begun: int
    """Number of branches that it has begun before."""

    def pieces(self) -> list[bytes | memoryview]:
        """Encode it, in pieces of which those of large arrays are no copies."""
        head = codec.encode((self.call.procedure.name, self.asked, self.begun))
        return [len(head).to_bytes(4, "little"), head, *codec.pieces(self.call.arguments)]

    @classmethod
    def of(cls, data: bytes | memoryview, study: Study) -> Resting:
        """Read what `pieces` has written; CodecError for other bytes."""
        length = int.from_bytes(data[:4], "little")
        match codec.decode(bytes(data[4 : 4 + length])):
            case (str(name), int(asked), int(begun)):
                return cls(PROCEDURES[name].call(study, bytes(data[4 + length :])), asked, begun)
        raise CodecError("got something else than a state of a study")


class Tree:
    """All branches of a study in memory, each run only as far as somebody wants to know of it."""

    def __init__(
        self,
        call: Call[Any],
        kinds: Sequence[type[Question]] | None,
        sums: Callable[[Place, Question], Arrays],
        rows: list[Rows] | None = None,
        shelf: Shelf | None = None,
        resting: Resting | None = None,
    ) -> None:
        """`sums` tells those of a question; `rows` collects what the study finds, where that is wanted.

        Without rows nobody has to know the sums that only make rows. On the shelf lies what is large of that
        which branches go on from: all chunks of a list are asked about before the first is gone on with. The
        study goes on from where it was resting, if that is given.
        """
        self.kinds, self.sums, self.rows, self.shelf = kinds, sums, rows, shelf
        self._root = _Branch(self, resting.call if resting else call, ())
        if resting:
            self._root.rest_at(resting.asked, resting.begun)

    def value(self) -> Any:
        """Run the study to its end; what it returns."""
        return self._root.value()

    def question(self, place: Place) -> Question:
        """Return the question that is asked at a place; ProtocolError if none is."""
        try:
            return self._branch(place).question(place.number)
        finally:
            if self.shelf is not None:
                self.shelf.forget()

    @property
    def resting(self) -> Resting | None:
        """The state that the study can go on from later, if it has just come to such a place."""
        return self._root.resting

    def is_told(self, place: Place) -> bool:
        """Tell whether the sums that are asked for at a place lead to anything but rows."""
        return not self._branch(place).finishes

    def _branch(self, place: Place) -> _Branch:
        branch = self._root
        for number in place.path:
            branch = branch.begun(number)
        return branch


class _Branch:
    """A branch in a tree, with those that it has begun and does not know the value of."""

    def __init__(self, tree: Tree, call: Call[Any], path: tuple[int, ...], *, finishes: bool = False) -> None:
        self._tree, self._path, self.finishes = tree, path, finishes
        keep = tree.shelf.kept if tree.shelf else _as_it_is
        self._running = Running(call, tree.kinds, makes_rows=tree.rows is not None, keep=keep)
        self._is_new, self._rests = True, finishes and tree.rows is None  # then nobody knows the sums
        self.rest_at(0, 0)
        self._branches: dict[int, _Branch] = {}
        self._value: Any = None

    def rest_at(self, asked: int, begun: int) -> None:
        """Take it that the call begins where so much was asked and begun before."""
        self._asked, self._begun = self._rest = asked, begun

    @property
    def resting(self) -> Resting | None:
        is_there = self._rest == (self._asked, self._begun) and not self._branches
        if not is_there or not isinstance(self._running.waits_for, Question):
            return None
        return Resting(self._running.call, self._asked, self._begun)

    def value(self) -> Any:
        while self._waits_for is not None:
            self._go_on()
        return self._value

    def question(self, number: int) -> Question:
        while not (isinstance(found := self._waits_for, Question) and self._asked == number):
            if found is None or self._asked > number or self._rests:
                raise ProtocolError(f"the study asks no question {number} in its branch {self._path}")
            self._go_on()
        return found

    def begun(self, number: int) -> _Branch:
        while self._waits_for is not None and not self._rests and number >= self._begun:
            self._go_on()
        if number not in self._branches:
            raise ProtocolError(f"the study has no branch {number} in its branch {self._path}")
        return self._branches[number]

    @property
    def _waits_for(self) -> Question | Each | None:
        """The question or the calls that it waits for; None once it has ended. The first access begins the
        branch.
        """
        if self._is_new:
            self._is_new = False
            self._take(self._running.go_on())
            if self._rests:
                self._running.rest()
        return self._running.waits_for

    def _go_on(self) -> None:
        came: Any
        match self._running.waits_for:
            case Question() as question:
                came = self._tree.sums(Place(self._path, self._asked), question)
                self._asked += 1
            case Each(calls=calls):
                numbers = range(self._begun - len(calls), self._begun)
                came = [self._branches[number].value() for number in numbers]
                for number in numbers:
                    # A study has thousands of chunks: what each was about is not to stay in memory.
                    del self._branches[number]
        self._take(self._running.go_on(came))

    def _take(self, outcome: Outcome) -> None:
        if self.finishes and self._asked and (outcome.waits_for is not None or outcome.finishes):
            raise TypeError(f"{self._running.call.procedure.name} finishes, and asks a second question")
        if outcome.replaced:
            self._rest = self._asked, self._begun
        for call in outcome.finishes:
            self._begin(call, finishes=True)
        if isinstance(outcome.waits_for, Each):
            for call in outcome.waits_for.calls:
                self._begin(call)
        self._value = outcome.value
        if self._tree.rows is not None:
            self._tree.rows += outcome.rows
            # What finishes makes rows and nothing else, so its sums need not be kept until the end.
            for number in [number for number, branch in self._branches.items() if branch.finishes]:
                self._branches.pop(number).value()

    def _begin(self, call: Call[Any], *, finishes: bool = False) -> None:
        path = (*self._path, self._begun)
        self._branches[self._begun] = _Branch(self._tree, call, path, finishes=finishes)
        self._begun += 1


def digest(waits_for: Question | Each | None) -> bytes:
    """SHA-256 of a question as cohorts receive it, or of calls; empty for nothing."""
    match waits_for:
        case Question():
            found = hashlib.sha256()
            for piece in questions.pieces(waits_for):
                found.update(piece)
            return found.digest()
        case Each():
            calls = tuple((call.procedure.name, call.arguments) for call in waits_for.calls)
            return hashlib.sha256(codec.encode(calls)).digest()
    return b""


def sums_bytes(question: Question, sums: Arrays) -> bytes:
    """Sums, or what is told of them, as a journal keeps them."""
    return codec.encode(tuple(sums[name] for name in questions.returns(question)))


def came_bytes(waits_for: Question | Each | None, came: Any) -> bytes:
    """Encode what was waited for as a journal keeps it, and `Running.read` reads it."""
    if isinstance(waits_for, Question):
        return sums_bytes(waits_for, came)
    return values_bytes(map(codec.encode, came))


def read_sums(question: Question, came: bytes) -> Arrays:
    """The sums that `sums_bytes` has written; CodecError or ValueError for other bytes."""
    return dict(zip(questions.returns(question), codec.decode(came), strict=True))


def values_bytes(values: Iterable[bytes]) -> bytes:
    """Values, each encoded, as a journal keeps them."""
    return codec.encode(tuple(values))


def _read_only(came: Any) -> Any:
    """The same, in whose arrays nothing can be changed: nor could it in those of a journal."""
    match came:
        case np.ndarray():
            came.flags.writeable = False
        case dict():
            _read_only(list(came.values()))
        case list() | tuple():
            for value in came:
                _read_only(value)
        case _ if dataclasses.is_dataclass(came):
            _read_only([getattr(came, field.name) for field in dataclasses.fields(came)])
    return came
