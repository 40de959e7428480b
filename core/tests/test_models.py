"""Models: their paths, files and sums, and one cohort against the pool. tests/oracles has how they fit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
import normalizing
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from normalizing import evenly
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV, Ridge
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unpooled
from tests.contract.runs import run_of
from tests.contract.studies import Small
from unpooled.errors import DataProblem, Refuse
from unpooled.fitted import image_network
from unpooled.fitted.encoder import Encoder
from unpooled.fitted.model import Model
from unpooled.kernels.coordinates import descend
from unpooled.methods.learning.design import MOST_COLUMNS, SumProducts
from unpooled.methods.learning.models import LOG_ODDS
from unpooled.methods.learning.procedure import foresee
from unpooled.methods.learning.reading import Examples
from unpooled.methods.learning.stored import error_without, refitted
from unpooled.methods.learning.wide_questions import ProjectColumns, SumWithOutcome
from unpooled.plan.plan import PlanError
from unpooled.plan.schema import Column

NEAR = 1e-9
"""Relative to the largest coefficient."""


def federated(x: np.ndarray, y: np.ndarray, parts: list[np.ndarray], plan: Any) -> dict[str, Any]:
    return models.fit(plan, [models.cells_of(x[part], y[part]) for part in parts])


def standardised(tables: list[Examples]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The features of the pool, the outcome, and the folds of the rows."""
    x, y = np.split(np.vstack([table.values for table in tables]), [-1], axis=1)
    return StandardScaler().fit_transform(x), y[:, 0], np.concatenate([table.folds for table in tables])


def with_words(rows: int) -> tuple[list[Column], dict[str, Any]]:
    """A table with categories of every encoding, one of them with a rare level and missing words."""
    random = np.random.default_rng(6)
    smoking = random.choice(["never", "former", "now", None], rows, p=[0.4, 0.3, 0.15, 0.15]).astype(object)
    smoking[:4], smoking[4::10] = "pipe", "something else"
    stage, ward = (random.choice(list("abcd"), rows).astype(object) for _ in range(2))
    stage[::17] = None
    x = random.normal(size=(rows, 2))
    y = x @ [1.0, -0.5] + (smoking == "now") * 2 + (stage == "c") + random.normal(size=rows)
    schema = models.schema_of(
        2,
        "number",
        Column("smoking", "category", "", "one-hot", ("never", "former", "now", "pipe")),
        Column("stage", "category", "", "ordinal", ("a", "b", "c", "d")),
        Column("ward", "category", "", "frequency", ("a", "b", "c")),
    )
    return schema, {**models.cells_of(x, y), "smoking": smoking, "stage": stage, "ward": ward}


def test_coordinate_descent_ends_where_columns_are_copies_but_for_rounding() -> None:
    """Descent nears the solution ever more slowly without a penalty, and there is no other way: it stops."""
    almost = np.array([[1.0, 1 - 1e-13], [1 - 1e-13, 1.0]])
    found = descend(almost, np.array([1.0, 1 - 1e-6]), 0.0, 0.0, np.zeros(2))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("off", [1e-2, 1e-4, 1e-5])
def test_a_lasso_of_columns_that_are_nearly_copies_is_at_its_least(off: float) -> None:
    """No coefficient can be moved without loss: the conditions of Karush, Kuhn and Tucker hold."""
    random = np.random.default_rng(4)
    first = random.normal(size=(500, 2))
    x = np.column_stack([first, first + off * random.normal(size=(500, 2)), random.normal(size=(500, 2))])
    y = x @ [1.0, -1.0, 0.5, 0.0, 0.3, 0.0] + 0.1 * random.normal(size=500)
    covariance, with_outcome, lasso = x.T @ x / 500, x.T @ y / 500, 1e-4
    w = descend(covariance, with_outcome, lasso, 0.0, np.zeros(6))
    slope = with_outcome - covariance @ w
    np.testing.assert_allclose(slope[w != 0], lasso * np.sign(w[w != 0]), rtol=0, atol=1e-12)
    assert (np.abs(slope) <= lasso * (1 + 1e-8)).all()


