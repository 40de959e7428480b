"""Branches that are thrown away and run again go on as if nothing had happened, or stop.

The procedures here are made up; `tests/contract/test_replay.py` tests the same of every registered method.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from unpooled.asking import driver
from unpooled.asking.driver import CHANGED, Entry, Place, Running, Tree
from unpooled.asking.procedure import (
    PROCEDURES,
    Asks,
    Call,
    Each,
    Finish,
    Go,
    Procedure,
    Rows,
    Study,
    procedure,
)
from unpooled.asking.question import Arrays, Count, Question
from unpooled.errors import ProtocolError
from unpooled.memory.spool import Shelf


@dataclass(frozen=True)
class Ask(Question):
    name: ClassVar[str] = "test/ask"
    title: ClassVar[str] = "Ask"
    sends: ClassVar[tuple[Count, ...]] = (Count("number", (1,), 100, "a number", "a number"),)

    about: int = 0


@dataclass(frozen=True)
class AskOther(Ask):
    name: ClassVar[str] = "test/other"


KINDS = (Ask,)
STUDY: Any = None  # these procedures have no use for it
Function = Callable[..., Asks[Any]]


def made(function: Function) -> Procedure[..., Any]:
    return Procedure(f"test/{function.__name__}", function)


def begun(function: Function, *arguments: Any) -> Running:
    return Running(made(function)(STUDY, *arguments), KINDS)


def number(value: int) -> Arrays:
    return {"number": np.array([value])}


def journalled(*answers: tuple[Question, int]) -> list[Entry]:
    return [Entry(driver.digest(asked), driver.sums_bytes(asked, number(value))) for asked, value in answers]


def rows(k: int) -> Rows:
    return Rows("rows", {"index": np.array([k])})


def indices(found: Any) -> list[int]:
    return [int(part.columns["index"][0]) for part in found]


def counting(study: Study, first: int) -> Asks[int]:
    """Ask about `first`, then about its answer; return the sum of both answers."""
    yield rows(0)
    one = int((yield Ask(first))["number"][0])
    yield rows(1)
    other = int((yield Ask(one))["number"][0])
    yield rows(2)
    return one + other


@pytest.mark.parametrize(
    ("journal", "waits_for"),
    [
        ([], Ask(4)),
        ([], AskOther(3)),
        ([(Ask(4), 5)], Ask(5)),
        ([(Ask(3), 5)], Ask(6)),
        ([(Ask(3), 5), (Ask(6), 5)], None),
        ([(Ask(3), 5), (Ask(5), 5)], Ask(5)),
        ([(Ask(3), 5), (Ask(5), 5), (Ask(5), 5)], None),
        ([], None),
    ],
)
def test_a_branch_that_asks_something_else_is_not_gone_on_with(
    journal: list[tuple[Question, int]], waits_for: Question | None
) -> None:
    with pytest.raises(ProtocolError) as caught:
        Running.again(made(counting)(STUDY, 3), journalled(*journal), KINDS, driver.digest(waits_for))
    assert str(caught.value) == CHANGED


def test_a_procedure_that_is_not_pure_is_found_out() -> None:
    calls: list[int] = []

    def moody(study: Study) -> Asks[None]:
        calls.append(1)
        yield Ask(len(calls))

    asked = begun(moody)
    asked.go_on()
    with pytest.raises(ProtocolError, match="asks something different"):
        Running.again(asked.call, [], KINDS, asked.digest())


def test_other_branches_than_before_are_not_gone_on_with() -> None:
    def parent(study: Study, *firsts: int) -> Asks[Any]:
        return (yield Each(made(counting)(study, first) for first in firsts))

    waits_for = begun(parent, 1, 2)
    waits_for.go_on()
    for others in ((1, 3), (2, 1), (1,), (1, 2, 2)):
        with pytest.raises(ProtocolError, match="asks something different"):
            Running.again(made(parent)(STUDY, *others), [], KINDS, waits_for.digest())


def test_nothing_can_be_read_for_what_has_ended() -> None:
    ended = begun(counting, 3)
    for _ in range(3):
        outcome = ended.go_on(number(1) if ended.waits_for else None)
    assert outcome.waits_for is None and ended.digest() == b""
    with pytest.raises(ProtocolError):
        ended.read(driver.sums_bytes(Ask(1), number(1)))


def test_what_is_not_declared_is_never_asked() -> None:
    def stranger(study: Study) -> Asks[None]:
        yield AskOther()

    with pytest.raises(TypeError, match=r"test/stranger asks test/other, which is not declared"):
        begun(stranger).go_on()


@pytest.mark.parametrize("odd", [3, None, "Ask", [Ask()], made(counting)(STUDY, 3), Ask])
def test_what_is_no_event_is_an_error(odd: Any) -> None:
    def confused(study: Study) -> Asks[None]:
        yield odd

    with pytest.raises(TypeError, match=f"test/confused yields {type(odd).__name__}"):
        begun(confused).go_on()


def test_go_replaces_the_call_and_empties_the_journal() -> None:
    closed = []

    def before(study: Study) -> Asks[Any]:
        try:
            came = int((yield Ask(1))["number"][0])
            yield rows(7)
            return (yield from Go(made(counting)(study, came)))
        finally:
            closed.append(True)

    running = begun(before)
    running.go_on()
    outcome = running.go_on(number(9))
    assert outcome.replaced and closed == [True]
    assert indices(outcome.rows) == [7, 0]  # of both
    assert (running.call.procedure.name, running.call.arguments) == ("test/counting", (9,))
    assert outcome.waits_for == Ask(9)
    again = Running.again(running.call, [], KINDS, running.digest())
    assert not again.go_on(number(2)).replaced
    assert again.go_on(number(3)).value == 5


def test_each_of_none_does_not_wait() -> None:
    def lonely(study: Study) -> Asks[Any]:
        nothing = yield Each([])
        came = yield Ask()
        return nothing, int(came["number"][0])

    running = begun(lonely)
    assert running.go_on().waits_for == Ask()
    assert running.go_on(number(4)).value == ([], 4)
    assert Running.again(running.call, [], KINDS, driver.digest(Ask())).waits_for == Ask()


def test_sums_that_came_in_cannot_be_changed() -> None:
    def careless(study: Study) -> Asks[None]:
        sums = yield Ask()
        sums["number"] += 1

    running = begun(careless)
    running.go_on()
    for came in (number(1), running.read(driver.sums_bytes(Ask(), number(1)))):
        again = Running.again(running.call, [], KINDS, driver.digest(Ask()))
        with pytest.raises(ValueError, match="read-only"):
            again.go_on(came)


def test_two_procedures_cannot_have_one_name() -> None:
    declared = PROCEDURES["chi-square"]
    with pytest.raises(ValueError, match="two procedures are called chi-square"):
        procedure(declared.name)(counting)


def followed(call: Call[Any], told: dict[Place, int]) -> Tree:
    """Follow a study as a party does that makes no rows and is told only these sums."""
    return Tree(call, KINDS, lambda place, question: number(told[place]))


def spreading(study: Study, first: int) -> Asks[int]:
    """Ask, go on as another call, let one branch finish, and add up what two others return."""
    yield Ask(first)
    return (yield from Go(made(spread)(study, first)))


def spread(study: Study, first: int) -> Asks[int]:
    yield Finish(made(finishing)(study, first))
    yield Rows.later(lambda: [rows(8)])
    values = yield Each(made(counting)(study, first + k) for k in (1, 2))
    yield Ask(sum(values))
    return sum(values)


def finishing(study: Study, about: int) -> Asks[None]:
    yield Ask(about)
    yield rows(9)


def test_whoever_makes_no_rows_asks_the_same_without_the_sums_that_only_make_rows() -> None:
    asked: list[tuple[Place, Question]] = []
    found: list[Rows] = []

    def sums(place: Place, question: Question) -> Arrays:
        asked.append((place, question))
        return number(len(asked))

    assert Tree(made(spreading)(STUDY, 10), KINDS, sums, found).value() == 3 + 4 + 5 + 6
    assert [(place.path, place.number) for place, _ in asked] == [
        ((), 0),
        ((0,), 0),  # the one that finishes
        ((1,), 0),
        ((1,), 1),
        ((2,), 0),
        ((2,), 1),
        ((), 1),  # numbers count on across `Go`
    ]
    assert indices(found) == [8, 9, 0, 1, 2, 0, 1, 2]

    told = {place: k for k, (place, _) in enumerate(asked, 1) if place.path != (0,)}
    tree = followed(made(spreading)(STUDY, 10), told)
    for place, question in asked:
        assert tree.question(place) == question
        assert tree.is_told(place) == (place.path != (0,))
    last = followed(made(spreading)(STUDY, 10), told)
    assert last.question(asked[-1][0]) == asked[-1][1]  # in one go, too
    assert last.value() == 18


@pytest.mark.parametrize(
    ("path", "at"), [((), 2), ((3,), 0), ((1, 0), 0), ((1,), 2), ((0,), 1), ((-1,), 0), ((), -1)]
)
def test_nothing_is_asked_where_a_study_asks_nothing(path: tuple[int, ...], at: int) -> None:
    told = {Place(path, at): 1 for path in ((), (1,), (2,)) for at in (0, 1)}
    told[Place((0,), 0)] = 1  # else the lack of it would be the error
    tree = followed(made(spreading)(STUDY, 10), told)
    with pytest.raises(ProtocolError, match=r"asks no question|has no branch"):
        tree.question(Place(path, at))


def test_a_question_that_has_been_gone_on_from_is_asked_no_more() -> None:
    tree = followed(made(counting)(STUDY, 3), {Place((), 0): 5})
    assert tree.question(Place((), 1)) == Ask(5)
    with pytest.raises(ProtocolError, match="asks no question 0"):
        tree.question(Place((), 0))


def light(study: Study, first: int) -> Asks[int]:
    yield Ask(first)
    return (yield from Go(made(heavy)(study, np.full(LARGE, first + 1), 2)))


def heavy(study: Study, large: np.ndarray, turns: int) -> Asks[int]:
    """Ask `turns` times, each time with a large array at hand."""
    yield Ask(int(large[-1]))
    if turns > 1:
        return (yield from Go(made(heavy)(study, large + 1, turns - 1)))
    return int(large[-1])


def finishing_with(study: Study, large: np.ndarray) -> Asks[None]:
    yield Ask(int(large[-1]))


def many(study: Study) -> Asks[Any]:
    """Run branches side by side, half of which only make rows."""
    for k in range(BRANCHES):
        yield Finish(made(finishing_with)(study, np.full(LARGE, k)))
    return (yield Each(made(light)(study, k) for k in range(BRANCHES)))


BRANCHES, LARGE = 20, 1 << 17


def test_what_branches_go_on_from_is_not_held_in_memory() -> None:
    """The order is a server's: it asks every branch before it goes on with the first."""
    tree = Tree(made(many)(STUDY), KINDS, lambda place, question: number(1), shelf=Shelf(room=1 << 20))
    tracemalloc.start()
    try:
        for turn in range(3):
            for k in range(BRANCHES):
                assert tree.question(Place((k,), 0)) == Ask(k)
                assert tree.question(Place((BRANCHES + k,), turn)) == Ask(k + turn)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 4 << 20 < 8 * LARGE * BRANCHES
    assert tree.value() == [k + 2 for k in range(BRANCHES)]


def test_a_call_that_finishes_asks_only_once() -> None:
    def careless(study: Study) -> Asks[None]:
        yield Finish(made(counting)(study, 1))

    with pytest.raises(TypeError, match="test/counting finishes, and asks a second question"):
        Tree(made(careless)(STUDY), KINDS, lambda place, question: number(1), []).value()
