"""Tables that somebody chose, before the judge of random ones: files, the whole protocol, the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from normalizing import column as column
from normalizing import evenly
from normalizing import loaded as loaded

from unpooled.plan.common_options import BITS, SUMS
from unpooled.plan.schema import Column

from ..fuzz.kinds import TABLES as FUZZ
from ..fuzz.tables.federation import Federation, plan_of

Columns = Mapping[str, np.ndarray]


def agreed(method: str, parts: Sequence[np.ndarray], kinds: Sequence[str] = (), **options: Any) -> Any:
    """The content of the result file of a study of these tables, in all of which nothing is wrong."""
    features = [Column(f"feature {k}") for k in range(parts[0].shape[1])]
    plan = plan_of(method, features, len(parts), **options)
    forms, of = tuple(range(len(parts))), tuple(kinds) or ("given",) * len(features)
    outcome = FUZZ.judged(Federation(0, plan, tuple(parts), forms, of))
    assert not outcome.disagreements and outcome.found, (outcome.disagreements, outcome.notes)
    return outcome.found


def table(columns: Columns) -> np.ndarray:
    return np.column_stack(list(columns.values()))


TABLES = [("breast_cancer", 0.0), ("wine", 0.1), ("diabetes", 0.0), ("iris", 0.2), ("digits", 0.05)]
"""Real ones, and which share of their cells is made missing."""


def by_size(values: np.ndarray, cohorts: int) -> list[np.ndarray]:
    shares = np.cumsum(2.0 ** np.arange(cohorts))
    ends = (len(values) * shares[:-1] / shares[-1]).astype(int)
    return np.split(values, np.maximum(ends, np.arange(1, cohorts)))  # a table without rows takes no part


def sorted_by_a_feature(values: np.ndarray, cohorts: int) -> list[np.ndarray]:
    """Ranges of the first feature do not overlap."""
    return np.array_split(values[np.argsort(values[:, 0])], cohorts)


def each_sorted(values: np.ndarray, cohorts: int) -> list[np.ndarray]:
    """Ranges of no feature overlap: sums over the cohorts cancel the most."""
    return np.array_split(np.sort(values, axis=0), cohorts)


SPLITS = (evenly, by_size, sorted_by_a_feature)
WAYS = tuple(zip(SPLITS, (3, 8, 8), (SUMS, BITS, SUMS), strict=True))
"""Each split with a number of cohorts, and what the server reads."""
