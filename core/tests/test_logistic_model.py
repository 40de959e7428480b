"""Logistic models: their paths, what they are without a penalty, refusals. tests/oracles has how they fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import cells_of, coefficients, fit, plan_of, schema_of, table_of, tables_of
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from unpooled.errors import Refuse

METHOD = "logistic-model"


def standardised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    deviation = x.std(axis=0)
    deviation[deviation == 0] = 1
    return (x - x.mean(axis=0)) / deviation, deviation


def dealt(x: np.ndarray, y: np.ndarray, cohorts: int) -> list[dict[str, Any]]:
    """The rows to cohorts at random."""
    order = np.random.default_rng(4).permutation(len(y))
    return [cells_of(x[rows], y[rows].astype(str)) for rows in np.array_split(order, cohorts)]


def test_the_penalty_is_that_of_the_least_log_loss_in_the_folds_left_out() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    x = x[:, :8]
    plan = plan_of(METHOD, schema_of(8, "0|1"), 4, validation_folds=3)
    parts = dealt(x, y, 4)
    path = tables_of(plan, parts)["path"]
    assert len(path["penalty"]) == 8 and path["chosen"].sum() == 1
    assert path["error"][path["chosen"]] == path["error"].min()
    tables = [table_of(part, plan) for part in parts]
    pooled, classes, folds = (
        np.concatenate([getattr(table, name) for table in tables]) for name in ("values", "classes", "folds")
    )
    z = standardised(pooled)[0]
    for penalty, error in zip(path["penalty"][::3], path["error"][::3], strict=True):
        losses = []
        for fold in range(3):
            rest, own = folds != fold, folds == fold
            C = 1 / (rest.sum() * penalty)
            one = LogisticRegression(C=C, tol=1e-13, max_iter=10_000, solver="newton-cholesky")
            p = one.fit(z[rest], classes[rest]).predict_proba(z[own])
            losses.append(-np.log(p[np.arange(len(p)), classes[own]]).mean())
        assert error == pytest.approx(np.mean(losses), rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_of_several_classes_without_a_penalty_scores_have_no_part_in_common(seed: int) -> None:
    """A common part changes nothing, and the Hessian tells only rounding of it: no step goes there."""
    random = np.random.default_rng(seed)
    x = random.normal([0, 1e4, 0, 0, 0], size=(600, 5))
    score = random.normal(size=(600, 4)) * 2 + standardised(x)[0] @ random.normal(size=(5, 4))
    y = score.argmax(axis=1)
    plan = plan_of(METHOD, schema_of(5, "0|1|2|3"), 20, penalties=(0.0,), validation_folds=3)
    found = fit(plan, dealt(x, y, 20))
    assert np.abs(coefficients(found).sum(axis=1)).max() < 1e-9
    z = standardised(x)[0]
    right = LogisticRegression(C=np.inf, tol=1e-13, max_iter=10_000, solver="newton-cg").fit(z, y)
    own = coefficients(found).T * standardised(x)[1]
    wanted = right.coef_ - right.coef_.mean(axis=0)
    assert np.abs(own - wanted).max() <= 1e-7 * np.abs(wanted).max()


@pytest.mark.parametrize("classes", ["0|1", "0|1|2"])
@pytest.mark.parametrize("rows", [180, 600])
def test_columns_that_determine_one_another_are_refused_without_a_penalty(rows: int, classes: str) -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(rows, 3))
    x = np.column_stack([x, x[:, 0] + x[:, 2]])
    y = random.integers(0, len(classes.split("|")), rows)
    plan = plan_of(METHOD, schema_of(4, classes), 3, penalties=(0.0,), validation_folds=2)
    with pytest.raises(Refuse, match=r"^x0, x2, x3 determine one another"):
        fit(plan, dealt(x, y, 3))
