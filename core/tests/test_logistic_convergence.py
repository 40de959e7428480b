"""When a logistic regression ends, against Newton's method written out on the pooled data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from test_plink_logistic import Pooled, generated

from unpooled.kernels import least_squares as codes
from unpooled.plan import Plan, PlanError

Place = tuple[np.ndarray, float, np.ndarray, np.ndarray]


def newton(y: np.ndarray, x: np.ndarray) -> Iterator[Place]:
    """Coefficients, their log-likelihood, covariance, and the next coefficients: from the model without the
    genotype, column 1, on."""
    others = np.delete(x, 1, axis=1)
    beta = np.zeros(others.shape[1])
    for _ in range(30):
        beta = place(y, others, beta)[3]
    beta = np.insert(beta, 1, 0.0)
    while True:
        yield (found := place(y, x, beta))
        beta = found[3]


def place(y: np.ndarray, x: np.ndarray, beta: np.ndarray) -> Place:
    p = 1 / (1 + np.exp(-x @ beta))
    likelihood = float(np.sum(np.log(np.where(y == 1, p, 1 - p))))
    covariance = np.linalg.inv(x.T @ (x * (p * (1 - p))[:, None]))
    return beta, likelihood, covariance, beta + covariance @ (x.T @ (y - p))


def evaluations(y: np.ndarray, x: np.ndarray) -> Iterator[tuple[Place, Place]]:
    """Each place that cohorts evaluate, and the one before it: the first is two steps from the start."""
    path = newton(y, x)
    before = next(path)
    next(path)
    for here in path:
        yield here, before
        before = here


@pytest.fixture(scope="module")
def pooled() -> Pooled:
    """Autosomes only, and no missing calls: every variant starts from one model of the covariates.

    Some nearly tell who is a case, and need many steps.
    """
    made = generated(10, each=30, missing=0.0, apart=True)
    some = [k for k, row in enumerate(made.variants) if row[0] in (1, 22)]
    return Pooled(made.samples, [made.variants[k] for k in some], made.copies[some])


def test_a_tolerance_ends_it_where_the_likelihood_hardly_changes(pooled: Pooled) -> None:
    """sPLINK's rule. The estimate is one step further, the standard error that of the last evaluation."""
    tolerance, early = 1e-4, 0
    _, rows = pooled.study(tolerance=tolerance, max_iterations=20)
    _, exact = pooled.study()
    for k in np.flatnonzero(rows["code"] == codes.FITTED):
        y, x = pooled.design(int(rows["variant"][k]), bool(rows["first_is_a1"][k]))
        (_, _, covariance, following) = next(
            here for here, before in evaluations(y, x) if abs(here[1] - before[1]) <= tolerance
        )
        error = np.sqrt(np.diag(covariance))[1:]
        # The second step is computed in single precision.
        shown = len(error)
        np.testing.assert_allclose(rows["se"][k, :shown], error, rtol=1e-5)
        assert (np.abs(rows["beta"][k, :shown] - following[1:]) < 1e-5 * error).all()
        early += abs(rows["se"][k, 0] / exact["se"][k, 0] - 1) > 1e-6
    assert early >= 5


def test_what_needs_more_iterations_than_the_plan_has_is_told(pooled: Pooled) -> None:
    _, exact = pooled.study()
    open_ = exact["code"] == codes.FITTED
    unfinished = []
    for most in (1, 4, 6, 9):
        _, rows = pooled.study(max_iterations=most)
        left = rows["code"] == codes.UNFINISHED
        assert np.isnan(rows["beta"][left]).all()
        assert not left[~open_].any()
        np.testing.assert_array_equal(rows["beta"][~left], exact["beta"][~left])
        unfinished.append(np.count_nonzero(left))
    assert np.count_nonzero(open_) == unfinished[0] > unfinished[1] > unfinished[2] > unfinished[3]


@pytest.mark.parametrize("wrong", [{"tolerance": -1.0}, {"tolerance": float("nan")}, {"max_iterations": 0}])
def test_limits_that_cannot_be_are_no_plan(wrong: dict[str, float]) -> None:
    with pytest.raises(PlanError) as caught:
        Plan("logistic", "status", 3, bytes(32), **wrong)  # type: ignore[arg-type]
    assert caught.value.problems.keys() == wrong.keys()
