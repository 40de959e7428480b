"""A procedure: it asks the questions of a study, and continues with the sums.

    @procedure("mean")
    def mean(study: Study) -> Asks[None]:
        people = (yield CountPeople())["people"]        # asked of all cohorts; back come the sums
        total = (yield SumPhenotype())["total"]
        yield Rows("means", {"index": np.arange(1), "mean": total / people})

A procedure is a generator that yields

    a `Question`    and gets its sums, checked against what the question declares
    `Each(calls)`   other procedures side by side, and gets what they return, in order
    `Rows(…)`       finished rows of a result; `Rows.later(make)` where only the server is to make them
    `Finish(call)`  a procedure that asks one more question and makes rows of its sums: nobody waits for it
    `Go(call)`      and goes on as another procedure; what was before is forgotten

and `yield from` runs a call in its own place. It is pure: it knows no clock, no chance and no file. So what
runs can be stored as the name, the arguments and the sums that came in since, and is run again from there
wherever it is not in memory (`unpooled.asking.driver`). What LAPACK or a C library has computed only makes
rows: a second machine might find another last bit, and ask something else. What takes long goes on by `Go`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar

import numpy as np

from unpooled import method_modules
from unpooled.asking.question import Question
from unpooled.errors import CodecError
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.protocol import codec

P = ParamSpec("P")
T = TypeVar("T")

Asks: TypeAlias = Generator[Any, Any, T]
"""Generator that the function of a procedure returns, which returns a T in the end."""


@dataclass(frozen=True)
class Study:
    """The study as every procedure is given it. It is never stored with one."""

    plan: Plan
    load_panel: Callable[[], Panel]
    chromosome: int | None = None
    """The only one that is asked about, where a view of the study is of one: its code, 0 for all that are no
    autosomes."""
    begun: Any = None
    """Knowledge that such a view begins with, as the method has it."""

    @functools.cached_property
    def panel(self) -> Panel:
        """The variants that the cohorts have agreed on; of a study of tables none."""
        return self.load_panel()


@dataclass(frozen=True, eq=False)
class Rows:
    """Finished result rows: columns of equal length for a named table.

    The first is the index by which the table is sorted: of a variant in the panel, of a feature in the plan.
    """

    table: str
    columns: Mapping[str, np.ndarray]

    @staticmethod
    def later(make: Callable[[], Iterable[Rows]]) -> Later:
        """Rows that whoever writes results has made; a cohort that only follows the study drops them."""
        return Later(make)


@dataclass(frozen=True, eq=False)
class Later:
    """Rows that are not made yet."""

    make: Callable[[], Iterable[Rows]]


@dataclass(frozen=True, eq=False)
class Call(Generic[T]):
    """A procedure with its arguments, not begun yet. `yield from` runs it."""

    procedure: Procedure[Any, T]
    study: Study
    arguments: tuple[Any, ...]

    def __iter__(self) -> Asks[T]:
        return self.procedure.function(self.study, *self.arguments)

    @property
    def stored(self) -> tuple[str, bytes]:
        """Return it as another procedure's arguments hold it: its name, and its own arguments."""
        return self.procedure.name, codec.encode(self.arguments)


class Each:
    """Runs calls side by side; their values come back in this order."""

    def __init__(self, calls: Iterable[Call[Any]]) -> None:
        self.calls = tuple(calls)


@dataclass(frozen=True, eq=False)
class Finish:
    """Runs a call that asks a single question and makes rows of its sums.

    Nothing that is asked later depends on these sums, so nobody but the server needs to know them.
    """

    call: Call[Any]
    may_lead: bool = False
    """True if leads can be among the rows: cohorts of a study that looks for these are told the sums."""


@dataclass(frozen=True, eq=False)
class Go(Generic[T]):
    """Goes on as another procedure in the place of this one: `return (yield from Go(call))`."""

    call: Call[T]

    def __iter__(self) -> Asks[T]:
        yield self
        raise AssertionError("a procedure that goes on as another is not gone on with")


