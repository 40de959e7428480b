"""Studies that fit models in one process, and pools to hold them with."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import normalizing
import numpy as np
from normalizing import NOBODY

from tests.contract.studies import plan_of as plan_of
from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.methods import check
from unpooled.plan.categories import Words
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

Cells = Mapping[str, Sequence[Any]]
"""A cohort's table by title: numbers, or words."""


def table_of(cells: Cells, plan: Plan) -> ArrayTable:
    """A cohort's table as its client would have read it."""
    numbers = [np.asarray(cells[column.title], float) for column in plan.features]
    values = np.column_stack(numbers) if numbers else np.zeros((len(next(iter(cells.values()))), 0))
    method = check(plan)
    words = {c.title: Words.of(cells[c.title]) for c in plan.schema if method.reads_words(c)}
    return method.prepared(ArrayTable(values, words), plan)


def tables_of(plan: Plan, cohorts: Sequence[Cells]) -> dict[str, dict[str, np.ndarray]]:
    """The result tables, through the real encodings and masks."""
    return run.run(plan, NOBODY, [table_of(cells, plan) for cells in cohorts])


def fit(plan: Plan, cohorts: Sequence[Cells]) -> dict[str, Any]:
    """The content of the model file."""
    return content(plan, cohorts, "model")


def content(plan: Plan, cohorts: Sequence[Cells], file: str) -> dict[str, Any]:
    """The content of a result file that is JSON."""
    read: dict[str, Any] = json.loads(text(plan, cohorts, file))
    return read


def text(plan: Plan, cohorts: Sequence[Cells], file: str) -> str:
    """A result file."""
    return normalizing.written(plan, [table_of(cells, plan) for cells in cohorts], file)


def coefficient_table(plan: Plan, cohorts: Sequence[Cells]) -> list[dict[str, str]]:
    """The lines of the table of coefficients."""
    return list(csv.DictReader(io.StringIO(text(plan, cohorts, "coefficients")), delimiter="\t"))


def schema_of(features: int, outcome: str = "number", *more: Column) -> list[Column]:
    """So many features `x0`, `x1`, …, and the outcome `y`: a number, or classes between bars."""
    y = (
        Column("y", role="outcome")
        if outcome == "number"
        else Column("y", "category", levels=tuple(outcome.split("|")), role="outcome")
    )
    return [*(Column(f"x{k}") for k in range(features)), *more, y]


def cells_of(x: np.ndarray, y: Sequence[Any] | np.ndarray) -> dict[str, Any]:
    return {**{f"x{k}": column for k, column in enumerate(x.T)}, "y": y}


def coefficients(model: Mapping[str, Any]) -> np.ndarray:
    """float64 (m, scores)"""
    return np.array([feature["coefficients"] for feature in model["features"]])
