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
    with pytest.raises(click.BadParameter, match="no set of columns is called machr2"):
        plan(tmp_path, "--test", "linear", "--glm-cols", "+machr2")
