"""A whole study in one process, through the real encodings and real masks.

For notebooks and tests: what the server, the compensator and the clients do with a network between them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np

from unpooled import step as steps
from unpooled.algorithms import algorithm
from unpooled.cohort import Cohort, Table
from unpooled.columns import joined
from unpooled.errors import ProtocolError
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.protocol import masking
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import Roster
from unpooled.step import Arrays, Rows, Step


def run(plan: Plan, panel: Panel, cohorts: Sequence[Cohort | Table]) -> dict[str, dict[str, np.ndarray]]:
    """The result tables of a study over cohorts that are aligned with the panel.

    In a study of tables the cohorts are tables, and the panel is that of no variants.
    """
    test = algorithm(plan.test)
    federation = _Federation(plan, cohorts)
    open_steps: list[Step] = list(test.first(plan, panel))
    rows: list[Rows] = []
    while open_steps:
        step = open_steps.pop(0)
        for outcome in step.aggregate(federation.total(step, test.steps)):
            if isinstance(outcome, Rows):
                rows.append(outcome)
            else:
                open_steps.append(outcome)
    return collect(rows)


def collect(rows: Iterable[Rows]) -> dict[str, dict[str, np.ndarray]]:
    """Result tables from the rows of all steps, each table sorted by its first column."""
    parts: dict[str, list[Arrays]] = {}
    for part in rows:
        parts.setdefault(part.table, []).append(part.columns)
    return {table: joined(columns) for table, columns in parts.items()}


class _Federation:
    """Cohorts, their seeds, and the sums that a server and a compensator would form."""

    def __init__(self, plan: Plan, cohorts: Sequence[Cohort | Table]) -> None:
        self.plan, self.cohorts = plan, cohorts
        self.seeds = [os.urandom(masking.SEED_BYTES) for _ in cohorts]
        self.roster = Roster(tuple((f"cohort {k:04}", os.urandom(32)) for k in range(len(cohorts))))
        self.plan_hash, self.roster_hash = plan.hash(), self.roster.hash()
        self.round = 0

    def total(self, step: Step, kinds: Sequence[type[Step]]) -> Arrays:
        self.round += 1
        message, salt = steps.encode_for_cohorts(step), os.urandom(masking.SALT_BYTES)
        asked = steps.decode(message, kinds)
        scheme = self.plan.scheme(step.ring_bits)
        words, k = steps.words(step, scheme), len(self.cohorts)
        masked, masks = scheme.zeros(words), scheme.zeros(words)
        for cohort, seed, (name, _) in zip(self.cohorts, self.seeds, self.roster.members, strict=True):
            if not asked.agrees(self.plan):
                raise ProtocolError(f"{step.title}: the plan does not allow this question")
            share = steps.pack(
                asked, asked.local(cast(Cohort, cohort)), scheme, k, salt, asked.columns_under(self.plan)
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
        return steps.unpack(step, scheme.subtract(masked, masks), scheme, k, salt)
