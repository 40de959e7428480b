"""The result tables of a fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.methods.learning.models import Errors, Path
from unpooled.methods.learning.pool import Folds

PATH, COEFFICIENTS, MODEL = "path", "coefficients", "model"
"""The result tables of a fit: each penalty, each column of the design, and the model as a whole."""


def report(
    folds: Folds, path: Path, counted: Arrays, errors: Errors | None, variance: float
) -> Iterator[Rows]:
    """Report a path and its model, with coefficients per unit of the files.

    `counted` are people and rows of each fold, `variance` is the error of a model without features.
    """
    count = path.errors.shape[1]
    index = np.arange(len(path.penalties))
    yield Rows(
        PATH,
        {
            "index": index,
            "penalty": path.penalties,
            "error": path.errors.mean(axis=1),
            "error_deviation": path.errors.std(axis=1, ddof=min(1, count - 1)) / np.sqrt(count),
            "chosen": index == path.chosen,
        },
    )
    more = {} if errors is None else {"error": (errors.coefficients / folds.deviation)[:, None]}
    yield Rows(
        COEFFICIENTS,
        {
            "index": np.arange(len(folds.mean)),
            "mean": folds.mean,
            "deviation": np.where(folds.varies, folds.deviation, 0.0),
            "coefficient": path.coefficients / folds.deviation[:, None],
            **more,
        },
    )
    last = (
        {}
        if errors is None
        else {"error": np.array([errors.intercept]), "freedom": np.array([errors.freedom])}
    )
    yield Rows(
        MODEL,
        {
            "index": np.zeros(1, np.int64),
            "intercept": (folds.origin + path.intercept)[None, :],
            "people": np.array([counted["people"].sum()]),
            "rows": np.array([counted["rows"].sum()]),
            "folds": np.array([np.count_nonzero(counted["rows"])]),
            "variance": np.array([variance]),
            **last,
        },
    )
