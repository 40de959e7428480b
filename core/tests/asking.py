"""Procedures run in one process, without masks: for tests that look at what is asked, and at the sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from unpooled.asking.cohort import Cohort, Table
from unpooled.asking.driver import Place, Tree
from unpooled.asking.in_one_process import deriving
from unpooled.asking.procedure import Call, Rows, Study
from unpooled.asking.question import Arrays, Question, answer
from unpooled.methods import questions_of, whole, with_chunks
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan

NOBODY = Panel.of([])


@dataclass(eq=False)
class Followed:
    """Record of what a procedure did, its branches one after the other."""

    answers: list[tuple[Any, Arrays]] = field(default_factory=list)
    """Each question with its sums."""
    rows: list[Rows] = field(default_factory=list)
    value: Any = None

    @property
    def questions(self) -> list[Any]:
        return [question for question, _ in self.answers]


def sums_over(cohorts: Sequence[Cohort | Table]) -> Callable[[Question], Arrays]:
    """Return a function that answers questions: by the sums over cohorts, in clear, or by what is told of
    them.
    """

    found = list(cohorts)

    def sums(question: Question) -> Arrays:
        found[:] = [deriving(question, cohort) for cohort in found]
        answers = [answer(question, cohort) for cohort in found]
        total = {name: np.sum([one[name] for one in answers], axis=0) for name in answers[0]}
        return {question.opens.name: told(question, total)} if question.opens else total

    return sums


def told(question: Question, sums: Arrays) -> np.ndarray:
    """Return what a question's circuit tells of sums in clear: the slow, clear version."""
    assert question.opens is not None
    if question.opens.circuit.startswith("grows:"):
        return still_grows(*(sums[array.name] for array in question.sends))
    thresholds = question.thresholds()
    return np.all([sums[array.name] >= thresholds.get(array.name, 0) for array in question.sends], axis=0)


def still_grows(
    offset: np.ndarray, g: np.ndarray, squares: np.ndarray, slopes: np.ndarray, products: np.ndarray
) -> np.ndarray:
    """Tell of each row and place, if all before it are so, whether it is known and whether it grows: in
    fractions.
    """
    bits = np.zeros((*g.shape, 2), bool)
    for row, place in np.ndindex(g.shape):
        numbers = (offset[row], *(array[row, place] for array in (g, squares, slopes, products)))
        o, mean, square, slope, product = (Fraction(round(Fraction(x) * 2**80), 2**80) for x in numbers)
        variance, covariance = square - mean**2, product - mean * slope
        bits[row, place] = variance > square / 2**30, o * variance >= covariance
    return np.asarray(np.logical_and.accumulate(bits.reshape(len(g), -1), axis=1).reshape(bits.shape))


def follow(call: Call[Any], sums: Callable[[Question], Arrays], kinds: Sequence[type[Question]]) -> Followed:
    """Run a procedure to its end."""
    found = Followed()

    def answered(place: Place, question: Question) -> Arrays:
        total = sums(question)
        found.answers.append((question, total))
        return total

    found.value = Tree(call, kinds, answered, found.rows).value()
    return found


def study_of(plan: Plan, panel: Panel = NOBODY) -> Study:
    """Return the study that its procedures are given."""
    return Study(with_chunks(plan), lambda: panel)


def followed(
    plan: Plan,
    panel: Panel,
    cohorts: Sequence[Cohort | Table],
    sums: Callable[[Question], Arrays] | None = None,
) -> Followed:
    """Run the whole study of a plan, with the sums of these cohorts unless others are given."""
    return follow(whole(study_of(plan, panel)), sums or sums_over(cohorts), questions_of(plan))
