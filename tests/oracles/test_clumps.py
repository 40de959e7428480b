"""`.clumped` of rehearsed studies, and what plink1.9 --clump makes of the same report and pooled files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ..conftest import MICE, Rehearse
from ..plinks import bfiles, plink, split


@pytest.mark.parametrize(
    ("test", "report", "limits"),
    [
        ("chi-square", "assoc", ()),
        (
            "linear",
            "assoc.linear",
            ("--clump-p1", 1e-3, "--clump-p2", 0.2, "--clump-r2", 0.2, "--clump-kb", 900),
        ),
        ("logistic", "assoc.logistic", ("--clump-p1", 0.01, "--clump-r2", 0.9, "--clump-kb", 40)),
    ],
)
def test_mice_are_clumped_as_by_plink(
    test: str,
    report: str,
    limits: tuple[object, ...],
    founders: Path,
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    cohorts = bfiles(split(founders, (5, 3, 2), tmp_path, *MICE))
    ours = tmp_path / "ours"
    of_numbers = ("--pheno", mouse_tables["pheno"], "--pheno-name", "second") if test == "linear" else ()
    rehearse("--test", test, *cohorts, *MICE, "--maf", 0.02, *of_numbers, "--clump", *limits,
             "--min-samples", 20, "--min-per-class", 1, "--out", ours)  # fmt: skip
    plink("--bfile", founders, *MICE, "--clump", f"{ours}.{report}", *limits, "--out", tmp_path / "pooled")
    found, expected = (
        Path(f"{stem}.clumped").read_text().splitlines() for stem in (ours, tmp_path / "pooled")
    )
    assert found == expected and len(expected) > 5


def test_covariates_lead_no_clump(
    founders: Path,
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """PLINK takes the smallest P beside a variant, be it a covariate's; here it is the variant's own."""
    cohorts = bfiles(split(founders, (5, 3, 2), tmp_path, *MICE))
    table, limits = mouse_tables["pheno"], ("--clump-p1", 1e-3, "--clump-p2", 0.2)
    random, rows = np.random.default_rng(1), [line.split() for line in table.read_text().splitlines()[1:]]
    near = [f"{a} {b} {y if y == 'NA' else float(y) + random.normal()}\n" for a, b, _, y in rows]
    (tmp_path / "covar").write_text("".join(["FID IID near\n", *near]))
    rehearse("--test", "linear", *cohorts, *MICE, "--maf", 0.2, "--pheno", table, "--pheno-name", "second",
             "--covar", tmp_path / "covar", "--clump", *limits, "--min-samples", 20,
             "--out", tmp_path / "ours")  # fmt: skip
    lines = (tmp_path / "ours.assoc.linear").read_text().splitlines(keepends=True)
    (tmp_path / "own").write_text("".join(line for line in lines if line.split()[4] in ("TEST", "ADD")))
    for report in ("ours.assoc.linear", "own"):
        plink("--bfile", founders, *MICE, "--clump", tmp_path / report, *limits, "--out", tmp_path / report)
    found, own, of_all = (
        (tmp_path / f"{stem}.clumped").read_text().splitlines()
        for stem in ("ours", "own", "ours.assoc.linear")
    )
    assert found == own and len(own) > 5
    assert len(of_all) > 5 * len(own)  # the covariate is associated beside every variant
