"""Studies of tables through the real platform: parameters for all, and each cohort's own normalized table."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from client_trials import Member, Platform, Table, Trial, ended, make_trial
from sklearn.datasets import load_wine
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import Checked, Exit, Failed, Finished, Transformed
from unpooled_client.state.written import Written

REFERENCES: dict[str, Any] = {
    "z-score": StandardScaler,
    "min-max": MinMaxScaler,
    "robust": RobustScaler,
    "yeo-johnson": PowerTransformer,
}
COHORTS = 3


@pytest.fixture(scope="session")
def pooled() -> np.ndarray:
    """Wine's features, some missing; sorted by the first, so that the cohorts' ranges do not overlap."""
    values: np.ndarray = load_wine().data.copy()
    values = values[np.argsort(values[:, 0])]
    values[np.random.default_rng(2).random(values.shape) < 0.1] = np.nan
    return values


@pytest.fixture
def study(platform: Platform, pooled: np.ndarray, tmp_path: Path) -> Callable[..., Trial]:
    names = load_wine().feature_names

    def make(method: str, **changes: Any) -> Trial:
        schema = [{"name": "bottle", "type": "text"}, *({"name": name, "unit": "g/l"} for name in names)]
        tables = [tmp_path / f"cohort{number}" / "wine.csv" for number in range(1, COHORTS + 1)]
        for path, rows in zip(tables, np.array_split(pooled, COHORTS), strict=True):
            path.parent.mkdir()
            write(path, names, rows)
        return make_trial(
            platform, tables, tmp_path, kind=Table, test=method, phenotype="", schema=schema, **changes
        )

    return make


def write(path: Path, names: list[str], rows: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*names[:2], "bottle", *names[2:]])
        for k, row in enumerate(rows.tolist()):
            cells = ["NA" if np.isnan(value) else repr(value) for value in row]
            out.writerow([*cells[:2], f"no. {k}, dry", *cells[2:]])


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """The texts and the numbers of a table."""
    with path.open(newline="") as file:
        _, *rows = csv.reader(file)
    numbers = [[np.nan if cell == "NA" else float(cell) for cell in row[:2] + row[3:]] for row in rows]
    return [row[2] for row in rows], np.array(numbers)


MakeStudy = Callable[..., Trial]


def compare_calls(member: Member) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the pool's number and this cohort's, by feature and number."""
    with (member.out / "study.own-against-pool.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {(row["COLUMN"], row["WHAT"]): (float(row["POOL"]), float(row["OWN"])) for row in rows}


OWN: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "z-score": ("mean", lambda part: np.nanmean(part, axis=0)),
    "min-max": ("max", lambda part: np.nanmax(part, axis=0)),
    "robust": ("median", lambda part: np.nanmedian(part, axis=0)),
    "yeo-johnson": ("lambda", lambda part: PowerTransformer().fit(part).lambdas_),
}
"""A number that each method finds, and how to find it in a table."""


