"""Runs procedures: one branch of a study at a time, from what is stored of it, or onwards from where it is.

Of a branch, a call is stored, and a journal of what it has waited for and what came back. `Go` replaces the
call and empties the journal. A branch that is not in memory is run again from its call through its journal.
It must then ask the same, to the byte: nothing is ever asked twice.

The server keeps branches in its database, and an in-process run in a list (`unpooled.run`); both go on by the
`Running` here.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled import question as questions
from unpooled.errors import ProtocolError
from unpooled.procedure import Call, Each, Go, Rows
from unpooled.protocol import codec
from unpooled.question import Arrays, Question

CHANGED = (
    "the study cannot continue: replayed from what is stored, it asks something different. Continue "
    "with the release that began it, on the same kind of machine, or duplicate the study"
)


@dataclass(frozen=True, eq=False)
class Entry:
    """Something that a branch has waited for."""

    asked: bytes
    """Digest of the question, or of the calls."""
    came: bytes
    """The sums, or what the calls returned."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a branch did until it had to wait, or had ended."""

    rows: Sequence[Rows]
    waits_for: Question | Each | None
    """None once it has ended."""
    replaced: bool
    """It goes on as another call, and what its journal has is not needed any more."""
    value: Any
    """Returned in the end."""


class Running:
    """A branch in memory."""

    def __init__(self, call: Call[Any], kinds: Sequence[type[Question]] | None) -> None:
        """`kinds` are all that the study may ask; None for any, where nobody else is asked."""
        self._kinds = None if kinds is None else frozenset(kinds)
        self._begin(call)

    def _begin(self, call: Call[Any]) -> None:
        self.call = call
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
            if running.digest() != entry.asked:
                raise ProtocolError(CHANGED)
            running.go_on(running.read(entry.came))
        if running.digest() != waits_for:
            raise ProtocolError(CHANGED)
        return running

    def go_on(self, came: Any = None) -> Outcome:
        """Run with what was waited for, or from the beginning, until it waits again."""
        rows: list[Rows] = []
        replaced = False
        came = _read_only(came)
        while True:
            try:
                event = self._generator.send(came)
            except StopIteration as end:
                self.waits_for = None
                return Outcome(rows, None, replaced, end.value)
            came = None
            match event:
                case Rows():
                    rows.append(event)
                case Go():
                    self._generator.close()
                    self._begin(event.call)
                    replaced = True
                case Each(calls=()):
                    came = []
                case Question() | Each():
                    self._require_declared(event)
                    self.waits_for = event
                    return Outcome(rows, event, replaced, None)
                case _:
                    raise TypeError(f"{self.call.procedure.name} yields {type(event).__name__}")

    def _require_declared(self, event: Question | Each) -> None:
        if self._kinds is None or not isinstance(event, Question):
            return
        if type(event) not in self._kinds:
            raise TypeError(f"{self.call.procedure.name} asks {event.name}, which is not declared")

    def digest(self) -> bytes:
        """Of what is waited for."""
        return digest(self.waits_for)

    def read(self, came: bytes) -> Any:
        """What was waited for, from its stored form: see `sums_bytes` and `values_bytes`."""
        if isinstance(self.waits_for, Question):
            arrays = codec.decode(came)
            return dict(zip(questions.returns(self.waits_for), arrays, strict=True))
        if self.waits_for is None:
            raise ProtocolError(CHANGED)
        calls = self.waits_for.calls
        return [call.procedure.value(value) for call, value in zip(calls, codec.decode(came), strict=True)]


def digest(waits_for: Question | Each | None) -> bytes:
    """SHA-256 of a question as cohorts receive it, or of calls; empty for nothing."""
    match waits_for:
        case Question():
            return hashlib.sha256(questions.encode(waits_for)).digest()
        case Each():
            calls = tuple((call.procedure.name, call.arguments) for call in waits_for.calls)
            return hashlib.sha256(codec.encode(calls)).digest()
    return b""


def sums_bytes(question: Question, sums: Arrays) -> bytes:
    """Sums, or what is told of them, as a journal keeps them."""
    return codec.encode(tuple(sums[name] for name in questions.returns(question)))


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
