"""Normalization of tables: the parameters that the pooled table would give.

Each method begins with the number of values of each feature. What follows are sums (`moments`) or nothing but
counts (`order`). The parameters file and what it does to a table are in `unpooled.scaler`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import BinaryIO

import numpy as np

from unpooled.algorithms.algorithm import Algorithm
from unpooled.algorithms.normalization.census import CountValues
from unpooled.algorithms.normalization.moments import Average, FindMagnitude, MeasureSpread
from unpooled.algorithms.normalization.order import Narrow, interpolated
from unpooled.algorithms.normalization.table import FEATURES
from unpooled.panel import Panel
from unpooled.plan import NONE, NORMALIZATION_FILES, Plan
from unpooled.scaler import MIN_MAX, ROBUST, Z_SCORE, parameters
from unpooled.step import Arrays, Step

Parameters = Callable[[Arrays], dict[str, np.ndarray]]
"""The parameters by name, float64 (features,) each, from the columns of the table `FEATURES`."""


def _first(quantiles: tuple[float, ...], plan: Plan, panel: Panel) -> Iterable[Step]:
    titles = tuple(feature.title for feature in plan.features)
    return [CountValues(len(titles), titles, plan.cohorts, quantiles)]


def _moments(columns: Arrays) -> dict[str, np.ndarray]:
    return {name: columns[name] for name in ("mean", "deviation")}


def _quantiles(names: dict[str, float], columns: Arrays) -> dict[str, np.ndarray]:
    pairs = columns["elements"].reshape(-1, len(names), 2)
    return {
        name: interpolated(quantile, columns["n"], *pairs[:, k].T)
        for k, (name, quantile) in enumerate(names.items())
    }


def _write(of: Parameters, out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    found = parameters(plan.test, plan.features, columns["n"], of(columns))
    out.write(json.dumps(found, indent=2, allow_nan=False).encode() + b"\n")


def _method(
    name: str,
    title: str,
    method: str,
    steps: tuple[type[Step], ...],
    of: Parameters,
    quantiles: Iterable[float] = (),
) -> Algorithm:
    return Algorithm(
        name=name,
        title=title,
        method=method,
        traits=(NONE,),
        steps=(CountValues, *steps),
        first=partial(_first, tuple(quantiles)),
        files={"parameters": partial(_write, of)},
        usual_files=NORMALIZATION_FILES,
        file_name=lambda file, plan: f"{file}.json",
        table=FEATURES,
        summarise=lambda tables: None,
    )


def _by_quantiles(name: str, title: str, method: str, quantiles: dict[str, float]) -> Algorithm:
    return _method(name, title, method, (Narrow,), partial(_quantiles, quantiles), quantiles.values())


NORMALIZATIONS = (
    _method(
        Z_SCORE,
        "Normalization to mean 0, deviation 1",
        "Of each column the mean of all cohorts' values was subtracted; the rest was divided by their "
        "standard deviation.",
        (FindMagnitude, Average, MeasureSpread),
        _moments,
    ),
    _by_quantiles(
        MIN_MAX,
        "Normalization to the range 0 to 1",
        "Each column was scaled so that the smallest of all cohorts' values became 0 and the largest 1.",
        {"min": 0.0, "max": 1.0},
    ),
    _by_quantiles(
        ROBUST,
        "Normalization by median and quartiles",
        "Of each column the median of all cohorts' values was subtracted; the rest was divided by their "
        "interquartile range.",
        {"lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75},
    ),
)
