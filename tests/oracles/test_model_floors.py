"""Floors of a study of models: one study names all that fails, and what it names passes in the next."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from unpooled.fitted.model import Model

from ..conftest import Rehearse

SCHEMA = """name,type,role,encoding,values
age,number,,,
diabetes,number,,,
troponin,number,{troponin},{scaling},
ckmb,number,{troponin},{scaling},
died,category,outcome,,no|yes
days,number,ignored,,
"""


def wards(
    folder: Path, people: int = 600, troponin: str = "", scaling: str = ""
) -> tuple[pd.DataFrame, list[object]]:
    """People in three tables, of whom 45 have diabetes, and 40 died; and the words for a study of them."""
    random = np.random.default_rng(32)
    died = random.permutation(people) < 40
    pool = pd.DataFrame(
        {
            "age": random.normal(60, 10, people) + 9 * died,
            "diabetes": (random.permutation(people) < 45).astype(int),
            "troponin": random.lognormal(died, 3),
            "ckmb": random.lognormal(died, 3),
            "died": np.where(died, "yes", "no"),
            "days": random.normal(9, 2, people),
        }
    )
    (folder / "schema.csv").write_text(SCHEMA.format(troponin=troponin, scaling=scaling))
    for k in range(3):
        pool[k::3].to_csv(folder / f"{k}.csv", index=False)
    tables = [word for k in range(3) for word in ("--table", folder / f"{k}.csv")]
    return pool, ["--schema", folder / "schema.csv", *tables, "--out", folder / "own"]


def model(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "own.model.json").read_text())
    return found


def test_a_rare_comorbidity_and_few_deaths_are_one_study(rehearse: Rehearse, tmp_path: Path) -> None:
    """The study has fewer folds than the plan, which the card says; the model is scikit-learn's."""
    pool, given = wards(tmp_path, troponin="ignored")
    rehearse("--fit", "logistic", "--penalties", 0.01, *given)
    found = model(tmp_path)
    assert found["folds"] == 2
    assert (
        "- Folds, by person: 2, joined from 5: these had few people of a kind."
        in (tmp_path / "own.card.md").read_text()
    )
    x = StandardScaler().fit_transform(pool[["age", "diabetes"]])
    right = LogisticRegression(C=1 / (0.01 * len(x)), solver="newton-cholesky", tol=1e-12).fit(
        x, pool["died"]
    )
    own = [f["coefficients"][0] * f["deviation"] for f in found["features"]]  # type: ignore[attr-defined]
    np.testing.assert_allclose(own, right.coef_[0], rtol=1e-6)


def test_a_skewed_marker_passes_with_the_scaling_of_the_refusal(rehearse: Rehearse, tmp_path: Path) -> None:
    _, given = wards(tmp_path, 200)
    refused = rehearse("--fit", "logistic", *given, check=False)
    said = " ".join((refused.stdout + refused.stderr).split())
    assert set(re.findall(r"\b(age|diabetes|troponin|ckmb)\b", said)) == {"troponin", "ckmb"}
    (scaling,) = set(re.findall(r"with the scaling ([a-z-]+):", said))
    pool, given = wards(tmp_path, 200, scaling=scaling)
    rehearse("--fit", "logistic", "--penalties", 0.01, *given)
    found = Model.from_file(tmp_path / "own.model.json")
    assert model(tmp_path)["folds"] >= 2  # type: ignore[operator]
    x, columns = (
        pool.iloc[:, :4],
        make_column_transformer(
            (StandardScaler(), ["age", "diabetes"]), (PowerTransformer(), ["troponin", "ckmb"])
        ),
    )
    solver = LogisticRegression(C=1 / (0.01 * len(x)), solver="newton-cholesky", tol=1e-12)
    right = make_pipeline(columns, solver).fit(x, pool["died"])
    np.testing.assert_allclose(found.predict_proba(x), right.predict_proba(x), atol=1e-6)


@pytest.mark.parametrize("folds", [1, 5])
def test_linear_regression_needs_no_folds(rehearse: Rehearse, tmp_path: Path, folds: int) -> None:
    """15 people have the condition: enough in one fold, in which nothing is left out to test on."""
    pool, given = wards(tmp_path, troponin="ignored")
    for k in range(3):
        part = pool[k::3].assign(diabetes=(np.arange(200) % 40 == k).astype(int))
        part.to_csv(tmp_path / f"{k}.csv", index=False)
    schema = (tmp_path / "schema.csv").read_text().replace("days,number,ignored", "days,number,outcome")
    (tmp_path / "schema.csv").write_text(schema.replace("outcome,,no|yes", "ignored,,"))
    rehearse("--fit", "linear", "--validation-folds", folds, *given)
    found, rows = model(tmp_path), pd.concat([pd.read_csv(tmp_path / f"{k}.csv") for k in range(3)])
    right = sm.OLS(rows["days"], sm.add_constant(rows[["age", "diabetes"]])).fit()
    assert (found["folds"], found.get("performance")) == (1, None)
    np.testing.assert_allclose([found["error"]], [right.ssr / len(rows)], rtol=1e-9)
    card = (tmp_path / "own.card.md").read_text()
    assert "Mean squared error of the rows that it was fitted to" in card
    assert "not tested on rows that it has not seen" in card
