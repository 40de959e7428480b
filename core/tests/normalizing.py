"""Studies of tables in one process, and tables to hold them with: for the tests of normalization."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn import datasets

from tests.contract import studies
from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import SUMS
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

NOBODY = Panel.of([])


def plan_of(method: str, features: int, cohorts: int = 3, **changes: Any) -> Plan:
    """A plan of which everybody reads the sums: tests that are about bits ask for them."""
    schema = tuple(Column(f"feature {k}") for k in range(features))
    return studies.plan_of(method, cohorts=cohorts, **{"schema": schema, "opens": SUMS, **changes})


def written(plan: Plan, parts: Sequence[ArrayTable], file: str) -> str:
    """A result file, through the real encodings and masks."""
    return run.written(file, plan, NOBODY, run.run(plan, NOBODY, parts)).decode()


def fit(method: str, parts: list[np.ndarray], **changes: Any) -> dict[str, Any]:
    """The content of the result file."""
    plan = plan_of(method, parts[0].shape[1], len(parts), **changes)
    (file,) = plan.files
    found: dict[str, Any] = json.loads(written(plan, [ArrayTable(part) for part in parts], file))
    return found


def column(found: Mapping[str, Any], name: str) -> np.ndarray:
    return np.array([feature[name] for feature in found["features"]], float)


def loaded(name: str, missing: float = 0.0) -> np.ndarray:
    values: np.ndarray = getattr(datasets, f"load_{name}")().data.astype(float)
    # Of all pixels some are enough.
    values = values[:, ::3] if name == "digits" and missing else values.copy()
    values[np.random.default_rng(5).random(values.shape) < missing] = np.nan
    return values


def evenly(values: np.ndarray, cohorts: int) -> list[np.ndarray]:
    return [values[k::cohorts] for k in range(cohorts)]