def test_a_pipeline_of_scaler_encoder_and_model_takes_what_is_in_the_files(tmp_path: Path) -> None:
    """Numbers are normalized by one study, and a second one fits to what it wrote: both by their files."""
    schema, cells = with_words(900)
    raw = np.column_stack([cells["x0"] * 30 + 1e3, cells["x1"] / 100])
    studies = {"scaler": normalizing.fit("z-score", [raw[k::3] for k in range(3)])}
    for k, feature in enumerate(studies["scaler"]["features"]):
        feature["name"] = f"x{k}"
    cells["x0"], cells["x1"] = unpooled.Scaler(studies["scaler"]).transform(raw).T
    plan = models.plan_of("ridge", schema, 3)
    studies["model"] = models.fit(
        plan, [{name: column[k::3] for name, column in cells.items()} for k in range(3)]
    )
    for name, content in studies.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    scaler = unpooled.Scaler.from_file(tmp_path / "scaler.json")
    found = unpooled.Model.from_file(tmp_path / "model.json")
    assert isinstance(found.encoder, Encoder)
    table = pd.DataFrame({column.title: cells[column.title] for column in schema[:-1]})
    table[["x0", "x1"]] = raw
    parts = [("numbers", scaler, ["x0", "x1"]), ("words", found.encoder, list(table)[2:])]
    named = ColumnTransformer(parts, verbose_feature_names_out=False).set_output(transform="pandas")
    line = make_pipeline(named, found).fit(table)
    assert np.allclose(line.predict(table), found.predict(found.table(cells)), rtol=0, atol=1e-12)


def test_the_package_loads_no_more_than_is_named() -> None:
    said = "import sys, unpooled; assert 'numpy' not in sys.modules; print(unpooled.Model.__module__)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout == "unpooled.fitted.model\n"
    with pytest.raises(AttributeError, match="no attribute 'Models'"):
        _ = unpooled.Models


def test_rows_of_a_patient_are_in_one_fold_wherever_they_are() -> None:
    random = np.random.default_rng(2)
    x, patient = (
        random.normal(size=(900, 2)),
        np.array([f"p{k}" for k in random.integers(0, 300, 900)], object),
    )
    y = x @ [1.0, 2.0] + random.normal(size=900)
    schema = models.schema_of(2, "number", Column("id", "text", role="patient"))
    plan = models.plan_of("ridge", schema, 3)
    cohorts = [{**models.cells_of(x[k::3], y[k::3]), "id": patient[k::3]} for k in range(3)]
    fold_of: dict[str, int] = {}
    for cells in cohorts:
        for name, fold in zip(cells["id"], models.table_of(cells, plan).folds.tolist(), strict=True):
            assert fold_of.setdefault(name, fold) == fold
    assert set(fold_of.values()) == set(range(5))
    model = models.fit(plan, cohorts)
    different = sum(len(set(cells["id"])) for cells in cohorts)
    assert model["rows"] == 900 and model["people"] == different


