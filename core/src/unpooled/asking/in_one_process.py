"""Runs a whole procedure in one process; and runs it on one cohort's own data, of which nothing leaves.

What a cohort finds alone is for its own eyes (`unpooled.run.run_alone`), or is what it adds to a question of
which its own estimates are a part (`unpooled.methods.regression.heterogeneity`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from unpooled.asking import compared_sums
from unpooled.asking import question as questions
from unpooled.asking.cohort import Cohort, Extended, Table
from unpooled.asking.draws import drawing
from unpooled.asking.driver import Place, Tree
from unpooled.asking.procedure import Call, Rows
from unpooled.asking.question import Arrays, Question
from unpooled.asking.result_columns import joined
from unpooled.plan.plan import Plan
from unpooled.protocol.masking import SEED_BYTES


class Asked(Protocol):
    """Whoever answers questions, with the sums."""

    @property
    def kinds(self) -> Sequence[type[Question]] | None:
        """The kinds that may be asked; None for any."""

    def total(self, place: Place, question: Question) -> Arrays: ...


def tables(call: Call[Any], asked: Asked) -> dict[str, dict[str, np.ndarray]]:
    """The result tables of a procedure that is run to its end."""
    rows: list[Rows] = []
    Tree(call, asked.kinds, asked.total, rows).value()
    return collect(rows)


def collect(rows: Iterable[Rows]) -> dict[str, dict[str, np.ndarray]]:
    """Result tables from the rows of all branches, each table sorted by its first column."""
    parts: dict[str, list[Arrays]] = {}
    for part in rows:
        parts.setdefault(part.table, []).append(part.columns)
    return {table: joined(columns) for table, columns in parts.items()}


def deriving(question: Question, cohort: Any) -> Any:
    """The cohort as this question and those after it find it."""
    derived = question.derives(cohort)
    if derived is None:
        return cohort
    before = cohort if isinstance(cohort, Extended) else Extended.of(cohort, {})
    return before.with_derived(question.derived_as, derived)


@dataclass(eq=False)
class Alone:
    """One cohort, whose numbers stand for the sums."""

    plan: Plan
    cohort: Cohort | Table
    kinds: Sequence[type[Question]] | None = None
    own_seed: bytes = field(default_factory=lambda: os.urandom(SEED_BYTES), repr=False)

    def total(self, place: Place, question: Question) -> Arrays:
        """Return the sums as rounded as a study's are, since the next question may begin below their last
        bit.
        """
        scheme = self.plan.scheme(question.ring_bits)
        self.cohort = deriving(question, self.cohort)
        answered = questions.answer(question, drawing(self.cohort, question, self.own_seed))
        if question.opens:
            return compared_sums.alone(question, questions.pack(question, answered, scheme, 1, b""), scheme)
        return questions.rounded(question, answered, scheme)
