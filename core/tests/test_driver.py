"""Branches: whatever is thrown away and run again goes on as if nothing had happened, or stops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from asking import follow, study_of
from small_studies import STUDIES, of_variants

from unpooled import alone, driver, run
from unpooled.algorithms import questions_of, whole
from unpooled.driver import CHANGED, Entry, Running
from unpooled.errors import ProtocolError
from unpooled.procedure import PROCEDURES, Asks, Call, Each, Go, Procedure, Rows, Study, procedure
from unpooled.protocol import codec
from unpooled.question import Arrays, Count, Question

# Every algorithm, with no branch in memory


def run_from_store(call: Call[Any], study: Study, federation: Any, rows: list[Rows]) -> bytes:
    """Run a branch that after every event is thrown away, and begun again from bytes; its value."""
    name, arguments, journal = call.procedure.name, codec.encode(call.arguments), list[Entry]()

    def stored() -> Call[Any]:
        return PROCEDURES[name].call(study, arguments)

    running = Running(stored(), federation.kinds)
    outcome = running.go_on()
    while True:
        rows += outcome.rows
        if outcome.replaced:
            name, arguments, journal = running.call.procedure.name, codec.encode(running.call.arguments), []
        if (waits := outcome.waits_for) is None:
            return codec.encode(outcome.value)
        asked = driver.digest(waits)
        if isinstance(waits, Question):
            came = driver.sums_bytes(waits, federation.total(waits))
        else:
            came = driver.values_bytes(run_from_store(one, study, federation, rows) for one in waits.calls)
        running = Running.again(stored(), journal, federation.kinds, asked)
        outcome = running.go_on(running.read(came))
        journal.append(Entry(asked, came))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_that_is_never_in_memory_has_the_same_results(name: str) -> None:
    small = STUDIES[name]()
    study = study_of(small.plan, small.panel)
    once, again = (run._Federation(small.plan, small.cohorts, questions_of(small.plan)) for _ in range(2))
    wanted: list[Rows] = []
    alone.finished(whole(study), once, wanted)
    rows: list[Rows] = []
    run_from_store(whole(study), study, again, rows)
    assert once.round == again.round  # nothing was asked twice
    assert len(rows) == len(wanted)  # and nothing reported twice
    found, tables = alone.collect(rows), run.run(small.plan, small.panel, small.cohorts)
    assert found.keys() == tables.keys()
    for table, columns in tables.items():
        assert found[table].keys() == columns.keys()
        for column, values in columns.items():
            same = found[table][column]
            assert (same.dtype, same.tobytes()) == (values.dtype, values.tobytes()), (table, column)


def test_whatever_ends_has_a_value_that_can_be_kept() -> None:
    """Those of neighbouring chunks are their ties: records that hold others, and arrays."""
    small = of_variants("logistic", missing="mean", files=("assoc",))  # with leads, each would be `Watched`
    federation = run._Federation(small.plan, small.cohorts, small.test.asks)
    study, values = study_of(small.plan, small.panel), []
    branch = Running(small.test.procedure(study), small.test.asks)
    outcome = branch.go_on()
    while outcome.waits_for is not None:
        if isinstance(outcome.waits_for, Each):
            came = []
            for call in outcome.waits_for.calls:
                value = alone.finished(call, federation, [])
                values.append(kept := call.procedure.value(codec.encode(value)))
                assert type(kept) is type(value) and codec.encode(kept) == codec.encode(value)
                came.append(kept)
            outcome = branch.go_on(came)
        else:
            outcome = branch.go_on(federation.total(outcome.waits_for))
    assert {type(value).__name__ for value in values} == {"CovariatesModel", "tuple"}
    assert {type(each).__name__ for value in values if isinstance(value, tuple) for each in value} == {
        "Counted"
    }


def stored_of(call: Call[Any], study: Study, federation: Any, stored: dict[str, set[bytes]]) -> Any:
    """Run a branch; its value. `stored` gets, by procedure, what a server keeps: calls, and values."""
    running, came = Running(call, federation.kinds), None
    while True:
        stored.setdefault(running.call.procedure.name, set()).add(codec.encode(running.call.arguments))
        outcome = running.go_on(came)
        match outcome.waits_for:
            case None:
                stored[call.procedure.name].add(codec.encode(outcome.value))
                return outcome.value
            case Each(calls=calls):
                came = [stored_of(one, study, federation, stored) for one in calls]
            case asked:
                came = federation.total(asked)


READ = """
import json, os, sys
from unpooled.procedure import PROCEDURES
for name, kept in json.load(sys.stdin).items():
    if not (child := os.fork()):  # a process of its own for each, which has loaded none of the methods
        for data in kept:
            PROCEDURES[name].value(bytes.fromhex(data))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_has_loaded_no_method_reads_all_that_is_stored() -> None:
    plain = [of_variants(test, files=("assoc",)) for test in ("chi-square", "linear", "logistic")]
    stored: dict[str, set[bytes]] = {}
    others = [*(name for name in STUDIES if "," not in name), "logistic, beside components", "linear, apart"]
    for small in [*plain, *(STUDIES[name]() for name in others)]:
        study = study_of(small.plan, small.panel)
        federation = run._Federation(small.plan, small.cohorts, questions_of(small.plan))
        stored_of(whole(study), study, federation, stored)
    assert len(stored) > 40  # nearly every procedure that there is
    kept = json.dumps({name: [data.hex() for data in each] for name, each in stored.items()})
    subprocess.run([sys.executable, "-c", READ], input=kept, text=True, check=True)


# Made-up procedures


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
    """Asks about `first`, then about what came; returns the sum of both answers."""
    yield rows(0)
    one = int((yield Ask(first))["number"][0])
    yield rows(1)
    other = int((yield Ask(one))["number"][0])
    yield rows(2)
    return one + other


def test_rows_come_once_however_often_a_branch_is_run_again() -> None:
    call = made(counting)(STUDY, 3)
    first = Running(call, KINDS).go_on()
    assert (indices(first.rows), first.waits_for, first.replaced) == ([0], Ask(3), False)
    for _ in range(2):
        again = Running.again(call, [], KINDS, driver.digest(Ask(3)))
        assert indices(again.go_on(number(5)).rows) == [1]
    last = Running.again(call, journalled((Ask(3), 5)), KINDS, driver.digest(Ask(5)))
    end = last.go_on(last.read(driver.sums_bytes(Ask(5), number(6))))
    assert (indices(end.rows), end.waits_for, end.value) == ([2], None, 11)


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


def test_branches_may_have_branches() -> None:
    def leaf(study: Study, k: int) -> Asks[int]:
        return int((yield Ask(k))["number"][0])

    def middle(study: Study, k: int) -> Asks[int]:
        found = yield Each(made(leaf)(study, 10 * k + j) for j in range(k))
        yield rows(k)
        return sum(found)

    def top(study: Study) -> Asks[Any]:
        first = yield Each(made(middle)(study, k) for k in (3, 0, 2))
        last = yield from made(leaf)(study, 99)  # in its own place
        return *first, last

    found = follow(made(top)(STUDY), lambda asked: number(asked.about), KINDS)  # type: ignore[attr-defined]
    assert found.value == (30 + 31 + 32, 0, 20 + 21, 99)
    assert [asked.about for asked in found.questions] == [30, 31, 32, 20, 21, 99]
    assert indices(found.rows) == [3, 0, 2]


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
    with pytest.raises(ValueError, match="two procedures are called chi-square"):
        procedure("chi-square")(counting)
