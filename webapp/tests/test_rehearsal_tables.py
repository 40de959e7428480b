"""What `unpooled rehearse` makes of its options in a study of tables, and which it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unpooled_webapp.commands.rehearse import _settings, rehearse
from unpooled_webapp.rehearsal import Settings

THREE = ["--table", "a.csv", "--table", "b.csv", "--table", "c.csv"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        Path(f"{name}.csv").write_text("age,glucose\n61,5.5\n")
    Path("schema.csv").write_text("name,type,unit\nage,integer,years\nglucose,text,\n")


def settings(*arguments: str) -> Settings:
    context: Any = rehearse.make_context("rehearse", [*arguments, "--out", "x"])
    with context:
        return _settings(context.params)


def test_the_plan_of_a_study_of_tables() -> None:
    made = settings("--normalize", "robust", *THREE, "--min-samples", "7")
    assert made.plan["test"] == "robust" and made.plan["cohorts"] == 3 and made.plan["min_samples"] == 7
    assert [column["name"] for column in made.plan["schema"]] == ["age", "glucose"]
    assert [column["type"] for column in made.plan["schema"]] == ["number", "number"]
    assert made.arguments[1] == ["--threads", "1", "--table", "b.csv"]
    made = settings("--normalize", "quantiles", *THREE, "--quantiles", "0.05,1", "--elements", "1,-1")
    assert made.plan["quantiles"] == [0.05, 1.0] and made.plan["elements"] == [1, -1]
    made = settings("--normalize", "robust", *THREE, "--schema", "schema.csv")
    assert "quantiles" not in made.plan
    assert made.plan["schema"][0] == {"name": "age", "type": "integer", "unit": "years"}


def test_the_plan_of_a_study_that_fits_a_model() -> None:
    made = settings("--fit", "linear", "--outcome", "glucose", *THREE, "--validation-folds", "3")
    assert made.plan["test"] == "linear-model" and made.plan["validation_folds"] == 3
    assert [column.get("role") for column in made.plan["schema"]] == [None, "outcome"]
    Path("roles.csv").write_text("name,role\nage,outcome\nglucose,\n")
    made = settings("--fit", "lasso", *THREE, "--schema", "roles.csv")
    assert [column.get("role") for column in made.plan["schema"]] == ["outcome", None]
    made = settings(
        "--fit", "ridge", *THREE, "--schema", "roles.csv", "--outcome", "glucose", "--files", "model"
    )
    assert [column.get("role") for column in made.plan["schema"]] == [None, "outcome"]
    assert made.plan["files"] == ["model"]
    assert settings("--template", "ridge", "--outcome", "age", *THREE).plan["test"] == "ridge"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--normalize", "z-score"], "--table is given 0 times"),
        ([], "--bfile and --pfile and --vcf and --bgen are given 0 times"),
        (["--normalize", "z-score", *THREE, "--maf", "0.1"], "--maf: not in a study of tables"),
        (["--table", "a.csv"], "--table: not in a study of variants"),
        (["--normalize", "z-score", *THREE[:4]], "at least 3 cohorts"),
        (["--normalize", "z-score", *THREE, "--schema", "a.csv"], "begins with the line"),
        (["--normalize", "mean", *THREE], "is not one of"),
        (["--normalize", "quantiles", *THREE, "--elements", "1,2.5"], "up to 100 different whole numbers"),
        (["--elements", "1"], "--elements: not in a study of variants"),
        (["--fit", "ridge", *THREE, "--outcome", "died"], "no column is called died; there are age, glucose"),
        (["--normalize", "z-score", *THREE, "--outcome", "age"], "--outcome goes with --fit"),
        (["--fit", "ridge", "--encode", *THREE], "--encode and --fit cannot be combined"),
        (["--fit", "ridge", "--normalize", "z-score", *THREE], "--normalize and --fit cannot be combined"),
        (["--fit", "boosting", *THREE], "is not one of"),
    ],
)
def test_commands_that_cannot_be(flags: list[str], said: str) -> None:
    done = CliRunner().invoke(rehearse, [*flags, "--out", "x"])
    assert done.exit_code and said in f"{' '.join(done.output.split())} {done.exception}"
