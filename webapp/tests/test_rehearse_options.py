"""Options of `unpooled rehearse` that become fields of the plan, of variants and of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from unpooled_webapp.commands.rehearse import _settings, rehearse
from unpooled_webapp.rehearsal import Settings
from unpooled_webapp.rehearsal.covariates import NoSuchCovariate, chosen, names_in, planned


def settings(folder: Path, *arguments: str) -> Settings:
    """Return the settings of a rehearsal with these arguments."""
    words = ["--out", str(folder / "out"), *arguments]
    for name in ("a", "b", "c"):
        words += ["--bfile", str(folder / name)]
        for suffix in (".bed", ".bim", ".fam"):
            (folder / f"{name}{suffix}").touch()
    return settings_of(*words)


def settings_of(*words: str) -> Settings:
    with rehearse.make_context("rehearse", list(words)) as context:
        return _settings(context.params)


def plan(folder: Path, *arguments: str) -> dict[str, Any]:
    return settings(folder, *arguments).plan


def test_a_build_is_what_is_said_or_not_reported(tmp_path: Path) -> None:
    assert plan(tmp_path, "--build", "GRCh37")["build"] == "GRCh37"
    assert plan(tmp_path)["build"] == "NR"


def test_one_class_is_for_every_client(tmp_path: Path) -> None:
    assert all("--one-class" in words for words in settings(tmp_path, "--one-class").arguments)
    assert not any("--one-class" in words for words in settings(tmp_path).arguments)


def test_credible_sets_come_with_clumps(tmp_path: Path) -> None:
    assert plan(tmp_path, "--test", "linear", "--susie")["files"] == ["assoc", "clumped", "susie"]
    assert plan(tmp_path, "--test", "linear", "--clump")["files"] == ["assoc", "clumped"]


def test_a_saddlepoint_is_asked_for_by_itself(tmp_path: Path) -> None:
    assert plan(tmp_path, "--test", "logistic", "--spa")["files"] == ["assoc", "spa"]


def test_limits_of_an_iteration(tmp_path: Path) -> None:
    made = plan(tmp_path, "--test", "logistic", "--max-iterations", "20", "--tolerance", "1e-4")
    assert (made["max_iterations"], made["tolerance"]) == (20, 1e-4)
    assert not {"max_iterations", "tolerance"} & plan(tmp_path, "--test", "logistic").keys()


def test_covariates_tell_cohorts_apart_only_if_that_is_said(tmp_path: Path) -> None:
    assert plan(tmp_path, "--test", "linear", "--cohort-sums")["cohort_sums"] is True
    assert "cohort_sums" not in plan(tmp_path, "--test", "linear")


def test_columns_of_glm_files(tmp_path: Path) -> None:
    made = plan(tmp_path, "--test", "linear", "--files", "glm", "--glm-cols", "p,chrom,test")
    assert made["glm_cols"] == ["chrom", "test", "p"]
    with pytest.raises(click.BadParameter, match="no set of columns is called gcountcc"):
        plan(tmp_path, "--test", "linear", "--glm-cols", "+gcountcc")


def covariates(folder: Path, *names: str) -> Path:
    (folder / "all.cov").write_text(" ".join(["FID", "IID", *names]) + "\n")
    return folder / "all.cov"


def test_a_template_stands_for_what_nobody_typed(tmp_path: Path) -> None:
    components = [f"PC{number}" for number in range(1, 11)]
    file = covariates(tmp_path, "age", *components, "PC11")
    template = ["--template", "logistic-components", "--covar", str(file)]
    made = plan(tmp_path, *template, "--maf", "0.05")
    assert (made["test"], made["files"]) == ("logistic", ["assoc", "glm"])
    assert [covariate["name"] for covariate in made["covariates"]] == components
    assert (made["maf"], made["geno"], made["hide_covar"]) == (0.05, 0.02, True)
    chosen = plan(tmp_path, *template, "--covar-name", "age", "--files", "assoc")
    assert [covariate["name"] for covariate in chosen["covariates"]] == ["age"]
    assert chosen["files"] == ["assoc"]


def test_a_template_is_what_somebody_could_have_typed(tmp_path: Path) -> None:
    flags = ["--mind", "0.02", "--geno", "0.02", "--hwe", "1e-6", "--maf", "0.01", "--ci", "0.95"]
    typed = plan(tmp_path, "--test", "chi-square", *flags)
    assert plan(tmp_path, "--template", "chi-square-qc") == typed


def test_a_template_says_what_it_cannot_do_without(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="needs a --covar file with the columns PC1, PC2"):
        plan(tmp_path, "--template", "linear-components")
    few = ["--covar", str(covariates(tmp_path, "PC1"))]
    with pytest.raises(click.BadParameter, match="no covariate is called PC2"):
        plan(tmp_path, "--template", "linear-components", *few)
    with pytest.raises(click.UsageError, match="goes with --test linear alone"):
        plan(tmp_path, "--template", "linear-components", "--test", "logistic", *few)
    with pytest.raises(click.UsageError, match="--bfile: not in a study of tables"):
        plan(tmp_path, "--template", "z-score")


def test_plinks_flags_for_one_sex(tmp_path: Path) -> None:
    assert plan(tmp_path, "--filter-males")["sexes"] == "males"
    assert plan(tmp_path, "--test", "linear", "--filter-females")["sexes"] == "females"
    assert plan(tmp_path, "--sexes", "all")["sexes"] == "all"
    assert "sexes" not in plan(tmp_path)


def test_conditions_are_listed_or_in_a_file(tmp_path: Path) -> None:
    (listed := tmp_path / "ids").write_text("rs1\nrs2 rs3\n")
    assert plan(tmp_path, "--test", "linear", "--condition", "rs1,rs2")["condition"] == ["rs1", "rs2"]
    made = plan(tmp_path, "--test", "logistic", "--condition-list", str(listed))
    assert made["condition"] == ["rs1", "rs2", "rs3"]
    with pytest.raises(click.UsageError, match="cannot be combined"):
        plan(tmp_path, "--test", "linear", "--condition", "rs1", "--condition-list", str(listed))


NAMES = ["age", "bmi", "pc-1", "pc-2"]


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("FID IID age bmi", ["age", "bmi"]),
        ("\n#FID\tIID\tage", ["age"]),
        ("\ufeff#IID age", ["age"]),
        ("f1 s1 20 31.5", ["COV1", "COV2"]),
        ("FID s1 20", ["COV1"]),
    ],
)
def test_names_are_those_of_the_header(first: str, names: list[str], tmp_path: Path) -> None:
    file = tmp_path / "a.cov"
    file.write_text(f"{first}\nf2 s2 1 2\n", encoding="utf-8")
    assert names_in(file) == names


@pytest.mark.parametrize(
    ("by_name", "by_number", "found"),
    [
        ([], [], NAMES),
        (["bmi", "age"], [], ["age", "bmi"]),
        (["age-bmi", "pc-2"], [], ["age", "bmi", "pc-2"]),
        ([], ["3", "1-2"], ["age", "bmi", "pc-1"]),
    ],
)
def test_columns_are_chosen_as_plink_does(by_name: list[str], by_number: list[str], found: list[str]) -> None:
    assert chosen(NAMES, by_name, by_number) == found


@pytest.mark.parametrize(
    ("by_name", "by_number"),
    [(["sex"], []), (["age-x"], []), ([], ["5"]), ([], ["0-2"]), (["bmi-age"], []), ([], ["3-1"])],
)
def test_what_the_file_lacks_is_refused(by_name: list[str], by_number: list[str]) -> None:
    with pytest.raises(NoSuchCovariate):
        chosen(NAMES, by_name, by_number)


def test_levels_make_a_covariate_categorical() -> None:
    assert planned(["age", "diet"], {"diet": ["chow", "fat"]}) == [
        {"name": "age", "levels": []},
        {"name": "diet", "levels": ["chow", "fat"]},
    ]
    with pytest.raises(NoSuchCovariate, match="sex"):
        planned(["age"], {"sex": ["1", "2"]})


THREE = ["--table", "a.csv", "--table", "b.csv", "--table", "c.csv"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        Path(f"{name}.csv").write_text("age,glucose\n61,5.5\n")
    Path("schema.csv").write_text("name,type,unit\nage,integer,years\nglucose,text,\n")


def test_the_plan_of_a_study_of_tables() -> None:
    made = settings_of("--out", "x", "--normalize", "robust", *THREE, "--min-samples", "7")
    assert made.plan["test"] == "robust" and made.plan["cohorts"] == 3 and made.plan["min_samples"] == 7
    assert [column["name"] for column in made.plan["schema"]] == ["age", "glucose"]
    assert [column["type"] for column in made.plan["schema"]] == ["number", "number"]
    assert made.arguments[1] == ["--threads", "1", "--table", "b.csv"]
    made = settings_of(
        "--out", "x", "--normalize", "quantiles", *THREE, "--quantiles", "0.05,1", "--elements", "1,-1"
    )
    assert made.plan["quantiles"] == [0.05, 1.0] and made.plan["elements"] == [1, -1]
    made = settings_of("--out", "x", "--normalize", "robust", *THREE, "--schema", "schema.csv")
    assert "quantiles" not in made.plan
    assert made.plan["schema"][0] == {"name": "age", "type": "integer", "unit": "years"}


def test_the_plan_of_a_study_that_fits_a_model() -> None:
    made = settings_of(
        "--out", "x", "--fit", "linear", "--outcome", "glucose", *THREE, "--validation-folds", "3"
    )
    assert made.plan["test"] == "linear-model" and made.plan["validation_folds"] == 3
    assert [column.get("role") for column in made.plan["schema"]] == [None, "outcome"]
    Path("roles.csv").write_text("name,role\nage,outcome\nglucose,\n")
    made = settings_of("--out", "x", "--fit", "lasso", *THREE, "--schema", "roles.csv")
    assert [column.get("role") for column in made.plan["schema"]] == ["outcome", None]
    made = settings_of(
        "--out",
        "x",
        "--fit",
        "ridge",
        *THREE,
        "--schema",
        "roles.csv",
        "--outcome",
        "glucose",
        "--files",
        "model",
    )
    assert [column.get("role") for column in made.plan["schema"]] == [None, "outcome"]
    assert made.plan["files"] == ["model"]
    Path("roles.csv").write_text("name,type,role,values\ndied,category,outcome,no|yes\nglucose,number,,\n")
    made = settings_of(
        "--out", "x", "--fit", "ridge", *THREE, "--schema", "roles.csv", "--outcome", "glucose"
    )
    assert "role" not in (died := made.plan["schema"][0]) and died["encoding"] == "one-hot"
    assert (
        settings_of("--out", "x", "--template", "ridge", "--outcome", "age", *THREE).plan["test"] == "ridge"
    )


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
