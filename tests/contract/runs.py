"""One run of a small study, through the real encodings and masks: what was asked, what came, what is written.

Whatever these tests and `tests.same_bytes` know of the library's inside stands here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unpooled.asking import in_one_process, sizes
from unpooled.asking import question as questions
from unpooled.asking.driver import Place, Tree
from unpooled.asking.procedure import Rows, Study
from unpooled.asking.question import Arrays, Question
from unpooled.asking.sizes import Sizes
from unpooled.described.facts import plan_facts
from unpooled.described.file_list import report_name
from unpooled.described.parties import what_parties_get
from unpooled.described.what_leaves import what_leaves
from unpooled.methods import TESTS, questions_of, whole
from unpooled.methods.phenotypes import tables_of
from unpooled.run import _Federation, reports

from .options import OPTIONS
from .studies import EVERY, Small

Tables = dict[str, dict[str, np.ndarray]]


class Watched(_Federation):
    """Cohorts that are asked in this process, and what they were asked."""

    def __init__(self, small: Small) -> None:
        self.call = whole(study_of(small))
        super().__init__(self.call, small.cohorts, questions_of(small.plan))
        self.answers: list[tuple[Question, Arrays]] = []
        self.read: list[tuple[Question, Arrays]] = []

    def total(self, place: Place, question: Question) -> Arrays:
        sums = super().total(place, question)
        self.answers.append((question, dict(sums)))  # a procedure may empty its own
        if self.followed.is_told(place):
            self.read.append((question, dict(sums)))
        return sums


@dataclass(frozen=True, eq=False)
class Run:
    """A small study that has ended."""

    small: Small
    answers: list[tuple[Question, Arrays]]
    """Each question with its sums, or what was told of them, in order."""
    rows: list[Rows]
    told: list[tuple[Question, Arrays]]
    """Questions of which cohorts were told the sums, with those sums."""

    @property
    def study(self) -> Study:
        return study_of(self.small)

    @property
    def questions(self) -> list[Question]:
        return [question for question, _ in self.answers]

    @property
    def kinds_told(self) -> set[type[Question]]:
        return {type(question) for question, _ in self.told}

    @functools.cached_property
    def tables(self) -> Tables:
        return in_one_process.collect(self.rows)

    @functools.cached_property
    def files(self) -> dict[str, bytes]:
        """The reports by their names."""
        found = {}
        for plan in self.small.plan.each:
            own = tables_of(self.small.plan, self.tables, plan.phenotype)
            files = reports(plan, self.small.panel, own)
            found |= {report_name(file, plan): content for file, content in files.items()}
        return found

    def messages(self) -> Iterator[tuple[str, bytes]]:
        """The questions as cohorts receive them, without their salts, each with its name.

        Codes of words that no plan lists are random: such a study has only names here.
        """
        has_codes = bool(self.small.plan.searched)
        return ((each.name, b"" if has_codes else questions.encode(each)) for each in self.questions)


def study_of(small: Small) -> Study:
    return Study(small.plan, lambda: small.panel)


@functools.cache
def small(name: str) -> Small:
    return (EVERY | OPTIONS)[name]()


@functools.cache
def run(name: str) -> Run:
    """The run of a study, the same for all who look at it."""
    return run_of(small(name))


def run_of(one: Small) -> Run:
    watched, rows = Watched(one), list[Rows]()
    Tree(watched.call, watched.kinds, watched.total, rows).value()
    return Run(one, watched.answers, rows, watched.read)


def sizes_of(one: Small) -> Sizes:
    """The sizes of a cohort's data, by which it foresees what it will be asked."""
    return sizes.of_panel(one.panel, one.plan.autosomes) if one.plan.test in TESTS else {}


def consent(one: Small) -> Iterator[str]:
    """Return what people read before they consent, a line per item."""
    for fact in plan_facts(one.plan).all:
        yield ": ".join(fact)
    for line in what_leaves(one.plan, sizes_of(one)):
        yield " | ".join(str(value) for value in vars(line).values())
    for party in what_parties_get(one.plan):
        yield " | ".join(vars(party).values())
