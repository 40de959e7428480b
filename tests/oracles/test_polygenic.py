"""`unpooled rehearse --fit polygenic`: from PLINK files to a scoring file that plink2 takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unpooled.simulate import simulate

from ..conftest import Rehearse
from ..plinks import bfiles, plink2


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three of different sizes, with missing calls, a quantitative phenotype with effects, a covariate."""
    folder = tmp_path_factory.mktemp("score")
    made = simulate(
        folder,
        cohorts=(300, 250, 150),
        variants=500,
        missing_rate=(0.5, 0.02),
        effects=(0.8, 0.8, -0.8, 0.7, -0.7),
        trait="quantitative",
        covariates=1,
        seed=3,
    )
    return list(made.cohorts)


def test_a_score_from_files_to_plink2(rehearse: Rehearse, cohorts: list[Path], tmp_path: Path) -> None:
    flags = bfiles(cohorts)
    covar = [word for prefix in cohorts for word in ("--covar", prefix.with_suffix(".cov"))]
    rehearse("--fit", "polygenic", *flags, *covar, "--maf", 0.01, "--out", tmp_path / "height")
    found = json.loads((tmp_path / "height.performance.json").read_text(encoding="utf-8"))
    assert found["people"] == 700 and found["r_squared"] > 0.05
    (chosen,) = (each for each in found["shares"] if each["chosen"])
    assert (found["share"], found["r_squared"]) == (chosen["share"], chosen["r_squared"])
    assert (found["phenotype"], found["trait"]) == ("phenotype", "quantitative")
    assert (tmp_path / "height.card.md").read_text(encoding="utf-8").startswith("# Polygenic score of")

    own = pd.read_csv(f"{cohorts[0]}.polygenic.tsv", sep="\t").set_index("IID")["SCORE"]
    assert len(own) == 300
    # Without a call plink2 takes the frequency of its own file: the pooled one, as the cohort does.
    pooled = cohorts[0].parent / "pooled"
    plink2("--bfile", pooled, "--freq", "--out", tmp_path / "pool")
    plink2(
        *("--bfile", cohorts[0], "--read-freq", tmp_path / "pool.afreq", "--out", tmp_path / "plink2"),
        *("--score", tmp_path / "height.score.txt", 1, 4, 6, "cols=+scoresums"),
    )
    theirs = pd.read_csv(tmp_path / "plink2.sscore", sep=r"\s+").set_index("IID")["SCORE1_SUM"]
    np.testing.assert_allclose(own, theirs[own.index], rtol=1e-4, atol=1e-5)


def test_a_score_of_cases_and_controls(rehearse: Rehearse, tmp_path: Path) -> None:
    made = simulate(
        tmp_path, cohorts=(200, 200, 200), variants=400, effects=(2.0, 2.0, 0.5), seed=4, pooled=False
    )
    flags = bfiles(made.cohorts)
    out = tmp_path / "asthma"
    rehearse("--fit", "polygenic", "--trait", "case/control", "--outcome", "asthma", *flags, "--out", out)
    found = json.loads((tmp_path / "asthma.performance.json").read_text(encoding="utf-8"))
    assert (found["trait"], found["phenotype"], found["people"]) == ("case/control", "asthma", 600)


def test_flags_that_do_not_go_together(rehearse: Rehearse, cohorts: list[Path], tmp_path: Path) -> None:
    flags = bfiles(cohorts)
    both = ("--outcome", "a", "--pheno-name", "b")
    done = rehearse("--fit", "polygenic", *flags, *both, "--out", tmp_path / "x", check=False)
    assert done.returncode == 2 and "cannot be combined" in done.stdout + done.stderr
