"""Whom PLINK 1.9 counts in a regression's filters, and in the reports beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pooled import GENERATED, Pool

COUNTED = ("frq", "lmiss", "hwe")


def plinks(pooled: Pool, folder: Path, *flags: str) -> dict[str, bytes]:
    """PLINK's reports of pooled data by suffix; `assoc` is the regression's."""
    out = pooled.plink1(folder, "--freq", "--missing", "--hardy", f"--{pooled.test}", "hide-covar", *flags)
    files = {"assoc": f"assoc.{pooled.test}", **dict(zip(COUNTED, COUNTED, strict=True))}
    return {name: Path(f"{out}.{file}").read_bytes() for name, file in files.items()}


def told(report: bytes, without: str = "") -> list[bytes]:
    """A report's lines but those of a chromosome."""
    return [line for line in report.splitlines() if line.split()[0] != without.encode()]


def about(report: bytes) -> list[list[bytes]]:
    """Of each line of a regression which variant it is about, and how many people."""
    return [line.split()[:6] for line in report.splitlines()]


@pytest.mark.parametrize("nonfounders", [False, True], ids=["founders", "nonfounders"])
@pytest.mark.parametrize("test", GENERATED)
def test_people_without_covariates(test: str, nonfounders: bool, tmp_path: Path) -> None:
    """They have no phenotype for the Hardy-Weinberg tests of cases and of controls."""
    pooled = GENERATED[test](8, n=400, each=30)
    covariates = pooled.samples.covariates.copy()
    covariates[np.random.default_rng(2).random(covariates.shape) < 0.2] = np.nan
    pooled = replace(pooled, samples=replace(pooled.samples, covariates=covariates))
    options = {"nonfounders": nonfounders, "hide_covar": True, "files": ("assoc", *COUNTED)}
    flags = ["--nonfounders"] * nonfounders
    for filters in ({"hwe": 0.3}, {"hwe": 0.05, "geno": 0.03, "maf": 0.05}):
        ours, rows = pooled.study(**options, **filters)
        named = [word for name, value in filters.items() for word in (f"--{name}", str(value))]
        pooled_reports = plinks(pooled, tmp_path, *named, *flags)
        assert 0 < len(rows["variant"]) < len(pooled.variants)
        assert about(ours["assoc"]) == about(pooled_reports["assoc"])
        for suffix in ("frq", "lmiss"):
            assert told(ours[suffix]) == told(pooled_reports[suffix])
        # Of cases and controls on Y PLINK prints counts of nobody that it never set.
        assert told(ours["hwe"], "24") == told(pooled_reports["hwe"], "24")


@pytest.mark.parametrize("filters", [{}, {"geno": 0.5}, {"maf": 0.01}], ids=str)
@pytest.mark.parametrize("test", GENERATED)
def test_y_without_men(test: str, filters: dict[str, float], tmp_path: Path) -> None:
    pooled = GENERATED[test](9)
    sex = np.where(pooled.samples.sex == 1, 2, pooled.samples.sex)
    pooled = replace(pooled, samples=replace(pooled.samples, sex=sex))
    ours, _ = pooled.study(hide_covar=True, files=("assoc", *COUNTED), **filters)
    flags = [word for name, value in filters.items() for word in (f"--{name}", str(value))]
    pooled_reports = plinks(pooled, tmp_path, *flags)
    assert about(ours["assoc"]) == about(pooled_reports["assoc"])
    assert (b"24" in {line[0] for line in about(ours["assoc"])}) == ("geno" not in filters)
    for suffix in COUNTED:
        assert told(ours[suffix]) == told(pooled_reports[suffix])
