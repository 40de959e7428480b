"""Studies of other methods in the browser: their questions in the form, and their files in the results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from unpooled.fitted.encoder import Encoder
from unpooled.fitted.model import Model
from unpooled.simulate import simulate

from ..conftest import Rehearse
from .conftest import Clients
from .pages import SIZES, Pages
from .studies import NAMES, all_end, begin_study, create, look_at_what_is_done, run_all, take_columns


def test_components_to_their_files(pages: Pages, clients: Clients, tmp_path: Path) -> None:
    made = simulate(
        tmp_path, cohorts=(120,) * len(NAMES), variants=300, trait="quantitative", seed=3, pooled=False
    )
    begin_study(pages, "Ancestry")
    pages.choose("Structure")
    pages.choose("Principal components")
    expect(pages.page.get_by_label("Trait", exact=True)).to_have_count(0)
    pages.fill("Number of components (--pca)", "4")
    create(pages, "Ancestry")
    run_all(pages, clients, made.cohorts)
    look_at_what_is_done(pages, "components")
    table = pages.page.get_by_role("table", name="Eigenvalues")
    expect(table.get_by_role("row")).to_have_count(5)
    for size in SIZES.values():
        pages.page.set_viewport_size(size)
        assert table.evaluate("(table) => table.scrollWidth <= table.parentElement.clientWidth"), size
    expect(pages.page.get_by_role("img", name="Eigenvalues of the components")).to_be_visible()
    values = pages.download("ancestry.eigenval", tmp_path / "downloads").read_text().split()
    assert len(values) == 4 and sorted(map(float, values), reverse=True) == list(map(float, values))
    all_end(clients)
    assert len(list(tmp_path.rglob("*.eigenvec"))) == len(NAMES)


def test_a_score_to_its_file(pages: Pages, clients: Clients, tmp_path: Path) -> None:
    made = simulate(
        tmp_path,
        cohorts=(400,) * len(NAMES),
        variants=300,
        effects=(0.8, 0.8, -0.8, 0.7, -0.7),
        trait="quantitative",
        seed=3,
        pooled=False,
    )
    begin_study(pages, "Height")
    pages.choose("Score")
    pages.choose("Quantitative")
    pages.fill("Trait", "height")
    pages.fill("People left out: one in", "4")
    pages.fill("Shares of variance to try", "0.1, 0.3, 0.6")
    pages.look("new-study-polygenic")
    create(pages, "Height")
    run_all(pages, clients, made.cohorts)
    look_at_what_is_done(pages, "polygenic")
    shares = pages.page.get_by_role("table", name="Shares of variance that were tried")
    expect(shares.get_by_role("row")).to_have_count(4)
    expect(shares.get_by_role("row").filter(has_text="yes")).to_have_count(1)
    expect(pages.page.get_by_role("img", name="R² by share of variance")).to_be_visible()
    expect(pages.page.get_by_text("Genomic inflation")).to_have_count(0)
    found = json.loads(pages.download("height.performance.json", tmp_path / "downloads").read_bytes())
    assert [row["share"] for row in found["shares"]] == [0.1, 0.3, 0.6] and found["people"] == 1200
    assert pages.download("height.score.txt", tmp_path / "downloads").read_bytes().startswith(b"###PGS")
    all_end(clients)


def test_sets_of_variants_from_files_to_their_tests(pages: Pages, clients: Clients, tmp_path: Path) -> None:
    made = simulate(
        tmp_path, cohorts=(150,) * len(NAMES), variants=300, trait="quantitative", seed=5, pooled=False
    )
    lines = made.cohorts[0].with_suffix(".bim").read_text().splitlines()
    genes = [[line.split()[1] for line in lines[k : k + 8]] for k in range(0, 80, 8)]
    texts = {
        "Sets of variants": "".join(f"gene{k} 1 {k} {','.join(gene)}\n" for k, gene in enumerate(genes)),
        "Annotations of variants": "".join(
            f"{name} gene{k} {('LoF', 'missense')[j % 2]}\n"
            for k, gene in enumerate(genes)
            for j, name in enumerate(gene)
        ),
        "Masks of annotations": "LoF LoF\ndamaging LoF,missense\n",
    }
    begin_study(pages, "Genes")
    pages.choose("Tests of sets of variants")
    pages.choose("Quantitative")
    pages.fill("Trait", "height")
    pages.fill("Largest frequency of the rarer allele (--max-maf)", "0.5")
    for title, text in texts.items():
        (file := tmp_path / "lines.setlist").write_text(text)
        pages.page.get_by_label(f"Or take them from a file: {title}").set_input_files(file)
        expect(pages.page.get_by_label(f"{title} (")).to_have_value(text)
    pages.look("new-study-genes")
    create(pages, "Genes")
    run_all(pages, clients, made.cohorts)
    look_at_what_is_done(pages, "genes")
    table = pages.page.get_by_role("table", name="P values of the sets")
    assert 10 < table.get_by_role("row").count() <= 21
    expect(table.get_by_role("row").filter(has_text="gene3.damaging")).to_have_count(1)
    found = pages.download("genes.regenie", tmp_path / "downloads").read_text().splitlines()
    assert len(found) == 1 + 2 * 4 * len(genes)
    all_end(clients)


ROLES = """name,type,unit,role,encoding,values
patient,text,,patient
age,integer,years
smoking,category,,,one-hot,never|former|current
readmitted,category,,outcome,,no|yes
remark,text,,ignored
"""


@pytest.fixture
def admissions(tmp_path: Path) -> list[Path]:
    """Tables of 400 admissions of 300 patients per cohort: smokers and the old come back more often."""
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


def test_a_network_says_what_its_privacy_cost(
    pages: Pages, clients: Clients, admissions: list[Path], tmp_path: Path
) -> None:
    begin_study(pages, "Kept private")
    pages.choose("Model")
    pages.choose("Network with differential privacy")
    take_columns(pages, tmp_path, ROLES)
    pages.fill("Rounds", "20")
    pages.press("Create study")
    pages.sees("age: want its lowest and highest value, which scale it")
    pages.sees("want a number above 0, such as 3")
    limited = ROLES.replace("values", "values,low,high").replace("years", "years,,,,18,95")
    take_columns(pages, tmp_path, limited)
    pages.fill("Epsilon", "3")
    pages.look("new-study-private")
    create(pages, "Kept private")
    run_all(pages, clients, admissions)
    look_at_what_is_done(pages, "private")
    pages.sees("How well it predicts was not counted")
    found = json.loads(pages.download("kept-private.model.json", tmp_path / "downloads").read_text())
    assert 2.9 < found["privacy"]["epsilon"] <= 3


def test_a_model_to_its_file(
    pages: Pages, clients: Clients, admissions: list[Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    begin_study(pages, "Readmission")
    pages.choose("Model")
    pages.choose("FedHEONN: a one-layer network")
    take_columns(pages, tmp_path, ROLES.replace("outcome,,no|yes", ",one-hot,no|yes"))
    pages.press("Create study")
    pages.sees("want the column that is predicted: give it the role outcome")
    take_columns(pages, tmp_path, ROLES)
    pages.fill("Penalties to try", "1")  # of several, the folds choose, which differ with the plan
    pages.look("new-study-model")
    create(pages, "Readmission")
    run_all(pages, clients, admissions)
    look_at_what_is_done(pages, "model")
    features = pages.page.get_by_role("table", name="Coefficients")
    expect(features.get_by_role("row")).to_have_count(6)  # heads, age, three kinds of smokers, the rest
    expect(pages.page.get_by_role("img", name="ROC curve")).to_be_visible()
    groups = pages.page.get_by_role("table", name="Expected and observed")
    expect(groups.get_by_role("row")).to_have_count(11)
    found = pages.download("readmission.model.json", tmp_path / "downloads")
    flags = [word for table in admissions for word in ("--table", table)]
    schema, out = tmp_path / "schema.csv", tmp_path / "model"
    rehearse(
        *("--fit", "fedheonn", "--schema", schema, *flags),
        *("--penalties", 1, "--min-samples", 20, "--out", out),
    )
    model, rehearsed = Model.from_file(found), Model.from_file(tmp_path / "model.model.json")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == rehearsed.feature_names_in_.tolist()
    table = pd.concat(map(pd.read_csv, admissions))
    np.testing.assert_allclose(
        model.decision_function(model.table(table)),
        rehearsed.decision_function(model.table(table)),
        atol=1e-9,
    )
    assert np.mean(model.predict(model.table(table)) == table["readmitted"]) > 0.6
    all_end(clients)


def test_a_network_to_its_curves(
    pages: Pages, clients: Clients, admissions: list[Path], tmp_path: Path
) -> None:
    begin_study(pages, "Networked")
    pages.choose("Model")
    pages.choose("Network")
    take_columns(pages, tmp_path, ROLES)
    pages.fill("Rounds", "8")
    pages.page.get_by_text("More rules").click()
    pages.fill("Fewest people in a round", "50")
    pages.fill("Learning rate", "0.05")
    pages.look("new-study-network")
    create(pages, "Networked")
    run_all(pages, clients, admissions)
    look_at_what_is_done(pages, "network")
    expect(pages.page.get_by_role("img", name="Loss by round")).to_be_visible()
    expect(pages.page.get_by_role("img", name="Share of classes predicted")).to_be_visible()
    expect(pages.page.get_by_role("img", name="ROC curve")).to_be_visible()
    found = Model.from_file(pages.download("networked.model.json", tmp_path / "downloads"))
    table = pd.concat(map(pd.read_csv, admissions))
    assert np.mean(found.predict(found.table(table)) == table["readmitted"]) > 0.6
    all_end(clients)


SCHEMA = """name,type,encoding,values
smoking,category,ordinal,never|former|current
ward,category,target:days,A|B|roof
days,number
"""


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    random = np.random.default_rng(6)
    paths = [tmp_path / f"{name}.csv" for name in NAMES]
    for path in paths:
        table = {
            "smoking": random.choice(["never", "former", "current", "cigars"], 90),
            "ward": random.choice(["A", "B", "C"], 90),
            "days": random.integers(1, 30, 90),
        }
        pd.DataFrame(table).to_csv(path, index=False)
    return paths


def test_a_study_of_encodings_to_its_files(
    pages: Pages, clients: Clients, tables: list[Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    begin_study(pages, "Wards")
    pages.choose("Table")
    pages.choose("Encoding of columns of words")
    take_columns(pages, tmp_path, SCHEMA)
    values = pages.page.get_by_label("Values", exact=True)
    expect(values.first).to_have_value("never\nformer\ncurrent")
    expect(pages.page.get_by_label("Encoding", exact=True).nth(1)).to_have_value("target")
    expect(pages.page.get_by_label("Column of the target, of numbers or 0 and 1")).to_have_value("days")
    pages.fill("Column of the target, of numbers or 0 and 1", "nights")
    pages.press("Create study")
    pages.sees("its target nights is no column of numbers of this schema")
    pages.fill("Column of the target, of numbers or 0 and 1", "days")
    (tmp_path / "wards.txt").write_text("A\tsurgery\nB\nroof\n")
    pages.page.get_by_label("Or take them from a file, one value on each line:").nth(1).set_input_files(
        tmp_path / "wards.txt"
    )
    pages.sees("3 values")
    pages.look("new-study-encoding")
    create(pages, "Wards")
    run_all(pages, clients, tables)
    pages.follow("Plan")
    pages.sees("smoking (ordinal, of never, former, current)")
    pages.follow("Privacy and traffic")
    pages.sees("how many people of the pool have each kept value")
    pages.follow("Results")
    wards = pages.page.get_by_role("table", name="Values of ward")
    expect(wards.get_by_role("row")).to_have_count(4)  # heads, A, B, and the rest
    pages.sees("1 value of the plan has too few people")
    pages.look("done-encoding")
    found = pages.download("wards.encoding.json", tmp_path / "downloads")
    flags = [word for table in tables for word in ("--table", table)]
    rehearse(
        "--encode", "--schema", tmp_path / "schema.csv", *flags, "--min-samples", 20, "--out", tmp_path / "w"
    )
    assert found.read_bytes() == (tmp_path / "w.encoding.json").read_bytes()
    assert Encoder.from_file(found).get_feature_names_out().tolist() == ["smoking", "ward"]
    all_end(clients)