@pytest.mark.parametrize("method", REFERENCES)
def test_every_cohort_gets_parameters_and_its_own_table(
    study: MakeStudy, pooled: np.ndarray, method: str
) -> None:
    trial = study(method)
    trial.run_all()
    assert [type(member.events[-1]) for member in trial.members] == [Finished] * COHORTS
    assert len({(member.out / "study.parameters.json").read_bytes() for member in trial.members}) == 1
    wanted = np.array_split(REFERENCES[method]().fit_transform(pooled), COHORTS)
    for member, rows in zip(trial.members, wanted, strict=True):
        (told,) = member.told(Transformed)
        assert Path(told.file) == member.bfile.with_name(f"wine.{method}.csv")
        texts, numbers = read(Path(told.file))
        assert texts == read(member.bfile)[0]
        close = 1e-5 if method == "yeo-johnson" else 1e-11  # scikit-learn's search ends at 1e-6 or so
        np.testing.assert_allclose(numbers, rows, rtol=close, atol=close)
    found = json.loads((trial.members[0].out / "study.parameters.json").read_text())
    assert found["features"][0]["unit"] == "g/l"
    part = np.array_split(pooled, COHORTS)[0]
    what, own = OWN[method]
    told = compare_calls(trial.members[0])
    numbers = [told[feature["name"], what] for feature in found["features"]]
    assert [pool for pool, _ in numbers] == [feature[what] for feature in found["features"]]
    np.testing.assert_allclose([number for _, number in numbers], own(part), rtol=1e-4)


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_table_of_other_origin_is_left_alone(
    study: MakeStudy, is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has the name that the normalized one would have, and would be replaced without the check."""
    if not is_checked:
        monkeypatch.setattr(Written, "refuse_foreign", lambda self, path: None)
    trial = study("z-score")
    member = trial.members[0]
    place = member.bfile.with_name("wine.z-score.csv")
    place.write_bytes(b"mine\n")
    trial.run_all()
    last = member.events[-1]
    assert isinstance(last, Finished) is not is_checked
    assert (place.read_bytes() == b"mine\n") is is_checked
    assert not list(place.parent.glob(".*.part"))
    if isinstance(last, Failed):
        assert last.exit == Exit.REFUSED and "wine.z-score.csv" in last.message
        assert last.remedy == "Move it away and start again."
        place.unlink()
        for _ in range(2):  # it goes on; and what this client wrote itself it replaces
            member.run()
            assert isinstance(member.events[-1], Finished)
        assert place.read_bytes().startswith(b"alcohol,")


def test_a_summary_changes_no_table(study: MakeStudy, pooled: np.ndarray) -> None:
    trial = study("summary", files=["summary", "page"])
    trial.run_all()
    for member in trial.members:
        assert isinstance(member.events[-1], Finished) and not member.told(Transformed)
        assert [path.name for path in member.bfile.parent.glob("*.csv")] == ["wine.csv"]
        assert b"<svg" in (member.out / "study.summary.html").read_bytes()
        assert (member.out / "study.report.html").read_text("utf-8").count('class="strip"') > 5
    found = (trial.members[0].out / "study.summary.tsv").read_text().splitlines()
    assert len(found) == 1 + pooled.shape[1] and found[1].startswith("alcohol\tnumber\tg/l\t")
    assert float(found[1].split("\t")[5]) == pytest.approx(np.nanmean(pooled[:, 0]), rel=1e-12)
    own = [compare_calls(member)["alcohol", "mean"][1] for member in trial.members]
    wanted = [np.nanmean(part[:, 0]) for part in np.array_split(pooled, COHORTS)]
    assert own == pytest.approx(wanted, rel=1e-12)


def test_a_client_that_comes_again_writes_its_table_again(study: MakeStudy) -> None:
    trial = study("min-max")
    trial.run_all()
    member = trial.members[0]
    target = member.bfile.with_name("wine.min-max.csv")
    before = target.read_bytes()
    target.unlink()
    assert isinstance(member.run(member.engine(options=None)), Finished)
    assert target.read_bytes() == before
    member.bfile.write_bytes(member.bfile.read_bytes().replace(b"dry", b"wet"))
    assert isinstance(failed := member.run(), Failed)
    assert failed.exit == Exit.DATA and "has changed" in failed.message


def test_bad_tables_are_refused_before_anything_is_sent(study: MakeStudy) -> None:
    trial = study("z-score")
    others = [member.beside() for member in trial.members[1:]]
    member = trial.members[0]
    good = member.bfile.read_bytes()
    member.bfile.write_bytes(good.replace(b"NA", b"unknown", 1))
    assert isinstance(failed := member.run(), Failed)
    assert (failed.exit, failed.told_server, failed.told_name) == (Exit.DATA, "values", "alcalinity_of_ash")
    assert f"{member.bfile}:" in failed.message and not member.told(Checked)[0].ok
    wrong = member.engine(options=DataOptions(bfile=member.bfile))
    assert isinstance(failed := member.run(wrong), Failed) and "--table FILE" in failed.message
    member.bfile.write_bytes(good)
    assert isinstance(member.run(), Finished)
    ended(*others)
    assert trial.state == "done"


def test_genotypes_are_wanted_and_a_table_is_given(platform: Platform, tmp_path: Path) -> None:
    trial = make_trial(platform, [tmp_path / "table.csv"] * COHORTS, tmp_path, kind=Table)
    trial.run_all()
    assert all("--bfile PREFIX" in member.told(Failed)[0].message for member in trial.members)
