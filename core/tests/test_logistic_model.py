"""Logistic models: their paths, what they are without a penalty, refusals. tests/oracles has how they fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from models import cells_of, coefficient_table, coefficients, fit, plan_of, schema_of, table_of, tables_of
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from unpooled.errors import Refuse
from unpooled.plan.schema import Column

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


def test_without_a_penalty_it_is_maximum_likelihood_with_standard_errors() -> None:
    """Cases are few, and columns in units of their own; the first value of a category is the reference."""
    random = np.random.default_rng(6)
    x = random.normal(size=(4000, 3)) * [1, 1e-3, 1e4] + [0, 5, -1e6]
    word, (z, deviation) = random.choice(["a", "b", "c"], 4000), standardised(x)
    risk = z @ [1.0, -0.5, 0.2] + (word == "b") + random.logistic(size=4000)
    y = (risk > np.quantile(risk, 0.98)).astype(int)
    words = Column("w", "category", encoding="one-hot", levels=("a", "b", "c"))
    plan = plan_of(METHOD, schema_of(3, "0|1", words), 3, penalties=(0.0,), validation_folds=2)
    cells = cells_of(x, y.astype(str)) | {"w": word}
    parts = [{name: column[k::3] for name, column in cells.items()} for k in range(3)]
    first, *lines = coefficient_table(plan, parts)
    design = np.column_stack([np.ones(4000), z, word == "b", word == "c"]).astype(float)
    right = sm.Logit(y, design).fit(disp=0, tol=1e-14, maxiter=100)
    of = {line["name"]: line for line in lines}
    wanted = zip(right.params[1:], right.bse[1:], right.pvalues[1:], [*deviation, 1, 1], strict=True)
    for name, (b, se, p, scale) in zip(["x0", "x1", "x2", "w=b", "w=c"], wanted, strict=True):
        assert float(of[name]["coefficient of 1"]) * scale == pytest.approx(b, rel=1e-8)
        assert float(of[name]["standard error"]) * scale == pytest.approx(se, rel=1e-8)
        assert float(of[name]["z"]) == pytest.approx(b / se, rel=1e-8)
        assert float(of[name]["P"]) == pytest.approx(p, rel=1e-6, abs=1e-300)
    assert float(of["w=a"]["coefficient of 1"]) == 0
    zero = np.concatenate([[1.0], -x.mean(axis=0) / deviation, [0.0, 0.0]])
    error = np.sqrt(zero @ right.cov_params() @ zero)
    assert float(first["standard error"]) == pytest.approx(error, rel=1e-7)


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
