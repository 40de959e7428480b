"""No branch is in memory for long: thrown away after each event and run again, a study goes on as before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from unpooled import alone, driver
from unpooled import question as questions
from unpooled.algorithms import questions_of, whole
from unpooled.driver import Entry, Running
from unpooled.procedure import PROCEDURES, Call, Rows
from unpooled.protocol import codec
from unpooled.question import Arrays, Question

from .runs import Run, run
from .studies import EVERY


class Replayed:
    """A study that is never in memory, asked what it was asked before, and in that order."""

    def __init__(self, before: Run) -> None:
        self.study, self.kinds = before.study, questions_of(before.small.plan)
        self.answers: Iterator[tuple[Question, Arrays]] = iter(before.answers)
        self.rows: list[Rows] = []

    def sums(self, question: Question) -> Arrays:
        before, sums = next(self.answers)
        assert questions.encode(before) == questions.encode(question)
        return sums

    def value(self, call: Call[Any]) -> bytes:
        """The value of a branch that after every event is thrown away, and begun again from bytes."""
        name, arguments, journal = call.procedure.name, codec.encode(call.arguments), list[Entry]()

        def stored() -> Call[Any]:
            return PROCEDURES[name].call(self.study, arguments)

        running = Running(stored(), self.kinds)
        outcome = running.go_on()
        while True:
            self.rows += outcome.rows
            if outcome.replaced:
                call, journal = running.call, []
                name, arguments = call.procedure.name, codec.encode(call.arguments)
            if (waits := outcome.waits_for) is None:
                return kept(call, outcome.value)
            asked = driver.digest(waits)
            if isinstance(waits, Question):
                came = driver.sums_bytes(waits, self.sums(waits))
            else:
                came = driver.values_bytes(self.value(one) for one in waits.calls)
            running = Running.again(stored(), journal, self.kinds, asked)
            outcome = running.go_on(running.read(came))
            journal.append(Entry(asked, came))


def kept(call: Call[Any], value: Any) -> bytes:
    """What is kept of a branch that has ended: its value can be read again, as what it was."""
    data = codec.encode(value)
    read = call.procedure.value(data)
    assert type(read) is type(value) and codec.encode(read) == data
    return data


@pytest.mark.parametrize("name", EVERY)
def test_a_study_that_is_never_in_memory_has_the_same_results(name: str) -> None:
    before = run(name)
    again = Replayed(before)
    again.value(whole(before.study))
    assert next(again.answers, None) is None  # everything was asked again, once
    assert len(again.rows) == len(before.rows)  # and nothing reported twice
    found = alone.collect(again.rows)
    assert found.keys() == before.tables.keys()
    for table, columns in before.tables.items():
        assert found[table].keys() == columns.keys()
        for column, values in columns.items():
            same = found[table][column]
            assert (same.dtype, same.tobytes()) == (values.dtype, values.tobytes()), (table, column)