def test_the_path_of_a_lasso_is_that_of_scikit_learn() -> None:
    """The folds are the same, over the usual penalties: the error of each, and the choice."""
    x, y = load_diabetes(return_X_y=True)
    plan = models.plan_of("lasso", models.schema_of(x.shape[1]), 3)
    cells = [models.cells_of(x[part], y[part]) for part in evenly(np.arange(len(y)), 3)]
    found = models.tables_of(plan, cells)["path"]
    z, target, fold = standardised([models.table_of(each, plan) for each in cells])
    tried = np.sort(found["penalty"])[::-1]
    wanted = LassoCV(alphas=tried, cv=PredefinedSplit(fold), tol=1e-12, max_iter=1_000_000).fit(z, target)
    assert tried[0] == pytest.approx(np.abs(z.T @ (target - target.mean())).max() / len(z), rel=1e-9)
    assert np.allclose(found["error"], wanted.mse_path_.mean(axis=1), rtol=1e-9, atol=0)
    assert found["penalty"][found["chosen"]][0] == pytest.approx(wanted.alpha_, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "outcome"), [("ridge", "number"), ("fedheonn", "u|v|w"), ("linear-model", "number")]
)
def test_a_cohort_tests_the_model_of_the_others_on_itself(method: str, outcome: str) -> None:
    """The error from the pool's sums and a cohort's own table is that of a model of the others' rows."""
    schema, cells = with_words(1200)
    schema[-1] = models.schema_of(0, outcome)[0]
    if outcome != "number":
        cells["y"] = np.array(outcome.split("|"), object)[np.digitize(cells["y"], [0.0, 1.0])]
    plan = models.plan_of(method, schema, 4, files=("model", "sums"), **PENALTY[method])
    cohorts = [{name: column[k::4] for name, column in cells.items()} for k in range(4)]
    found = error_without(models.content(plan, cohorts, "sums"), models.table_of(cohorts[0], plan), plan)
    whole = Model(models.fit(plan, cohorts))
    x = [whole.table(of) for of in cohorts]
    names, times = outcome.split("|"), LOG_ODDS if method == "fedheonn" else 1.0
    targets = [
        np.asarray(of["y"], float)[:, None]
        if outcome == "number"
        else np.where(np.asarray(of["y"])[:, None] == np.array(names), times, -times)
        for of in cohorts
    ]
    fill = np.nanmean(np.vstack(x), axis=0)
    filled = [np.where(np.isnan(of), fill, of) for of in x]
    others, y = np.vstack(filled[1:]), np.vstack(targets[1:])
    mean, deviation = others.mean(axis=0), others.std(axis=0)
    z, own = ((part - mean) / deviation for part in (others, filled[0]))
    if method == "fedheonn":
        bias, slope = np.ones((len(z), 1)), 0.95 * 0.05
        wide = np.hstack([bias, z])
        w = np.linalg.solve(wide.T @ wide + 0.1 / slope**2 * np.eye(wide.shape[1]), wide.T @ y)
        scores = np.hstack([np.ones((len(own), 1)), own]) @ w
    elif method == "ridge":
        scores = Ridge(0.1 * len(z), solver="svd").fit(z, y).predict(own).reshape(len(own), -1)
    else:
        used = whole.feature_names_in_ != "smoking=never"
        fitted = sm.OLS(y[:, 0], sm.add_constant(z[:, used])).fit()
        scores = fitted.predict(sm.add_constant(own[:, used]))[:, None]
    assert found == pytest.approx(np.mean(np.sum((scores - targets[0]) ** 2, axis=1)), rel=1e-8)


@pytest.mark.parametrize("outcome", ["u|v", "u|v|w"])
@pytest.mark.parametrize(
    ("outputs", "wanted", "score", "slope"),
    [
        ("logistic", (0.95, 0.05), lambda d: np.log(d / (1 - d)), lambda s: 1 / (2 + 2 * np.cosh(s))),
        ("tanh", (0.9, -0.9), np.arctanh, lambda s: 1 - np.tanh(s) ** 2),
        ("linear", (1.0, -1.0), lambda d: d, np.ones_like),
        ("softplus", (0.95, 0.05), lambda d: np.log(np.expm1(d)), lambda s: 1 / (1 + np.exp(-s))),
    ],
)
def test_a_one_layer_network_solves_the_weighted_equations(
    outputs: str,
    wanted: tuple[float, float],
    score: Callable[..., Any],
    slope: Callable[..., Any],
    outcome: str,
) -> None:
    """(X F F X' + penalty) w = X F F d of each class, with F and d from the function of the outputs alone."""
    random, names = np.random.default_rng(8), outcome.split("|")
    x = random.normal(5, 3, (600, 3))
    place = np.digitize(x @ (1.0, -0.5, 0.2) + random.normal(size=600), [3.0, 5.0][: len(names) - 1])
    y = np.array(names, object)[place]
    plan = models.plan_of(
        "fedheonn", models.schema_of(3, outcome), 3, penalties=(0.1,), outputs=outputs, files=("model",)
    )
    model = Model(models.fit(plan, [models.cells_of(x[k::3], y[k::3]) for k in range(3)]))
    z = np.hstack([np.ones((600, 1)), (x - x.mean(axis=0)) / x.std(axis=0)])
    scores = []
    for k in range(len(names))[-1 if len(names) == 2 else 0 :]:
        d = score(np.where(place == k, *wanted))
        f = slope(d)
        w = np.linalg.solve((z * f[:, None] ** 2).T @ z + 0.1 * np.eye(4), z.T @ (f**2 * d))
        scores.append(z @ w)
    made = np.stack(scores, axis=1)
    # The file has log odds: of tanh(s), which is 2p - 1, these are twice the score. Its 0 is midway.
    found = model.decision_function(x).reshape(600, -1)
    made -= score(np.mean(wanted))
    np.testing.assert_allclose(found, made * (2 if outputs == "tanh" else 1), atol=1e-8)
    if outputs in ("linear", "softplus"):
        assert not hasattr(model, "predict_proba")
    elif outputs == "tanh" and len(names) == 2:
        np.testing.assert_allclose(model.predict_proba(x)[:, 1], (1 + np.tanh(made[:, 0])) / 2, atol=1e-9)


