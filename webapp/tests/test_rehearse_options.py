"""Options of `unpooled rehearse` that become fields of the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from unpooled_webapp.commands.rehearse import _settings, rehearse
from unpooled_webapp.rehearsal import Settings


def settings(folder: Path, *arguments: str) -> Settings:
    """What a rehearsal with these arguments would do."""
    words = ["--out", str(folder / "out"), *arguments]
    for name in ("a", "b", "c"):
        words += ["--bfile", str(folder / name)]
        for suffix in (".bed", ".bim", ".fam"):
            (folder / f"{name}{suffix}").touch()
    with rehearse.make_context("rehearse", words) as context:
        return _settings(context.params)


def plan(folder: Path, *arguments: str) -> dict[str, Any]:
    return settings(folder, *arguments).plan


def test_a_build_is_what_is_said_or_not_reported(tmp_path: Path) -> None:
    assert plan(tmp_path, "--build", "GRCh37")["build"] == "GRCh37"
    assert plan(tmp_path)["build"] == "NR"


def test_one_class_is_for_every_client(tmp_path: Path) -> None:
    assert all("--one-class" in words for words in settings(tmp_path, "--one-class").arguments)
    assert not any("--one-class" in words for words in settings(tmp_path).arguments)


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
