"""`unpooled rehearse --test prune`, and what plink2 prunes of the pooled files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pooled import Pool

from ..conftest import MICE, Rehearse
from ..people import people
from ..plinks import bfiles, forget, plink, plink2, split

WINDOW, STEP = 50, 5


def without_calls(prefix: Path, rate: float, out: Path) -> Path:
    """The same files in which some calls are missing, drawn at random."""
    for end in (".bed", ".bim", ".fam"):
        shutil.copy(prefix.with_suffix(end), out.with_suffix(end))
    forget(out.with_suffix(".bed"), rate)
    return out


def check_files(ours: Path, theirs: Path) -> None:
    for file in ("prune.in", "prune.out"):
        found, expected = (Path(f"{stem}.{file}").read_text() for stem in (ours, theirs))
        assert found == expected and found, file


@pytest.mark.parametrize("windows", ["50 5 0.2", "1000kb 0.1"])
def test_of_mice_the_variants_that_plink2_keeps(
    windows: str,
    founders: Path,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    cohorts = bfiles(split(founders, (5, 3, 2), tmp_path, *MICE))
    own = ("--chr-set", 19, "--maf", 0.02, "--indep-pairwise")
    rehearse("--test", "prune", *cohorts, *own, windows, "--out", tmp_path / "ours")
    plink2("--bfile", founders, *own, *windows.split(), "--out", tmp_path / "theirs")
    check_files(tmp_path / "ours", tmp_path / "theirs")


class Neighbours(Pool):
    """People, a third of them nonfounders, and variants of which many are much like the one before."""

    test = "prune"
    usual: ClassVar[dict[str, Any]] = {"trait": "quantitative", "files": ("prune.in", "prune.out")}

    @classmethod
    def drawn(cls, seed: int) -> Neighbours:
        random = np.random.default_rng(seed)
        m, n = int(random.integers(8, 90)), int(random.integers(220, 360))
        copies = random.binomial(2, random.uniform(0.2, 0.8, (m, 1)), (m, n)).astype(np.int8)
        for k in np.flatnonzero(random.random(m - 1) < 0.7):
            like = random.random(n) < random.choice([0.5, 0.8, 0.97])
            copies[k + 1, like] = copies[k, like]
        copies[random.random(m) < 0.1] = 1  # heterozygous in everybody
        places = np.sort(random.integers(1, 40 * m, m)).tolist()
        rows = [(1 + (2 * k >= m), places[k], b"rs%03d" % k, b"A", b"G") for k in range(m)]
        sex, founder = random.integers(0, 3, n).astype(np.uint8), random.random(n) < 0.67
        return cls(people(np.full(n, np.nan), sex=sex, founder=founder), sorted(rows), copies)


@pytest.mark.parametrize("seed", range(45))
def test_of_random_studies_the_variants_that_plink2_keeps(seed: int, tmp_path: Path) -> None:
    """There are no phenotypes; --nonfounders changes the deciding frequencies, and not who is correlated."""
    random, pool = np.random.default_rng(seed), Neighbours.drawn(seed)
    size, everyone = int(random.integers(2, 12)), bool(seed % 2)
    windows = f"{size} {random.integers(1, size + 1)}" if seed % 3 else f"0.{size}kb"
    windows = f"{windows} {random.choice([0.05, 0.2, 0.5])}"
    ours, _ = pool.study(indep_pairwise=windows, nonfounders=everyone)
    pool.write(tmp_path / "pooled")
    plink2("--bfile", tmp_path / "pooled", *["--nonfounders"] * everyone,
         "--indep-pairwise", *windows.split(), "--out", tmp_path / "theirs")  # fmt: skip
    theirs = {file: Path(f"{tmp_path}/theirs.{file}").read_bytes() for file in ours}
    assert ours == theirs and all(theirs.values())


@pytest.mark.parametrize("method", [("prune", "--indep-pairwise", "50 5 0.2"), ("pca", "--pca", 1)])
def test_nobody_needs_a_phenotype(
    method: tuple[object, ...], few: Path, rehearse: Rehearse,
    tmp_path: Path,
) -> None:  # fmt: skip
    """A .fam with none, a .psam without such a column, and a VCF with neither: as if there were some."""
    parts = split(few, (5, 3, 3), tmp_path, *MICE, "--make-founders", "--autosome")
    given: list[object] = []
    ways = ("--bfile", "--make-bed"), ("--pfile", "--make-pgen"), ("--vcf", "--export", "vcf", "id-paste=iid")
    for part, (flag, *how) in zip(parts, ways, strict=True):
        bare = tmp_path / f"bare{flag}"
        plink2("--bfile", part, "--chr-set", 19, "--no-psam-pheno", *how, "--out", bare)
        given += [flag, f"{bare}.vcf" if flag == "--vcf" else bare]
    own = ("--test", *method, "--chr-set", 19, "--chr", "1-19", "--maf", 0.05)
    rehearse(*own, *given, "--copies", tmp_path / "copies", "--out", tmp_path / "bare")
    rehearse(*own, *bfiles(parts), "--out", tmp_path / "ours")
    for file in ("prune.in", "prune.out") if method[0] == "prune" else ("acount",):
        bare, ours = (Path(f"{tmp_path}/{name}.{file}").read_text() for name in ("bare", "ours"))
        assert bare == ours and ours
    if method[0] == "pca":
        values = [np.loadtxt(f"{tmp_path}/{name}.eigenval") for name in ("bare", "ours")]
        np.testing.assert_allclose(*values, rtol=1e-9)


@pytest.mark.parametrize("rate", [0.02, 0.05])
def test_with_missing_calls_little_more_is_kept_and_little_more_linkage_left(
    rate: float,
    founders: Path,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Side by side: PLINK leaves out of a pair whoever lacks a call, and here the mean stands for it."""
    prefix = without_calls(founders, rate, tmp_path / "mouse")
    cohorts = bfiles(split(prefix, (5, 3, 2), tmp_path, *MICE))
    own = ("--chr-set", 19, "--maf", 0.02)
    rehearse("--test", "prune", *cohorts, *own, "--indep-pairwise", "50 5 0.2", "--out", tmp_path / "ours")
    plink2("--bfile", prefix, *own, "--indep-pairwise", "50", "5", "0.2", "--out", tmp_path / "theirs")
    ours, left = linkage_left(prefix, tmp_path / "ours")
    theirs, left_by_plink = linkage_left(prefix, tmp_path / "theirs")
    assert theirs <= ours <= theirs * (1 + 3 * rate)
    assert left_by_plink <= 0.2 and left <= 0.2 / (1 - rate) ** 2  # as much of r² as means take away


def linkage_left(prefix: Path, pruned: Path) -> tuple[int, float]:
    """Count the kept variants, and find PLINK's largest r² of two that certainly shared a window."""
    kept = Path(f"{pruned}.prune.in").read_text().split()
    compared = {*kept, *Path(f"{pruned}.prune.out").read_text().split()}
    lines = (line.split() for line in prefix.with_suffix(".bim").read_text().splitlines())
    place = {name: k for k, name in enumerate(name for _, name, *_ in lines if name in compared)}
    windows = ("--ld-window", WINDOW, "--ld-window-r2", 0.1, "--ld-window-kb", 1_000_000)
    plink("--bfile", prefix, *MICE, "--extract", f"{pruned}.prune.in", "--r2", *windows, "--out", pruned)
    _, *rows = (line.split() for line in Path(f"{pruned}.ld").read_text().splitlines())
    near = [float(row[6]) for row in rows if place[row[5]] - place[row[2]] <= WINDOW - STEP]
    return len(kept), max(near)
