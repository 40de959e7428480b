"""Whom PLINK 1.9 counts in filters of regressions on Y where no men are, and in the reports beside it."""

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


def about(report: bytes) -> list[list[bytes]]:
    """Of each line of a regression which variant it is about, and how many people."""
    return [line.split()[:6] for line in report.splitlines()]


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
        assert ours[suffix] == pooled_reports[suffix]
