"""A whole study in one process, through the real encodings and real masks; and one cohort's own estimates.

`run` is for notebooks and tests: it does what the server, the compensator and the clients otherwise do across
a network. `run_alone` is what a cohort finds in its own data, beside a study.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled import question as questions
from unpooled.algorithms import algorithm, with_chunks
from unpooled.cohort import Cohort, Table
from unpooled.columns import joined
from unpooled.driver import Running
from unpooled.errors import ProtocolError
from unpooled.panel import Panel
from unpooled.plan import OwnPlan, Plan
from unpooled.procedure import Call, Each, Rows, Study
from unpooled.protocol import masking
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import Roster
from unpooled.question import Arrays, Question


def run(plan: Plan, panel: Panel, cohorts: Sequence[Cohort | Table]) -> dict[str, dict[str, np.ndarray]]:
    """The result tables of a study over cohorts that are aligned with the panel.

    In a study of tables the cohorts are tables, and the panel is that of no variants.
    """
    plan = with_chunks(plan)
    return _tables(plan, panel, _Federation(plan, cohorts, algorithm(plan.test).asks))


def run_alone(plan: Plan, panel: Panel, cohort: Cohort | Table) -> dict[str, dict[str, np.ndarray]]:
    """The result tables of one cohort as it is: what the study's method finds in its data alone.

    Nothing is masked, and no floor applies: neither of cohorts, nor of people at a level or with a value. So
    these results are for whoever has the data anyway, and must not leave that computer.
    """
    plan = with_chunks(OwnPlan(**{**vars(plan), "cohorts": 1, "masking": "modular"}))
    return _tables(plan, panel, _Alone(plan, cohort, algorithm(plan.test).asks))


def _tables(plan: Plan, panel: Panel, asked: _Federation | _Alone) -> dict[str, dict[str, np.ndarray]]:
    rows: list[Rows] = []
    _run(algorithm(plan.test).procedure(Study(plan, lambda: panel)), asked, rows)
    return collect(rows)


def _run(call: Call[Any], asked: _Federation | _Alone, rows: list[Rows]) -> Any:
    """Run a branch to its end, and those that it waits for one after the other; its value."""
    branch = Running(call, asked.kinds)
    outcome = branch.go_on()
    while True:
        rows += outcome.rows
        match outcome.waits_for:
            case Question() as question:
                outcome = branch.go_on(asked.total(question))
            case Each() as each:
                outcome = branch.go_on([_run(call, asked, rows) for call in each.calls])
            case None:
                return outcome.value


def collect(rows: Iterable[Rows]) -> dict[str, dict[str, np.ndarray]]:
    """Result tables from the rows of all branches, each table sorted by its first column."""
    parts: dict[str, list[Arrays]] = {}
    for part in rows:
        parts.setdefault(part.table, []).append(part.columns)
    return {table: joined(columns) for table, columns in parts.items()}


class _Federation:
    """Cohorts, their seeds, and the sums that a server and a compensator would form."""

    def __init__(
        self, plan: Plan, cohorts: Sequence[Cohort | Table], kinds: Sequence[type[Question]]
    ) -> None:
        self.plan, self.cohorts, self.kinds = plan, cohorts, kinds
        self.seeds = [os.urandom(masking.SEED_BYTES) for _ in cohorts]
        self.roster = Roster(tuple((f"cohort {k:04}", os.urandom(32)) for k in range(len(cohorts))))
        self.plan_hash, self.roster_hash = plan.hash(), self.roster.hash()
        self.round = 0

    def total(self, question: Question) -> Arrays:
        self.round += 1
        message, salt = questions.encode(question), os.urandom(masking.SALT_BYTES)
        asked = questions.decode(message, self.kinds)
        scheme = self.plan.scheme(question.ring_bits)
        words, k = questions.words(question, scheme), len(self.cohorts)
        masked, masks = scheme.zeros(words), scheme.zeros(words)
        for cohort, seed, (name, _) in zip(self.cohorts, self.seeds, self.roster.members, strict=True):
            if not asked.agrees(self.plan):
                raise ProtocolError(f"{question.title}: the plan does not allow this question")
            share = questions.pack(
                asked, questions.answer(asked, cohort), scheme, k, salt, asked.columns_under(self.plan)
            )
            context = MaskContext(
                study="in process",
                plan_hash=self.plan_hash,
                roster_hash=self.roster_hash,
                cohort=name,
                round=self.round,
                question=masking.question(salt, message),
                scheme=scheme.label,
                words=words,
                nonce=os.urandom(masking.NONCE_BYTES),
            )
            own_mask = masking.mask(seed, context)
            upload = scheme.to_bytes(scheme.add(share, own_mask))
            masked = scheme.add(masked, scheme.from_bytes(upload, words))
            masks = scheme.add(masks, own_mask)
        return questions.unpack(question, scheme.subtract(masked, masks), scheme, k, salt)


@dataclass(frozen=True, eq=False)
class _Alone:
    """One cohort, whose numbers stand for the sums."""

    plan: Plan
    cohort: Cohort | Table
    kinds: Sequence[type[Question]]

    def total(self, question: Question) -> Arrays:
        """As rounded as sums are, for what is asked next may begin below the last bit of these."""
        scheme, salt = self.plan.scheme(question.ring_bits), b""
        share = questions.pack(question, questions.answer(question, self.cohort), scheme, 1, salt)
        return questions.unpack(question, share, scheme, 1, salt)
