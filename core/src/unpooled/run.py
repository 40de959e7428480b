"""A whole study in one process, through the real encodings and real masks.

For notebooks and tests: it does what the server, the compensator and the clients otherwise do across a
network.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unpooled import question as questions
from unpooled.algorithms import algorithm, with_chunks
from unpooled.cohort import Cohort, Table
from unpooled.columns import joined
from unpooled.driver import Running
from unpooled.errors import ProtocolError
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.procedure import Call, Each, Rows, Study
from unpooled.protocol import masking
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import Roster
from unpooled.question import Arrays, Question


def run(plan: Plan, panel: Panel, cohorts: Sequence[Cohort | Table]) -> dict[str, dict[str, np.ndarray]]:
    """The result tables of a study over cohorts that are aligned with the panel.

    In a study of tables the cohorts are tables, and the panel is that of no variants.
    """
    test, plan = algorithm(plan.test), with_chunks(plan)
    federation = _Federation(plan, cohorts, test.asks)
    rows: list[Rows] = []
    _run(test.procedure(Study(plan, lambda: panel)), federation, rows)
    return collect(rows)


def _run(call: Call[Any], federation: _Federation, rows: list[Rows]) -> Any:
    """Run a branch to its end, and those that it waits for one after the other; its value."""
    branch = Running(call, federation.kinds)
    outcome = branch.go_on()
    while True:
        rows += outcome.rows
        match outcome.waits_for:
            case Question() as question:
                outcome = branch.go_on(federation.total(question))
            case Each() as each:
                outcome = branch.go_on([_run(call, federation, rows) for call in each.calls])
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
