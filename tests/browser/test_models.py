"""A study that fits a model in the browser: roles of columns in the form, and the model in the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from unpooled.model import Model

from ..conftest import Rehearse
from ..federation import Cohort
from .conftest import Site
from .pages import Pages
from .studies import NAMES, all_end, begin_study, create, look_at_what_is_done, run_all

SCHEMA = """name,type,unit,role,encoding,values
patient,text,,patient
age,integer,years
smoking,category,,,one-hot,never|former|current
readmitted,category,,outcome,,no|yes
remark,text,,ignored
"""


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    """Of each cohort 400 admissions of 300 patients: smokers and the old come back more often."""
    random = np.random.default_rng(8)
    paths = [tmp_path / f"{name}.csv" for name in NAMES]
    for path in paths:
        age, smoking = random.integers(18, 95, 400), random.integers(0, 3, 400)
        again = random.random(400) < 0.1 + 0.005 * (age - 18) + 0.1 * smoking
        table = {
            "patient": [f"{path.stem} {k % 300}" for k in range(400)],
            "age": age,
            "smoking": np.array(["never", "former", "current"])[smoking],
            "readmitted": np.where(again, "yes", "no"),
            "remark": "by ambulance",
        }
        pd.DataFrame(table).to_csv(path, index=False)
    return paths


def test_a_model_to_its_file(
    administrator: Pages,
    site: Site,
    clients: list[Cohort],
    tables: list[Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    pages = administrator
    begin_study(pages, "Readmission")
    pages.choose("Tables")
    pages.choose("FedHEONN: a one-layer network")
    (tmp_path / "schema.csv").write_text(SCHEMA.replace("outcome,,no|yes", ",one-hot,no|yes"))
    take = pages.page.get_by_label("Or take them from a CSV file")
    take.set_input_files(tmp_path / "schema.csv")
    pages.press("Create study")
    pages.sees("want the column that is predicted: give it the role outcome")
    (tmp_path / "schema.csv").write_text(SCHEMA)
    take.set_input_files(tmp_path / "schema.csv")
    pages.fill("Penalties to try", "1")  # of several, the folds choose, which differ with the plan
    pages.look("new-study-model")
    create(pages, "Readmission")
    run_all(pages, site, clients, tmp_path, tables)
    look_at_what_is_done(pages, "model")
    features = pages.page.get_by_role("table", name="Coefficients")
    expect(features.get_by_role("row")).to_have_count(6)  # heads, age, three kinds of smokers, the rest
    expect(pages.page.get_by_role("img", name="ROC curve")).to_be_visible()
    groups = pages.page.get_by_role("table", name="Expected and observed")
    expect(groups.get_by_role("row")).to_have_count(11)
    found = pages.download("readmission.model.json", tmp_path / "downloads")
    flags = [word for table in tables for word in ("--table", table)]
    schema, out = tmp_path / "schema.csv", tmp_path / "model"
    rehearse(
        *("--fit", "fedheonn", "--schema", schema, *flags),
        *("--penalties", 1, "--min-samples", 20, "--out", out),
    )
    model, rehearsed = Model.from_file(found), Model.from_file(tmp_path / "model.model.json")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == rehearsed.feature_names_in_.tolist()
    table = pd.concat(map(pd.read_csv, tables))
    np.testing.assert_allclose(
        model.decision_function(model.table(table)),
        rehearsed.decision_function(model.table(table)),
        atol=1e-9,
    )
    assert np.mean(model.predict(model.table(table)) == table["readmitted"]) > 0.6
    all_end(clients)
