"""A study of tables: what the pool's parameters are, and what this cohort's table alone would give.

The same steps as the study's, run within this program: its rows are divided among three cohorts.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.algorithms import algorithm
from unpooled.algorithms.tables.census import FEWEST_VALUES
from unpooled.cohort import ArrayTable
from unpooled.panel import Panel
from unpooled.plan import PARAMETERS_FILE, QUANTILES_FILE, SUMMARY_FILES, Plan
from unpooled.protocol.messages import MIN_COHORTS
from unpooled.run import run
from unpooled_client.compare.pool import NothingToCompare, file_of

_NO_NUMBERS = {"name", "type", "unit", "note"}
_SOURCES = (PARAMETERS_FILE, QUANTILES_FILE, SUMMARY_FILES[0])

Found = Mapping[str, Mapping[str, float]]
"""By feature: numbers by their names."""


@dataclass(frozen=True)
class Beside:
    """One number of a feature, in the pool and here."""

    feature: str
    unit: str
    what: str
    pool: float
    own: float
    """NaN where this cohort has too few values."""


def compare_tables(files: Iterable[Path], values: np.ndarray, plan: Plan) -> list[Beside]:
    """Each number of the pool beside this cohort's. `values` are the plan's features, float64 (n, features).

    `files` are the delivered result files. Raises NothingToCompare if none has parameters.
    """
    files = list(files)
    given = {file: file_of(file, files, plan) for file in _SOURCES if file in plan.files}
    file, path = next(((file, path) for file, path in given.items() if path), (None, None))
    if file is None or path is None:
        raise NothingToCompare("the results have no file with parameters, quantiles or a summary")
    pool, own = _read(path.read_bytes()), _own(file, values, plan)
    units = {feature.title: feature.unit for feature in plan.features}
    return [
        Beside(feature, units.get(feature, ""), what, number, own.get(feature, {}).get(what, math.nan))
        for feature, numbers in pool.items()
        for what, number in numbers.items()
    ]


def _own(file: str, values: np.ndarray, plan: Plan) -> Found:
    """What the study's file would have said of this table alone."""
    hands = [values[k::MIN_COHORTS] for k in range(MIN_COHORTS)]
    known = [(~np.isnan(hand)).sum(axis=0) for hand in hands]
    enough = [k for k in range(values.shape[1]) if min(counts[k] for counts in known) >= FEWEST_VALUES]
    if not enough:
        return {}
    features = [plan.features[k] for k in enough]
    own_plan = dataclasses.replace(
        plan, cohorts=MIN_COHORTS, schema=tuple(features), files=(file,), masking="modular"
    )
    method, nothing = algorithm(plan.test), Panel.of([])
    tables = run(own_plan, nothing, [ArrayTable(np.ascontiguousarray(hand[:, enough])) for hand in hands])
    written = io.BytesIO()
    method.files[file](written, nothing, method.columns_for(file, tables), own_plan)
    return _read(written.getvalue())


def _read(content: bytes) -> Found:
    """The numbers in a file of parameters, of quantiles, or of a summary."""
    text = content.decode("utf-8")
    rows = json.loads(text)["features"] if text.lstrip().startswith("{") else _lines(text)
    return {str(row["name"]): dict(_numbers(row)) for row in rows}


def _lines(text: str) -> Iterator[dict[str, Any]]:
    head, *lines = (line.split("\t") for line in text.splitlines())
    for line in lines:
        row = dict(zip(head, line, strict=True))
        known = {name: word for name, word in row.items() if word != "NA"}
        yield {name: word if name in _NO_NUMBERS else _number(word) for name, word in known.items()}


def _number(word: str) -> float:
    return int(word) if word.isdigit() else float(word)


def _numbers(row: Mapping[str, Any], of: str = "") -> Iterator[tuple[str, float]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{name.removesuffix('s')} ")
        elif name not in _NO_NUMBERS and value is not None:
            yield f"{of}{name}", value