def test_sums_of_each_class_need_enough_people_of_each() -> None:
    x, y = np.random.default_rng(3).normal(size=(600, 6)), np.array(["u"] * 13 + ["v"])[np.arange(600) % 14]
    parts = [models.cells_of(x[k::3], y[k::3]) for k in range(3)]
    plans = {
        outputs: models.plan_of(
            "fedheonn", models.schema_of(6, "u|v"), 3, validation_folds=2, outputs=outputs
        )
        for outputs in ("logistic", "softplus")
    }
    assert models.fit(plans["logistic"], parts)
    with pytest.raises(Refuse, match="42 people are too few for 6 columns"):
        models.fit(plans["softplus"], parts)


PENALTY: dict[str, dict[str, Any]] = {
    "ridge": {"penalties": (0.1,)},
    "fedheonn": {"penalties": (0.1,)},
    "linear-model": {},
}


def test_sums_are_given_to_the_cohorts_from_four_on() -> None:
    with pytest.raises(PlanError, match="from 4 cohorts on"):
        models.plan_of("ridge", models.schema_of(2), 3, files=("model", "sums"))


def test_a_card_says_whom_a_model_was_fitted_to_and_how_well_it_does() -> None:
    x, y = load_diabetes(return_X_y=True)
    schema = [*(Column(f"x|{k}") for k in range(x.shape[1])), Column("y_1", "number", "mg", role="outcome")]
    plan = models.plan_of("ridge", schema, 3)
    cells = {**{f"x|{k}": column for k, column in enumerate(x.T)}, "y_1": y}
    cohorts = [{name: column[k::3] for name, column in cells.items()} for k in range(3)]
    model, card = models.fit(plan, cohorts), models.text(plan, cohorts, "card")
    explained = 1 - model["error"] / model["variance"]
    assert 0.4 < explained < 0.6  # as R² of this table is known to be
    for said in (
        "# Model of y\\_1",
        "(mg)",
        "442 people",
        "3 cohorts",
        f"there: {explained:.4g}",
        "x\\|9",
        "Not for",
    ):
        assert said in card


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 3}, "want unpooled/model 1"),
        ({"link": "probit"}, "want number, sign, logistic"),
        ({"features": 3}, "not the parameters of a model"),
        ({"intercept": [1.0, 2.0]}, "a coefficient is missing"),
        ({"link": "sign", "outcome": {"name": "y", "classes": ["a", "b", "c"]}}, "3 classes for 1 scores"),
    ],
)
def test_a_file_that_is_no_model_says_what_is_wrong(
    change: dict[str, Any], complaint: str, tmp_path: Any
) -> None:
    x, y = load_diabetes(return_X_y=True)
    plan = models.plan_of("ridge", models.schema_of(x.shape[1]), 3)
    path = tmp_path / "x.model.json"
    path.write_text(json.dumps(federated(x, y, evenly(np.arange(len(y)), 3), plan) | change))
    with pytest.raises(DataProblem, match=complaint) as told:
        Model.from_file(path)
    assert str(path) in str(told.value) and "model.json that a study of models delivered" in str(told.value)


def test_a_table_of_other_columns_is_refused() -> None:
    x, y = load_diabetes(return_X_y=True)
    found = Model(
        federated(
            x, y, evenly(np.arange(len(y)), 3), models.plan_of("ridge", models.schema_of(x.shape[1]), 3)
        )
    )
    with pytest.raises(ValueError, match="X has 3 features, but Model is expecting 10"):
        found.predict(x[:, :3])
    assert clone(found).predict(x) == pytest.approx(found.predict(x))
    assert is_regressor(found)