class Procedure(Generic[P, T]):
    """A procedure that may run as a branch of its own: its arguments and its value can be stored."""

    def __init__(self, name: str, function: Callable[Concatenate[Study, P], Asks[T]]) -> None:
        self.name, self.function = name, function
        self._signature = inspect.signature(function)

    def __call__(self, study: Study, *args: P.args, **kwargs: P.kwargs) -> Call[T]:
        bound = self._signature.bind(study, *args, **kwargs)
        bound.apply_defaults()
        return Call(self, study, bound.args[1:])

    def call(self, study: Study, arguments: bytes) -> Call[T]:
        """The call whose arguments were stored; CodecError for others."""
        return Call(self, study, self._decoded(study, arguments))

    def value(self, study: Study, data: bytes) -> T:
        """The value that was stored."""
        return typing.cast(T, self._decoded(study, data))

    def _decoded(self, study: Study, data: bytes) -> Any:
        def plan_of(kind: type[Question]) -> Plan:
            return kind.plan_of(study.plan)

        try:
            return codec.decode(data, self._records, plan_of)
        except CodecError:  # perhaps for a record of a method that was not loaded when these were collected
            method_modules.load_all()
            vars(self).pop("_records", None)
            return codec.decode(data, self._records, plan_of)

    @functools.cached_property
    def _records(self) -> dict[str, type]:
        """The records that arguments and value can hold, from the annotations of the function."""
        found: dict[str, type] = {}
        for hint in typing.get_type_hints(self.function).values():
            _collect_records(hint, found)
        return found


def _collect_records(hint: Any, found: dict[str, type]) -> None:
    for part in typing.get_args(hint):
        _collect_records(part, found)
    if dataclasses.is_dataclass(hint) and hint is not Study and hint not in found.values():
        if hasattr(hint, "name"):  # a base of records need not be one
            found[hint.name] = hint  # type: ignore[assignment]
        for field in typing.get_type_hints(hint).values():
            _collect_records(field, found)
        for subclass in hint.__subclasses__():  # type: ignore[union-attr]
            _collect_records(subclass, found)


class _Procedures(dict[str, Procedure[Any, Any]]):
    """Procedures by name; what declares one is imported when it is first looked up."""

    def __missing__(self, name: str) -> Procedure[Any, Any]:
        method_modules.load(name)
        if name not in self:
            raise KeyError(name)
        return self[name]


PROCEDURES = _Procedures()
"""All that can run as branches, by the names under which they are stored."""


def procedure(name: str) -> Callable[[Callable[Concatenate[Study, P], Asks[T]]], Procedure[P, T]]:
    """Makes a generator function a procedure that is stored under this name."""

    def declare(function: Callable[Concatenate[Study, P], Asks[T]]) -> Procedure[P, T]:
        if name in PROCEDURES:
            raise ValueError(f"two procedures are called {name}")
        PROCEDURES[name] = made = Procedure(name, function)
        return made

    return declare


def through(
    call: Call[T], around: Callable[[Call[Any]], Call[Any]], handle: Callable[[Any], Asks[Any]]
) -> Asks[T]:
    """Run a procedure within another, which sees or changes what it yields.

    `handle` deals with each thing that it yields, and returns what it gets for that. Where it goes on as
    another procedure, `around` makes the call of this one around that.
    """
    running, came = iter(call), None
    while True:
        try:
            event = running.send(came)
        except StopIteration as end:
            return typing.cast(T, end.value)
        if isinstance(event, Go):
            running.close()  # it would never be sent anything again, and holds what it has computed
            return typing.cast(T, (yield from Go(around(event.call))))
        came = yield from handle(event)


def on_a_view(
    call: Call[Any],
    around: Callable[[Call[Any]], Call[bytes]],
    ask: Callable[[Question], Question],
    rows: Callable[[Rows], Rows] = lambda rows: rows,
) -> Asks[bytes]:
    """Run a procedure on a view of the study: give its value, encoded.

    `ask` makes what it asks a question of the study, and `rows` its rows those of the study; `around` calls
    whatever runs a further procedure on the same view.
    """

    def handed_on(event: Any) -> Asks[Any]:
        match event:
            case Question():
                return (yield ask(event))
            case Rows():
                yield rows(event)
            case Later():
                yield Rows.later(lambda: map(rows, event.make()))
            case Finish():
                yield dataclasses.replace(event, call=around(event.call))
            case Each():
                values = yield Each(map(around, event.calls))
                pairs = zip(event.calls, values, strict=True)
                return [each.procedure.value(each.study, value) for each, value in pairs]
            case _:
                raise TypeError(f"{call.procedure.name} yields {type(event).__name__}")

    return codec.encode((yield from through(call, around, handed_on)))
