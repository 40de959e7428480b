"""The fit itself, from the sums of the pool to the tables of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.errors import Refuse, listed
from unpooled.methods.learning.design import is_wide
from unpooled.methods.learning.models import (
    MODELS,
    LeastSquares,
    Path,
    Solver,
    fit_path,
    inflation,
    outputs_of,
    standard_errors,
)
from unpooled.methods.learning.options import MODEL_PENALTIES
from unpooled.methods.learning.performance import measure_path
from unpooled.methods.learning.pool import Folds
from unpooled.methods.learning.procedure import Described, Sums, describe_columns, sum_products
from unpooled.methods.learning.result import report
from unpooled.methods.learning.wide import fit_wide
from unpooled.plan.plan import Plan

_MOST_INFLATION = 1e10
"""Largest variance inflation allowed: beyond it, rounding decides a coefficient."""


def solver_of(plan: Plan, references: tuple[int, ...]) -> Solver:
    """Return the solver of a plan's method; `references` are the first columns of one-hot categories."""
    if (make := MODELS[plan.test].solver) is None:
        raise ValueError(f"{plan.test} is not fitted from products")
    return make(plan, references)


@procedure("model/fit")
def fit(study: Study) -> Asks[None]:
    """Sum products; then report the model of the penalty with the least error in the folds left out.

    Report the performance of such models there, too.
    """
    described = yield from describe_columns(study)
    if is_wide(study.plan):
        yield from fit_wide(study, described)
    if described.has_one_fold:
        yield Finish(fit_all_rows(study, described))
        return
    sums = yield from sum_products(study, described)
    folds, path, rows = fit_sums(study.plan, sums)
    yield Rows.later(lambda: rows)
    yield from measure_path(study, sums.question, folds, path, sums.rows)


@procedure("model/fit-all-rows")
def fit_all_rows(study: Study, described: Described) -> Asks[None]:
    """Sum products, and report the model: it has seen all rows, so nothing else is asked."""
    sums = yield from sum_products(study, described)
    yield from fit_sums(study.plan, sums)[2]


def fit_sums(plan: Plan, sums: Sums) -> tuple[Folds, Path, Iterator[Rows]]:
    """The folds, the fit, and the tables of the model that these sums give."""
    solver = solver_of(plan, sums.references)
    folds = folds_under(plan, sums)
    if isinstance(solver, LeastSquares) and not plan.alone:
        refuse_determined(sums, folds)
    path = fit_path(folds, solver, MODEL_PENALTIES.of(plan))
    return folds, path, _rows(sums, folds, path, solver)


def folds_under(plan: Plan, sums: Sums) -> Folds:
    """The folds, with the outcome in the scores that the plan's model is fitted to."""
    outputs = outputs_of(plan)
    if outputs is None:
        return sums.folds()
    folds = sums.folds(outputs.unit)
    return replace(folds, origin=folds.origin + (outputs.middle - outputs.zero))


def _rows(sums: Sums, folds: Folds, path: Path, solver: Solver) -> Iterator[Rows]:
    errors = standard_errors(folds, path, solver) if isinstance(solver, LeastSquares) else None
    whole = folds.but()
    variance = float(np.trace(whole.covariance[-whole.targets :, -whole.targets :]))
    yield from report(folds, path, sums.counted, errors, variance)


def refuse_determined(sums: Sums, folds: Folds) -> None:
    """Refuse if columns determine one another: without a penalty they have no coefficients of their own.

    Whatever the outcome and however many rows there are: it is looked for in the columns alone.
    """
    used = LeastSquares(sums.references).used(folds.but())
    determined = ~(inflation(folds.but(), used) <= _MOST_INFLATION)
    if names := [sums.names[k] for k in used[determined].tolist()]:
        raise Refuse(
            "schema",
            f"{listed(names)} determine one another, so that none of them has a coefficient of its own",
            "Declare one of them as ignored, or choose a penalty above 0, or ridge regression.",
        )
