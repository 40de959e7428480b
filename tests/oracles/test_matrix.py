"""`unpooled rehearse --test ld-matrix`, and the correlations that plink1.9 computes of the pooled files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..conftest import MICE, Rehearse
from ..plinks import bfiles, plink, split

REGION = "7:3000000-60000000"


def test_the_correlations_of_a_region_are_those_of_plink(
    founders: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    cohorts = bfiles(split(founders, (5, 3, 2), tmp_path, *MICE))
    own = ("--chr-set", 19, "--maf", 0.05, "--geno", 0)
    rehearse("--test", "ld-matrix", *cohorts, *own, "--region", REGION, "--out", tmp_path / "ours")
    chromosome, ends = REGION.split(":")
    first, last = ends.split("-")
    where = ("--chr", chromosome, "--from-bp", first, "--to-bp", last)
    for how, name in (((), "text"), (("bin",), "bin")):
        plink("--bfile", founders, *own, *where, "--r", "square", *how, "--write-snplist",
              "--out", tmp_path / name)  # fmt: skip
    ours = {end: Path(f"{tmp_path}/ours.unphased.vcor1{end}").read_text() for end in ("", ".vars")}
    assert ours[".vars"] == (tmp_path / "text.snplist").read_text() and ours[".vars"].count("\n") > 20
    theirs = np.fromfile(tmp_path / "bin.ld.bin").reshape(-1, ours[".vars"].count("\n"))
    arrays = np.load(tmp_path / "ours.npz", allow_pickle=False)
    np.testing.assert_allclose(arrays["r"], theirs, atol=1e-12, rtol=0)
    assert arrays["id"].tolist() == ours[".vars"].split()
    assert ours[""] == (tmp_path / "text.ld").read_text()
