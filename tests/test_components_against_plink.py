"""`unpooled rehearse --test pca`: plink2's components of the pooled files, and NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from .conftest import MICE, Rehearse

Programs = Callable[..., str]

STANDS_OUT = 1.2
MAF = 0.02


def flags_of(cohorts: Sequence[Path]) -> list[object]:
    return [word for prefix in cohorts for word in ("--bfile", prefix)]


def eigenvec_of(*files: Path) -> dict[tuple[str, str], np.ndarray]:
    """The components of each person."""
    found = {}
    for file in files:
        head, *lines = file.read_text().splitlines()
        assert head.split("\t")[:3] == ["#FID", "IID", "PC1"]
        for fid, iid, *scores in (line.split("\t") for line in lines):
            found[fid, iid] = np.array(scores, float)
    return found


def standardised(prefix: Path) -> np.ndarray:
    """X of a pooled .bed, slow and clear: float64 (people, variants of the autosomes above MAF)."""
    bim = [line.split() for line in prefix.with_suffix(".bim").read_text().splitlines()]
    people = len(prefix.with_suffix(".fam").read_text().splitlines())
    data = np.frombuffer(prefix.with_suffix(".bed").read_bytes(), np.uint8)[3:].reshape(len(bim), -1)
    codes = (data[:, :, None] >> np.arange(0, 8, 2)) & 3
    copies = np.array([2, np.nan, 1, 0])[codes.reshape(len(bim), -1)[:, :people]]
    p = np.nanmean(copies, axis=1) / 2
    autosome = np.array([1 <= int(line[0]) <= 19 for line in bim])
    kept = autosome & (np.minimum(p, 1 - p) >= MAF)
    x = (copies[kept].T - 2 * p[kept]) / np.sqrt(2 * p[kept] * (1 - p[kept]))
    return np.nan_to_num(x)


def off(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """1 - |cos| of each column."""
    lengths = np.linalg.norm(ours, axis=0) * np.linalg.norm(theirs, axis=0)
    return 1 - np.abs((ours * theirs).sum(axis=0)) / lengths


def standing_out(values: np.ndarray, following: float) -> np.ndarray:
    return values >= STANDS_OUT * np.append(values[1:], following)


@pytest.fixture(scope="module")
def founders(few: Path, plink: Programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mice, all of them founders, without one in fifty of their calls."""
    prefix = tmp_path_factory.mktemp("founders") / "mouse"
    plink("--bfile", few, *MICE, "--make-founders", "--make-bed", "--out", prefix)
    bed = prefix.with_suffix(".bed")
    data = np.frombuffer(bed.read_bytes(), np.uint8).copy()
    codes = (data[3:, None] >> np.arange(0, 8, 2)) & 3
    codes[np.random.default_rng(3).random(codes.shape) < 0.02] = 1
    data[3:] = (codes << np.arange(0, 8, 2)).sum(axis=1).astype(np.uint8)
    bed.write_bytes(data.tobytes())
    return prefix


def test_of_mice_the_components_of_plink2(
    founders: Path,
    plink2: Programs,
    split: Callable[..., list[Path]],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Real structure, uneven cohorts, missing calls; everybody is scored by the files that come out."""
    cohorts = split(founders, (6, 3, 1), tmp_path, *MICE)
    own, ours, theirs = ("--chr-set", 19, "--maf", MAF), tmp_path / "ours", tmp_path / "theirs"
    rehearse("--test", "pca", *flags_of(cohorts), *own, "--pca", 5, "--out", ours)
    plink2("--bfile", founders, *own, "--autosome", "--freq", "counts", "--pca", 5,
           "allele-wts", "meanimpute", "--threads", 1, "--out", theirs)  # fmt: skip
    values, expected = (np.loadtxt(f"{stem}.eigenval") for stem in (ours, theirs))
    np.testing.assert_allclose(values, expected, rtol=1e-4)

    found = eigenvec_of(*(cohort.with_suffix(".eigenvec") for cohort in cohorts))
    of_plink = eigenvec_of(Path(f"{theirs}.eigenvec"))
    scores, named = (np.array([each[key] for key in of_plink]) for each in (found, of_plink))
    np.testing.assert_allclose(np.linalg.norm(scores, axis=0), 1, rtol=1e-9)
    x = standardised(founders)
    eigenvalues, vectors = np.linalg.eigh(x @ x.T / x.shape[1])
    stands = standing_out(eigenvalues[::-1][:5], eigenvalues[-6])
    assert stands.sum() >= 2
    assert (off(scores, vectors[:, ::-1][:, :5])[stands] <= 1e-9).all()
    assert (off(scores, named)[stands] <= 1e-6).all()  # plink2 prints six digits

    of_allele = [np.loadtxt(f"{stem}.eigenvec.allele", usecols=range(5, 10)) for stem in (ours, theirs)]
    assert (off(*of_allele)[stands] <= 1e-6).all()
    lengths = [np.linalg.norm(weights, axis=0) for weights in of_allele]
    np.testing.assert_allclose(*lengths, rtol=1e-5)
    check_projection(plink2, founders, ours, scores, own)


def check_projection(
    plink2: Programs, people: Path, ours: Path, scores: np.ndarray, own: Sequence[object]
) -> None:
    """plink2's --score by our files gives the same components, in other units."""
    plink2("--bfile", people, *own, "--read-freq", f"{ours}.acount", "--score", f"{ours}.eigenvec.allele", 2,
           5, "header-read", "no-mean-imputation", "variance-standardize", "cols=scoresums",
           "--score-col-nums", "6-10", "--out", f"{ours}-projected")  # fmt: skip
    projected = np.loadtxt(f"{ours}-projected.sscore", usecols=range(1, 6))
    assert (off(projected, scores) <= 1e-9).all()