@pytest.mark.parametrize("method", ["ridge", "linear-model"])
def test_sums_of_two_studies_give_the_model_of_all_rows(method: str) -> None:
    (*schema, ward, y), cells = with_words(2000)
    assert ward.encoding == "frequency"
    cells["x0"] = 5e3 + 300 * cells["x0"]
    cells["x0"][1200:] *= 3  # so the second study has another mean, and another exponent
    cells["stage"] = np.array([stage or "a" for stage in cells["stage"]], object)
    more = {"files": ("model", "sums"), "validation_folds": 2}  # in each of which there is every level
    plan = models.plan_of(method, [*schema, y], 4, **more, **PENALTY[method])
    contents = [
        models.content(
            plan, [{name: of[a + k : b : 4] for name, of in cells.items()} for k in range(4)], "sums"
        )
        for a, b in ((0, 1200), (1200, 2000))
    ]
    model = refitted(contents, plan)
    found = Model(model)
    x = found.table(cells)
    z = StandardScaler().fit_transform(x)
    if method == "ridge":
        wanted = Ridge(0.1 * len(x), solver="svd").fit(z, cells["y"]).predict(z)
    else:
        used = found.feature_names_in_ != "smoking=never"
        wanted = sm.OLS(cells["y"], sm.add_constant(z[:, used])).fit().fittedvalues
    assert model["rows"] == 2000 and contents[0]["exponent"] != contents[1]["exponent"]
    assert np.abs(found.predict(x) - wanted).max() < NEAR * np.abs(wanted).max()


def test_sums_of_other_columns_are_not_added() -> None:
    x, y = load_diabetes(return_X_y=True)
    contents = []
    for columns in (3, 4):
        plan = models.plan_of("ridge", models.schema_of(columns), 4, files=("sums",))
        cells = [models.cells_of(x[part][:, :columns], y[part]) for part in evenly(np.arange(len(y)), 4)]
        contents.append(models.content(plan, cells, "sums"))
    with pytest.raises(ValueError, match="other columns"):
        refitted(contents, plan)
    with_frequency = models.plan_of("ridge", with_words(9)[0], 4)
    with pytest.raises(ValueError, match="each study's own"):
        refitted(contents, with_frequency)
    with pytest.raises(ValueError, match="want unpooled/sums 1"):
        refitted([{"format": "unpooled/model", "version": 1}], plan)


# Of more columns than products are asked for: tests/oracles has how they fit


def with_levels(features: int, outcome: str, levels: int) -> list[Column]:
    """Features, and a category of so many levels, of which the first three occur."""
    words = tuple(f"w{k:04}" for k in range(levels))
    return models.schema_of(features, outcome, Column("ward", "category", "", "one-hot", words))


def test_what_is_asked_of_a_plan_follows_from_its_schema() -> None:
    wide, narrow = (models.plan_of("ridge", with_levels(2, "number", n), 3) for n in (MOST_COLUMNS, 3))
    assert SumWithOutcome.asked_if(wide) and not SumWithOutcome.asked_if(narrow)
    assert not SumProducts.asked_if(wide) and SumProducts.asked_if(narrow)
    assert not ProjectColumns.foreseen(narrow, None).questions


def test_sums_cannot_be_had_of_so_many_columns() -> None:
    with pytest.raises(PlanError, match="products are not asked for"):
        models.plan_of("ridge", with_levels(2, "number", MOST_COLUMNS), 4, files=("model", "sums"))


def test_a_table_foresees_what_a_study_of_three_such_tables_says() -> None:
    ward, answers = Column("ward", "category", "", "one-hot", ("w",)), set()
    plan = models.plan_of("ridge", models.schema_of(4, "number", ward), 3)
    for seed in range(12):
        random = np.random.default_rng(seed)
        x = np.column_stack(
            [random.normal(size=60), random.random((60, 3)) < 0.05 * (1 + seed % 4) * np.arange(1, 4)]
        )
        words = random.choice(["w", ""], 60, p=[0.9, 0.1]) if seed % 2 else ["w"] * 60
        x[:, 0] *= 1e307 if seed % 3 else 1.0
        cells = {**models.cells_of(x, random.normal(size=60)), "ward": words}
        said = [
            refusal_of(lambda cells=cells: foresee(models.table_of(cells, plan), plan)),  # type: ignore[misc]
            refusal_of(lambda cells=cells: models.tables_of(plan, [cells] * 3)),  # type: ignore[misc]
        ]
        assert said[0] == said[1]
        answers.add(said[0])
    assert "" in answers and len(answers) > 3


