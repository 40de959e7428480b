"""Which allele `.glm.logistic` says separates cases from controls: the one that plink2 names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pooled import MT, Statuses, X, Y

from unpooled.cohort import Samples

from .reports import pairs

CASES, PEOPLE = 60, 400


def copies_of_a1(case: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Genotypes, among everyone, by what is odd about them."""
    n = len(case)
    rare = random.choice([0, 1, 2], n, p=[0.8, 0.15, 0.05])
    return {
        "rarer one in cases only": np.where(case, rare, 0),
        "rarer one in controls only": np.where(case, 0, rare),
        "commoner one in controls only": np.where(case, 2, rare),
        "commoner one in cases only": np.where(case, 2 - rare, 2),
        "each has one": np.where(case, 2, 0),
        "cases heterozygous": np.where(case, 1, 0),
        "both in both, but apart": np.where(case, random.choice([1, 2], n), random.choice([0, 1], n)),
        "both in both": rare,
    }


def odd(seed: int, covariates: int) -> Statuses:
    """Each kind of separation on each kind of chromosome, with the rarer allele first and last in ASCII."""
    random = np.random.default_rng(seed)
    case = np.arange(PEOPLE) < CASES
    kinds = copies_of_a1(case, random).values()
    pairs_of_alleles = ((b"A", b"C"), (b"G", b"C"))
    places = [(chromosome, copies, pair) for chromosome in (1, X, Y, MT) for copies in kinds
              for pair in pairs_of_alleles]  # fmt: skip
    rows = [(c, 1 + k, b"v%d" % k, *pair) for k, (c, _, pair) in enumerate(places)]
    copies = np.array([copies for _, copies, _ in places]).astype(np.int8)
    copies[random.random(copies.shape) < 0.03] = -1
    sex = random.choice([1, 2, 0], PEOPLE, p=[0.5, 0.45, 0.05]).astype(np.uint8)
    samples = Samples(
        case.astype(float),
        sex,
        np.ones(PEOPLE, bool),
        np.ones(PEOPLE, bool),
        random.normal(size=(PEOPLE, covariates)),
    )
    return Statuses(samples, rows, copies)


@pytest.mark.parametrize("seed", range(3))
def test_separation_is_plink2s(seed: int, tmp_path: Path) -> None:
    pooled = odd(seed, covariates=1)
    ours = pooled.study(files=("glm",), hide_covar=True, firth="no-firth")[0]["glm"]
    found = pairs(ours, pooled.plink2(tmp_path, "--glm", "no-firth", "hide-covar"))
    said = {b["ERRCODE"] for _, b in found}
    assert {"SEPARATION,REF", "SEPARATION,ALT1", "."} <= said
    for a, b in found:
        if {a["ERRCODE"], b["ERRCODE"]} - {"LOGISTIC_CONVERGE_FAIL", "UNFINISHED"}:
            assert a["ERRCODE"] == b["ERRCODE"], (a, b)
        else:  # where no allele is missing anywhere plink2's iteration runs off
            assert a["P"] == "NA", (a, b)
