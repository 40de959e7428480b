"""The fit itself: a procedure for each method, from the sums of the pool to the tables of the result."""

from __future__ import annotations

import numpy as np

from unpooled.algorithms.learning.pool import Folds, folds_of
from unpooled.algorithms.learning.procedure import Sums, sum_products
from unpooled.algorithms.learning.solve import Path, Ridge, Solver, fit_path
from unpooled.plan import Plan
from unpooled.procedure import Asks, Rows, Study, procedure

PATH, COEFFICIENTS, MODEL = "path", "coefficients", "model"
"""The result tables of a fit: each penalty, each column of the design, and the model as a whole."""

RIDGE = "ridge"


def solver_of(plan: Plan) -> Solver:
    """How a plan's method fits."""
    return Ridge()


@procedure("model/fit")
def fit(study: Study) -> Asks[None]:
    """Sum products; then report the model of the penalty with the least error in the folds left out."""
    sums = yield from sum_products(study)
    folds = folds_of(sums.folds, sums.design["centre"], sums.design["exponent"], sums.targets)
    path = fit_path(folds, solver_of(study.plan), study.plan.penalties)
    yield from report(folds, path, sums)


def report(folds: Folds, path: Path, sums: Sums) -> Asks[None]:
    """Report a path and its model, with coefficients per unit of the files."""
    count = path.errors.shape[1]
    index = np.arange(len(path.penalties))
    yield Rows(
        PATH,
        {
            "index": index,
            "penalty": path.penalties,
            "error": path.errors.mean(axis=1),
            "error_deviation": path.errors.std(axis=1, ddof=1) / np.sqrt(count),
            "chosen": index == path.chosen,
        },
    )
    yield Rows(
        COEFFICIENTS,
        {
            "index": np.arange(len(folds.mean)),
            "mean": folds.mean,
            "deviation": np.where(folds.varies, folds.deviation, 0.0),
            "coefficient": path.coefficients / folds.deviation[:, None],
        },
    )
    whole = folds.but()
    yield Rows(
        MODEL,
        {
            "index": np.zeros(1, np.int64),
            "intercept": path.intercept[None, :],
            "log_odds": np.zeros(1, bool),
            "people": np.array([sums.folds["people"].sum()]),
            "rows": np.array([sums.folds["rows"].sum()]),
            "variance": np.array([np.trace(whole.covariance[-whole.targets :, -whole.targets :])]),
        },
    )
