"""Cohorts whose files call variants differently, matched by place: PLINK's bytes of the pool so called."""

from __future__ import annotations

from pathlib import Path

import pytest

from unpooled.simulate import simulate

from ..conftest import Rehearse
from ..plinks import bfiles, plink, plink2

FILES = ("assoc", "frq", "lmiss", "hwe")
CALLED = "@:#:$1:$2"
"""plink2's template for chromosome, position and both alleles in alphabetical order."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cohorts; the IDs of the second are its own, and the third has none."""
    folder = tmp_path_factory.mktemp("made")
    simulate(
        folder, cohorts=[90, 80, 70], variants=600, seed=8, missing_rate=(0.3, 0.02), sex_chromosomes=True
    )
    for name, id_of in (("cohort2", lambda k, _: f"affx-{k}"), ("cohort3", lambda *_: ".")):
        path = folder / f"{name}.bim"
        lines = [line.split() for line in path.read_text().splitlines()]
        path.write_text("".join("\t".join([w[0], id_of(k, w), *w[2:]]) + "\n" for k, w in enumerate(lines)))
    return folder


def test_the_pool_called_by_place_gives_the_same_bytes(
    made: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    cohorts = bfiles(made / f"cohort{k}" for k in (1, 2, 3))
    rehearse(*cohorts, "--by-place", "--min-samples", 20, "--min-per-class", 1, "--out", tmp_path / "ours")
    # Only files of PLINK 1 keep which allele is called A1.
    plink2(
        "--bfile",
        made / "pooled",
        "--set-all-var-ids",
        CALLED,
        "--make-just-bim",
        "--out",
        tmp_path / "called",
    )
    called = [line.split()[1] for line in (tmp_path / "called.bim").read_text().splitlines()]
    lines = [line.split() for line in (made / "pooled.bim").read_text().splitlines()]
    named = tmp_path / "named.bim"
    named.write_text(
        "".join("\t".join([w[0], name, *w[2:]]) + "\n" for name, w in zip(called, lines, strict=True))
    )
    plink("--bed", made / "pooled.bed", "--fam", made / "pooled.fam", "--bim", named, "--assoc", "--freq",
          "--missing", "--hardy", "--out", tmp_path / "pooled")  # fmt: skip
    for file in FILES:
        assert (tmp_path / f"ours.{file}").read_bytes() == (tmp_path / f"pooled.{file}").read_bytes(), file
    assert "matched by chromosome, position and alleles" in (tmp_path / "ours.methods.txt").read_text()
