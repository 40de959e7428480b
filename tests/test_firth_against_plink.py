"""A rehearsed study of few cases against plink2 --glm at its defaults, on real genotypes, line by line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Rehearse
from .reports import GLM, Plink, agreement, bfiles, glm, rows

CASES, EVERY = 25, 6
"""Mice that are cases, of 1,940; and every so many-th of their variants is taken."""


@pytest.fixture
def few(mouse: Path, mouse_tables: dict[str, Path], plink: Plink, tmp_path: Path) -> Path:
    """Real genotypes of which the mice with the largest values of a real phenotype are the cases."""
    values = [line.split()[2] for line in mouse_tables["pheno"].read_text().splitlines()[1:]]
    numbers = np.array([np.nan if value == "NA" else float(value) for value in values])
    least = np.sort(numbers[~np.isnan(numbers)])[-CASES]
    coded = np.select([np.isnan(numbers), numbers >= least], ["-9", "2"], "1")
    names = [line.split()[1] for line in mouse.with_suffix(".bim").read_text().splitlines()]
    (listed := tmp_path / "some.txt").write_text("\n".join(names[::EVERY]) + "\n")
    prefix = tmp_path / "few"
    plink("--bfile", mouse, "--chr-set", 19, "--extract", listed, "--make-bed", "--out", prefix)
    people = [line.split() for line in prefix.with_suffix(".fam").read_text().splitlines()]
    lines = (" ".join([*row[:5], code]) + "\n" for row, code in zip(people, coded, strict=True))
    prefix.with_suffix(".fam").write_text("".join(lines))
    return prefix


def test_the_same_mice_fall_back(
    few: Path,
    mouse_tables: dict[str, Path],
    split: Callable[..., list[Path]],
    plink: Plink,
    plink2: Plink,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Coefficients and standard errors to 1e-4, P to 1e-3, but where plink2 stops a little early."""
    common = ("--chr-set", 19, "--allow-no-sex", "--hide-covar", "--files", "assoc,glm")
    floors = ("--min-samples", 20, "--min-per-class", 0, "--one-class")
    parts = split(few, (5, 3, 2), tmp_path, "--chr-set", "19")
    table = ("--covar", mouse_tables["covar"], "--covar-name", "weight,season")
    rehearse("--test", "logistic", *bfiles(parts), *common, *floors, *table, "--out", tmp_path / "ours")
    flags = ("hide-covar", "--covar-name", "weight", "season")
    theirs = glm(
        plink, plink2, few, mouse_tables["covar"], tmp_path / "plink2", *flags, chr_set=("--chr-set", 19)
    )
    ours = tmp_path / "ours.phenotype.glm.logistic.hybrid"
    assert theirs.name == "plink2.PHENO1.glm.logistic.hybrid"
    bounds = {"OR": (1e-4, 0.0), "LOG(OR)_SE": (1e-4, 0.0), "P": (1e-3, 0.0)}
    found = agreement(ours, theirs, (*GLM, "FIRTH?"), bounds, digits=6)
    fell = {row["ID"] for row in rows(ours) if row["FIRTH?"] == "Y"}
    assert not found.ours_alone and not found.theirs_alone
    assert len(fell) > 20 and found.numbers > 1_500
    assert len(found.far) < 0.03 * found.numbers
    for a, b in found.far:  # core/tests/test_firth.py says who is right there
        assert a["FIRTH?"] == "Y" and float(a["Z_STAT"]) == pytest.approx(float(b["Z_STAT"]), abs=1e-3), (
            a,
            b,
        )
    assert {row["SNP"] for row in rows(tmp_path / "ours.assoc.logistic") if row["P"] == "NA"} >= fell