def refusal_of(study: Callable[[], object]) -> str:
    try:
        study()
    except Refuse as refusal:
        return str(refusal)
    return ""


# Floors of the people without any one cohort, which is told the sums and subtracts its own


def with_class(*people: int, each: int = 60) -> list[dict[str, Any]]:
    """Cohorts of so many people, of whom these are of class `b`; and of whom the rest are of class `a`."""
    random, cohorts = np.random.default_rng(4), []
    for count in people:
        y = np.where(np.arange(each) < count, "b", "a")
        cohorts.append(models.cells_of(random.normal(size=(each, 2)), y))
    return cohorts


@pytest.mark.parametrize(
    ("people", "refused"),
    [
        ((20, 20, 1), ""),  # in two folds without any one cohort ten people at least
        ((26, 18, 1), "outcome b: however folds are joined, one cohort has nearly all of these people"),
        ((29, 0, 0), "fewer than 15 people of a fold, however folds are joined, have the outcome b"),
        ((30, 0, 0), ""),  # of whom nobody is left without the first
    ],
)
def test_of_each_class_enough_people_are_left_without_any_one_cohort(
    people: tuple[int, ...], refused: str
) -> None:
    plan = models.plan_of("ridge", models.schema_of(2, "a|b"), 3, validation_folds=2)
    cohorts = with_class(*people)
    assert refused in refusal_of(lambda: models.tables_of(plan, cohorts))
    assert bool(refused) == bool(refusal_of(lambda: models.tables_of(plan, cohorts)))


@pytest.mark.parametrize(("others", "refused"), [(79, "too few people for 16 columns"), (80, "")])
def test_for_each_column_enough_people_are_left_without_the_largest_cohort(others: int, refused: str) -> None:
    x = np.random.default_rng(5).normal(size=(90 + others, 17))
    parts = np.split(x, [90, 90 + others // 2])
    plan = models.plan_of("ridge", models.schema_of(16), 3, validation_folds=2)
    said = refusal_of(
        lambda: models.tables_of(plan, [models.cells_of(part[:, :16], part[:, 16]) for part in parts])
    )
    assert refused in said and bool(refused) == bool(said)


@pytest.mark.parametrize(("people", "is_kept"), [((60, 50, 0), True), ((90, 19, 0), False)])
def test_a_level_is_kept_that_enough_people_have_without_any_one_cohort(
    people: tuple[int, ...], is_kept: bool
) -> None:
    """There are two folds, in one of which 19 people of the second cohort are nine at most."""
    ward = Column("ward", "category", "", "one-hot", ("w", "x"))
    plan = models.plan_of("ridge", models.schema_of(1, "number", ward), 3, validation_folds=2)
    random, cohorts = np.random.default_rng(6), []
    for count in people:
        words = np.where(np.arange(120) < count, "w", np.where(np.arange(120) < 92, "x", "y"))
        cells = models.cells_of(random.normal(size=(120, 1)), random.normal(size=120))
        cohorts.append({**cells, "ward": words.astype(object)})
    kept = models.tables_of(plan, cohorts)["levels"]["kept"]
    assert kept.tolist()[0] is is_kept and kept.tolist()[1]


@pytest.mark.parametrize(("folds", "is_told"), [(1, False), (2, True)])
def test_products_of_one_fold_only_make_rows(folds: int, is_told: bool) -> None:
    plan = models.plan_of("linear-model", models.schema_of(2), 3, validation_folds=folds)
    x = np.random.default_rng(7).normal(size=(180, 3))
    tables = [models.table_of(models.cells_of(x[k::3, :2], x[k::3, 2]), plan) for k in range(3)]
    found = run_of(Small(plan, normalizing.NOBODY, tables))
    assert SumProducts in map(type, found.questions) and (SumProducts in found.kinds_told) is is_told


def test_a_network_on_images_says_what_loads_it() -> None:
    with pytest.raises(ValueError, match=r"unpooled_networks\.load"):
        Model({"format": image_network.FORMAT})
