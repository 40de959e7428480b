"""Replay after every event: a study continues as before when each branch is dropped from memory and run
again.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from unpooled.asking import driver, in_one_process
from unpooled.asking import question as questions
from unpooled.asking.driver import Entry, Running
from unpooled.asking.procedure import PROCEDURES, Call, Rows
from unpooled.asking.question import Arrays, Question
from unpooled.methods import questions_of, whole
from unpooled.protocol import codec

from .runs import Run, run
from .studies import EVERY, STUDIES


class Replayed:
    """A study that is never in memory, asked what it was asked before, and in that order."""

    def __init__(self, before: Run) -> None:
        self.study, self.kinds = before.study, questions_of(before.small.plan)
        self.answers: Iterator[tuple[Question, Arrays]] = iter(before.answers)
        self.rows: list[Rows] = []
        self.stored: defaultdict[str, set[bytes]] = defaultdict(set)
        """Bytes that a server stores, by procedure: the arguments of calls, and values."""

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
            self.stored[name].add(arguments)
            self.rows += outcome.rows
            for finish in outcome.finishes:
                self.value(finish)
            if outcome.replaced:
                call, journal = running.call, []
                name, arguments = call.procedure.name, codec.encode(call.arguments)
            if (waits := outcome.waits_for) is None:
                value = kept(call, outcome.value)
                self.stored[name] |= {arguments, value}
                return value
            asked = driver.digest(waits)
            if isinstance(waits, Question):
                came = driver.sums_bytes(waits, self.sums(waits))
            else:
                came = driver.values_bytes(self.value(one) for one in waits.calls)
            running = Running.again(stored(), journal, self.kinds, asked)
            outcome = running.go_on(running.read(came))
            journal.append(Entry(asked, came))


def kept(call: Call[Any], value: Any) -> bytes:
    """Encode the value kept of an ended branch, and check that it decodes to the same type and bytes."""
    data = codec.encode(value)
    read = call.procedure.value(call.study, data)
    assert type(read) is type(value) and codec.encode(read) == data
    return data


@functools.cache
def replayed(name: str) -> Replayed:
    again = Replayed(run(name))
    again.value(whole(again.study))
    return again


@pytest.mark.parametrize("name", EVERY)
def test_a_study_that_is_never_in_memory_has_the_same_results(name: str) -> None:
    before, again = run(name), replayed(name)
    assert next(again.answers, None) is None  # everything was asked again, once
    assert len(again.rows) == len(before.rows)  # and nothing reported twice
    found = in_one_process.collect(again.rows)
    assert found.keys() == before.tables.keys()
    for table, columns in before.tables.items():
        assert found[table].keys() == columns.keys()
        for column, values in columns.items():
            same = found[table][column]
            assert (same.dtype, same.tobytes()) == (values.dtype, values.tobytes()), (table, column)


READ = """
import json, os, sys
from unpooled.asking.procedure import PROCEDURES, Study
from unpooled.plan.plan import Plan
for name, stored in json.load(sys.stdin).items():
    if not (child := os.fork()):  # a process of its own for each, which has loaded none of the methods
        for plan, kept in stored:
            study = Study(Plan.from_json(plan), None)
            for data in kept:
                PROCEDURES[name].value(study, bytes.fromhex(data))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_has_loaded_no_method_reads_all_that_is_stored() -> None:
    stored: defaultdict[str, list[tuple[dict[str, Any], list[str]]]] = defaultdict(list)
    for again in map(replayed, STUDIES):
        for procedure, kept_of in again.stored.items():
            stored[procedure].append((again.study.plan.to_json(), [data.hex() for data in kept_of]))
    assert len(stored) > 40  # nearly every procedure that there is
    subprocess.run([sys.executable, "-c", READ], input=json.dumps(stored), text=True, check=True)
