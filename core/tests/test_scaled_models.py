"""Models that scale their columns themselves. tests/oracles/test_scalings.py has how they fit."""

from __future__ import annotations

from typing import Any

import models
import normalizing
import numpy as np
import pytest
from scipy.stats import yeojohnson

from tests.contract.runs import run_of
from tests.contract.studies import Small
from unpooled.errors import DataProblem
from unpooled.fitted.model import Model
from unpooled.methods.learning import design
from unpooled.methods.learning.questions import CountSides
from unpooled.methods.learning.stored import error_without, refitted
from unpooled.plan.plan import Plan, PlanError
from unpooled.plan.schema import Column

SCALINGS = ("yeo-johnson", "log", "robust", "")


def plan_of(method: str = "ridge", scalings: tuple[str, ...] = SCALINGS, **options: Any) -> Plan:
    schema = [Column(f"x{k}", encoding=scaling) for k, scaling in enumerate(scalings)]
    penalties = {} if method == "linear-model" else {"penalties": (0.1,)}
    cohorts = options.pop("cohorts", 4)
    return models.plan_of(method, [*schema, Column("y", role="outcome")], cohorts, **penalties, **options)


def pool(rows: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = np.column_stack([random.lognormal(k, 1, rows) for k in range(len(SCALINGS))])
    return x, np.log(x).sum(axis=1) + random.normal(size=rows)


def cohorts_of(x: np.ndarray, y: np.ndarray, cohorts: int = 4) -> list[dict[str, Any]]:
    return [models.cells_of(x[k::cohorts], y[k::cohorts]) for k in range(cohorts)]


def test_many_columns_are_scaled_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits by conjugate gradients, and by products, are one."""
    x, y = pool(2000)
    by_products = Model(models.fit(plan_of(), cohorts_of(x, y)))
    monkeypatch.setattr(design, "MOST_COLUMNS", 2)
    by_gradients = Model(models.fit(plan_of(), cohorts_of(x, y)))
    assert np.allclose(by_gradients.predict(x), by_products.predict(x), rtol=1e-9, atol=0)


def test_people_are_counted_beside_the_means_of_what_a_model_sees() -> None:
    """Half of a skewed column is on either side once it is transformed, though few people are above raw."""
    x, y = pool(1200)
    plan = plan_of()
    tables = [models.table_of(cells, plan) for cells in cohorts_of(x, y)]
    asked = run_of(Small(plan, normalizing.NOBODY, tables)).questions
    (sides,) = (question for question in asked if isinstance(question, CountSides))
    assert sides.bends is not None
    seen = [yeojohnson(x[:, 0], sides.bends.power[0]), np.log(x[:, 1]), x[:, 2], x[:, 3]]
    for name, wanted in (("above", np.greater), ("below", np.less)):
        counts = sum(sides.local(table)[name] for table in tables)
        found = np.reshape(counts, (len(plan.features), -1)).sum(axis=1)
        assert found[:-1].tolist() == [np.count_nonzero(wanted(column, column.mean())) for column in seen]


@pytest.mark.parametrize("fill", [np.nan, 5.0])
def test_a_column_without_values_or_with_one_counts_for_nothing(fill: float) -> None:
    x, y = pool(900)
    x[:, [0, 2]] = fill
    found = Model(models.fit(plan_of(), cohorts_of(x, y)))
    assert (np.abs(found.coef_[0, [0, 2]]) < 1e-12).all() and (np.abs(found.coef_[0, [1, 3]]) > 1e-3).all()
    assert np.isfinite(found.predict(x)).all()


def test_sums_of_two_studies_add_up_where_nothing_was_found_by_the_first_alone() -> None:
    """A logarithm is the same in both; a lambda is each study's own."""
    x, y = pool(1600)
    plan = plan_of("linear-model", ("log", "log1p", "robust", ""), files=("model", "sums"))
    parts = [models.content(plan, cohorts_of(x[k::2], y[k::2]), "sums") for k in range(2)]
    whole = models.fit(plan, cohorts_of(x, y))
    together = refitted(parts, plan)
    assert np.allclose(models.coefficients(together), models.coefficients(whole), rtol=1e-9, atol=0)
    assert [of.get("scaling", {}).get("method") for of in together["features"]] == [
        "log",
        "log1p",
        "robust",
        None,
    ]
    bent = plan_of(files=("model", "sums"))
    with pytest.raises(ValueError, match="lambda, which is each study's own"):
        refitted([models.content(bent, cohorts_of(x[k::2], y[k::2]), "sums") for k in range(2)], bent)


def test_a_cohort_tests_the_model_of_the_others_on_its_scaled_columns() -> None:
    """The error is that of a model of the others' columns, bent alike: no penalty, so no units."""
    x, y = pool(1200)
    plan = plan_of("linear-model", files=("model", "sums"))
    cells = cohorts_of(x, y)
    sums = models.content(plan, cells, "sums")
    whole = Model(models.fit(plan, cells))
    bent = np.column_stack([np.ones(len(x)), whole._bent(x)])
    own = np.arange(len(x)) % 4 == 0
    weights = np.linalg.lstsq(bent[~own], y[~own], rcond=None)[0]
    wanted = np.mean((y[own] - bent[own] @ weights) ** 2)
    assert error_without(sums, models.table_of(cells[0], plan), plan) == pytest.approx(wanted, rel=1e-8)


def test_a_value_without_a_logarithm_is_refused_by_name() -> None:
    x, y = pool(900)
    found = Model(models.fit(plan_of(), cohorts_of(x, y)))
    x[3, 1] = 0
    with pytest.raises(ValueError, match="x1: a value is not above 0, as log needs"):
        found.predict(x)
    with pytest.raises(DataProblem, match="x1: a value is not above 0"):
        models.fit(plan_of(), cohorts_of(x, y))


@pytest.mark.parametrize("left_out", ["lambda", "centre", "method"])
def test_a_scaling_that_lacks_a_number_is_no_model(left_out: str) -> None:
    content = models.fit(plan_of(), cohorts_of(*pool(900)))
    del content["features"][0]["scaling"][left_out]
    with pytest.raises(ValueError, match="not the parameters of a model"):
        Model(content)
    content["features"][0]["scaling"] = {"method": "rank"}
    with pytest.raises(ValueError, match="got the scaling 'rank'; want z-score, robust"):
        Model(content)


@pytest.mark.parametrize(("scaling", "most"), [("robust", 685), ("yeo-johnson", 2056)])
def test_so_many_columns_are_compared_at_once(scaling: str, most: int) -> None:
    assert plan_of(scalings=(scaling,) * most).features
    with pytest.raises(PlanError, match=f"at most {most:,} columns can have the scaling {scaling}"):
        plan_of(scalings=(scaling,) * (most + 1))


@pytest.mark.parametrize("method", ["z-score", "robust", "yeo-johnson", "summary"])
def test_only_a_model_scales_its_columns(method: str) -> None:
    with pytest.raises(PlanError, match="x: only a model scales its columns"):
        models.plan_of(method, [Column("x", encoding="log")], 3)
