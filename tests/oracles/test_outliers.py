"""One person far from all others: numbers are PLINK's or NA, and beyond a point the study is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pooled import Quantities, quantities

from unpooled.errors import Refuse

from .reports import off_by_one

FAR_AWAY = 7


def pooled_with(outlier: float, column: str, mean: float, called: bool) -> Quantities:
    """That person has complete data, and calls of all variants or of none."""
    pooled = quantities(5, n=1000, each=6, covariates=1, missing=0.0)
    samples, copies = pooled.samples, pooled.copies.copy()
    phenotype = np.nan_to_num(samples.phenotype) + mean
    covariates = np.nan_to_num(samples.covariates) + mean
    (phenotype if column == "phenotype" else covariates[:, 0])[FAR_AWAY] = outlier
    copies[:, FAR_AWAY] = 2 * (copies[:, FAR_AWAY] > 0) if called else -1  # a man's one copy on X
    sex = np.where(np.arange(len(samples)) == FAR_AWAY, 1, samples.sex)
    return replace(
        pooled,
        copies=copies,
        samples=replace(samples, phenotype=phenotype, covariates=covariates, sex=sex),
    )


@pytest.mark.parametrize("called", [True, False], ids=["called", "lacking"])
@pytest.mark.parametrize("mean", [0.0, 1e3])
@pytest.mark.parametrize("column", ["phenotype", "covariate"])
@pytest.mark.parametrize("outlier", [1e3, -1e5, 1e6, 1e7, -999999999.0])
def test_an_outlier(
    outlier: float,
    column: str,
    mean: float,
    called: bool,
    tmp_path: Path,
) -> None:
    pooled = pooled_with(outlier, column, mean, called)
    if not mean and abs(outlier) > 1e8:
        name = "trait" if column == "phenotype" else "C1"
        with pytest.raises(Refuse, match=f"{name}: .* a code for a missing value"):
            pooled.study(files=("assoc",))
        return
    ours = pooled.study(files=("assoc",))[0]["assoc"].splitlines()
    theirs = Path(f"{pooled.plink1(tmp_path, '--linear')}.assoc.linear").read_bytes().splitlines()
    pairs = list(zip(ours, theirs, strict=True))
    unknown = [(a, b) for a, b in pairs if a != b and a.endswith(b"NA") and not called]
    assert all(off_by_one(a, b) for a, b in pairs if (a, b) not in unknown)
    if abs(outlier) <= 1e5:
        assert not unknown and sum(a != b for a, b in pairs) < 0.02 * len(pairs)
