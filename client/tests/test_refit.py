"""`unpooled-client refit`: which studies add up, and what is said of those that do not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from tests.contract.studies import plan_of
from unpooled.asking.cohort import ArrayTable
from unpooled.described.file_list import report_name
from unpooled.errors import DataProblem
from unpooled.fitted.model import Model
from unpooled.methods import algorithm
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column
from unpooled.run import reports, run
from unpooled_client.commands.refit import refit as command
from unpooled_client.compare.tables import compare_tables

COHORTS, ROWS = 4, 60
COLUMNS = {"age": {"unit": "years"}, "glucose": {"unit": "mmol/L"}, "risk": {"role": "outcome"}}


def study(folder: Path, name: str, seed: int, columns: dict[str, Any] = COLUMNS, **more: Any) -> Path:
    """The manifest of a study of four cohorts, with its other files beside it; its rows in `name.npy`."""
    schema = tuple(Column(title, **given) for title, given in columns.items())
    plan = plan_of("ridge", schema, COHORTS, **{"files": ("model", "sums"), "penalties": (0.1,)} | more)
    values = np.random.default_rng(seed).normal(5, 2, (COHORTS, ROWS, 3))
    values[..., 2] += values[..., 0]
    np.save(folder / f"{name}.npy", values.reshape(-1, 3))
    method = algorithm(plan.test)
    tables = run(plan, Panel.of([]), [method.prepared(ArrayTable(part), plan) for part in values])
    for file, content in (files := reports(plan, Panel.of([]), tables)).items():
        folder.joinpath(report_name(file, plan).replace("study", name)).write_bytes(content)
    digest = hashlib.sha256(files["sums"]).hexdigest()
    manifest = {
        "study": {"id": name},
        "plan": plan.to_json(),
        "roster": [{"name": f"{name} {k}"} for k in range(1, COHORTS)] + [{"name": "in all"}],
        "files": [{"name": report_name("sums", plan), "sha256": digest}],
    }
    path = folder / f"{name}.manifest.json"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return path


def refit(*manifests: Path) -> Result:
    out = manifests[0].with_name("both")
    return CliRunner().invoke(command, [*map(str, manifests), "--out", str(out)])


def refused(*manifests: Path) -> str:
    done = refit(*manifests)
    assert done.exit_code == 1 and not manifests[0].with_name("both.model.json").exists()
    assert isinstance(done.exception, DataProblem)
    return " ".join(str(done.exception).split())


def test_three_studies_add_up(tmp_path: Path) -> None:
    done = refit(*(study(tmp_path, name, seed) for seed, name in enumerate("abc")))
    assert done.exit_code == 0 and "In several of these studies: in all. Their" in done.output, done.output
    *x, y = np.vstack([np.load(tmp_path / f"{name}.npy") for name in "abc"]).T
    z = StandardScaler().fit_transform(np.array(x).T)
    wanted = Ridge(0.1 * len(y)).fit(z, y).predict(z)
    found = Model.from_file(tmp_path / "both.model.json")
    np.testing.assert_allclose(found.predict(np.array(x).T), wanted, rtol=1e-9)
    assert (found.parameters["rows"], found.parameters["cohorts"]) == (3 * COHORTS * ROWS, 3 * COHORTS - 2)
    assert len((tmp_path / "both.coefficients.tsv").read_text("utf-8").splitlines()) == 2 + len(z.T)


def test_a_study_is_added_once(tmp_path: Path) -> None:
    one, other = study(tmp_path, "a", 1), study(tmp_path, "b", 2)
    assert f"{one}: this is the study of {one}, and its rows would count twice" in refused(one, other, one)
    copied = study(tmp_path, "copied", 1)  # under another name, of the same rows
    assert f"{copied}: this is the study of {one}" in refused(one, copied)


def test_sums_that_have_changed_since_are_refused(tmp_path: Path) -> None:
    one, other = study(tmp_path, "a", 1), study(tmp_path, "b", 2)
    sums = tmp_path / "b.sums.json"
    sums.write_bytes(sums.read_bytes() + b" ")
    said = refused(one, other)
    assert said.startswith(f"{sums}: ") and "its SHA-256 is another" in said


def test_a_cohort_hears_how_the_model_of_the_others_does_on_its_rows(tmp_path: Path) -> None:
    plan = Plan.from_json(json.loads(study(tmp_path, "study", 1).read_text())["plan"])
    for rows in np.load(tmp_path / "study.npy").reshape(COHORTS, ROWS, 3):
        table = algorithm(plan.test).prepared(ArrayTable(rows), plan)
        beside = {
            (one.feature, one.what): one.pool for one in compare_tables(tmp_path.glob("*.json"), table, plan)
        }
        error = beside["(model)", "mean squared error here of the model without this cohort"]
        assert 2 < error < 8  # the noise of the outcome has variance 4


@pytest.mark.parametrize(
    ("columns", "more", "wanted"),
    [
        (COLUMNS | {"glucose": {"unit": "mg/dL"}}, {}, "the same unit of glucose"),
        (COLUMNS | {"age": {"unit": "years", "type": "integer"}}, {}, "the same type of age"),
        (
            {"height": {}, "glucose": {}, "risk": {"role": "outcome"}},
            {},
            "the same columns in the same order",
        ),
        (COLUMNS, {"validation_folds": 3}, "as many folds"),
        (COLUMNS, {"missing_cells": "complete"}, "the same rule for missing cells"),
    ],
)
def test_studies_that_are_not_alike_do_not_add_up(
    columns: dict[str, Any], more: dict[str, Any], wanted: str, tmp_path: Path
) -> None:
    one, other = study(tmp_path, "a", 1), study(tmp_path, "b", 2, columns, **more)
    assert f"{other}: this study does not have {wanted} as {one}" in refused(one, other)
