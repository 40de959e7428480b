"""Tables that somebody chose to fit models to, before the judge of random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unpooled.plan.schema import Column

from ..fuzz.kinds import MODELS
from ..fuzz.models.federation import OUTCOME, Cohort, Federation, plan_of

Rows = Sequence[np.ndarray]
"""Rows of the pool that each cohort has."""


def agreed(method: str, x: np.ndarray, y: np.ndarray, parts: Rows, **options: Any) -> Any:
    """The model file of a study of these rows, in all of which nothing is wrong. Words are classes."""
    classes = () if y.dtype.kind == "f" else tuple(np.unique(y).tolist())
    features = [Column(f"x{k}") for k in range(x.shape[1])]
    outcome = Column(OUTCOME, "category" if classes else "number", levels=classes, role="outcome")
    cells = {**{f"x{k}": column for k, column in enumerate(x.T)}, OUTCOME: y}
    plan = plan_of(method, [*features, outcome], len(parts), **options)
    cohorts = tuple(Cohort(cells).with_rows(rows) for rows in parts)
    found = MODELS.judged(Federation(0, plan, cohorts, ("given",) * len(features)))
    assert not found.disagreements and found.found, (found.disagreements, found.notes)
    return found.found


def evenly(y: np.ndarray, cohorts: int) -> Rows:
    return [np.arange(k, len(y), cohorts) for k in range(cohorts)]


def by_outcome(y: np.ndarray, cohorts: int) -> Rows:
    """Cohorts whose outcomes do not overlap: of classes, whole classes."""
    return np.array_split(np.argsort(y, kind="stable"), cohorts)


def unequal(y: np.ndarray, cohorts: int) -> Rows:
    """One cohort with half of the people, for without it there must be enough for each column."""
    order, few = np.random.default_rng(3).permutation(len(y)), max(12 * (cohorts - 1), (len(y) + 1) // 2)
    return [order[few:], *np.array_split(order[:few], cohorts - 1)]


SPLITS = (evenly, by_outcome, unequal)


def named(number: np.ndarray) -> np.ndarray:
    """Classes by words, in the order of their numbers."""
    return np.array([f"class {k}" for k in number], object)
