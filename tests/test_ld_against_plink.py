"""`unpooled rehearse --test prune`, and what plink2 prunes of the pooled files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from unpooled.simulate import simulate

from .conftest import MICE, Rehearse

Programs = Callable[..., str]


@pytest.fixture(scope="module")
def founders(mouse: Path, plink: Programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mice, all of them founders: real linkage, and no missing call."""
    prefix = tmp_path_factory.mktemp("founders") / "mouse"
    plink("--bfile", mouse, *MICE, "--make-founders", "--make-bed", "--out", prefix)
    return prefix


def flags_of(cohorts: Sequence[Path]) -> list[object]:
    return [word for prefix in cohorts for word in ("--bfile", prefix)]


def check_files(ours: Path, theirs: Path) -> None:
    for file in ("prune.in", "prune.out"):
        found, expected = (Path(f"{stem}.{file}").read_text() for stem in (ours, theirs))
        assert found == expected and found, file


@pytest.mark.parametrize("windows", ["50 5 0.2", "1000kb 0.1"])
def test_of_mice_the_variants_that_plink2_keeps(
    windows: str,
    founders: Path,
    split: Callable[..., list[Path]],
    rehearse: Rehearse,
    plink2: Programs,
    tmp_path: Path,
) -> None:
    cohorts = flags_of(split(founders, (5, 3, 2), tmp_path, *MICE))
    own = ("--chr-set", 19, "--maf", 0.02, "--indep-pairwise")
    rehearse("--test", "prune", *cohorts, *own, windows, "--out", tmp_path / "ours")
    plink2("--bfile", founders, *own, *windows.split(), "--out", tmp_path / "theirs")
    check_files(tmp_path / "ours", tmp_path / "theirs")


def test_beside_x_the_variants_that_plink2_keeps(
    rehearse: Rehearse, plink2: Programs, tmp_path: Path
) -> None:
    """Nonfounders, Y and MT. On X Debian's plink2 weighs men in no way that its manual names."""
    made = simulate(
        tmp_path, cohorts=(180, 150, 90), variants=900, missing_rate=(0.0, 0.0), sex_chromosomes=True,
        nonfounder_rate=0.1, autosomes=3, seed=5,
    )  # fmt: skip
    cohorts, own = flags_of(made.cohorts), ("--chr-set", 3, "--maf", 0.1, "--chr", "1-3,5,7")
    rehearse("--test", "prune", *cohorts, *own, "--indep-pairwise", "40 1 0.01",
             "--out", tmp_path / "ours")  # fmt: skip
    plink2("--bfile", tmp_path / "pooled", *own, "--indep-pairwise", 40, 1, 0.01,
           "--out", tmp_path / "theirs")  # fmt: skip
    check_files(tmp_path / "ours", tmp_path / "theirs")
