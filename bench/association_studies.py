"""The association studies that are timed: what a rehearsal is given, what PLINK, and what must be alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rehearsal
from association_files import COHORTS

TRAIT = ["--pheno", "pooled.trait", "--pheno-name", "trait"]
ILL = ["--pheno", "pooled.ill", "--pheno-name", "ill"]
PLINK2 = ["--covar", "pooled.cov", "--covar-variance-standardize", "--threads", "2"]


def same_bytes(ours: Path, theirs: Path) -> str:
    """Say what is wrong with a file that must be PLINK's to the byte."""
    return "" if ours.read_bytes() == theirs.read_bytes() else "differs from PLINK's"


def same_numbers(ours: Path, theirs: Path) -> str:
    """Judge a regression by its statistics: both files' lines for ADD, in the same order."""
    mine, plinks = (_statistics(path) for path in (ours, theirs))
    if len(mine) != len(plinks):
        return f"has {len(mine)} variants, PLINK's {len(plinks)}"
    both = ~np.isnan(mine) & ~np.isnan(plinks)
    off = np.abs(mine - plinks)[both] > 0.01 * np.maximum(np.abs(plinks[both]), 1)
    return f"has {off.sum()} statistics that are not PLINK's" if off.any() or both.mean() < 0.99 else ""


def _statistics(path: Path) -> np.ndarray:
    with path.open() as file:
        header = file.readline().split()
        test = header.index("TEST")
        column = next(k for k, name in enumerate(header) if name in ("STAT", "T_STAT", "Z_STAT"))
        words = (line.split() for line in file)
        return np.array([float(row[column].replace("NA", "nan")) for row in words if row[test] == "ADD"])


@dataclass(frozen=True)
class Study:
    """A study that is timed, what it is timed against, and what was promised."""

    ours: list[str]
    program: str
    theirs: list[str]
    files: dict[str, str]
    """Our result files, and those of PLINK that they are held against."""
    check: Callable[[Path, Path], str]
    goals: tuple[float, ...]
    """Times PLINK's time: until the files are on the platform, and until the last cohort has them."""
    megabytes: float
    title: str
    """Title in the documentation's tables."""
    genotypes: str = "--bfile"
    """Option by which both get the genotypes: with `--pfile` they are dosages."""


STUDIES = {
    "assoc": Study(
        [*ILL, "--files", "assoc"],
        "plink1.9",
        ["--assoc", "--pheno", "pooled.ill"],
        {"assoc": "assoc"},
        same_bytes,
        (2.2, 3),
        80,
        "chi-square, `.assoc`",
    ),
    "counts": Study(
        [*ILL, "--files", "assoc,frq,lmiss,hwe"],
        "plink1.9",
        ["--assoc", "--freq", "--missing", "--hardy", "--pheno", "pooled.ill"],
        {file: file for file in ("assoc", "frq", "lmiss", "hwe")},
        same_bytes,
        (2.2, 3),
        80,
        "chi-square, `.assoc .frq .lmiss .hwe`",
    ),
    "linear": Study(
        ["--test", "linear", *TRAIT, "--covar", "pooled.cov", "--hide-covar"],
        "plink2",
        ["--glm", "hide-covar", *TRAIT, *PLINK2],
        {"assoc.linear": "trait.glm.linear"},
        same_numbers,
        (0.5,),
        350,
        "linear, 4 covariates",
    ),
    "logistic": Study(
        ["--test", "logistic", *ILL, "--covar", "pooled.cov", "--hide-covar"],
        "plink2",
        ["--glm", "hide-covar", "no-firth", "--pheno", "pooled.ill", "--pheno-name", "ill", *PLINK2],
        {"assoc.logistic": "ill.glm.logistic"},
        same_numbers,
        (0.5,),
        1700,
        "logistic, 4 covariates",
    ),
    "dosages": Study(
        ["--test", "linear", "--dosages", "--files", "glm", *TRAIT, "--covar", "pooled.cov", "--hide-covar"],
        "plink2",
        ["--glm", "hide-covar", *TRAIT, *PLINK2],
        {"trait.glm.linear": "trait.glm.linear"},
        same_numbers,
        (0.5,),
        350,
        "linear on dosages, 4 covariates",
        "--pfile",
    ),
}
USUAL = tuple(name for name, study in STUDIES.items() if study.genotypes == "--bfile")


def command(study: Study, data: Path) -> list[str]:
    """A rehearsal of a study over the cohorts in `data`."""
    cohorts = [word for k in range(COHORTS) for word in (study.genotypes, str(data / f"cohort{k + 1}"))]
    words = [str(data / word) if word.startswith("pooled.") else word for word in study.ours]
    return rehearsal.command(data / "ours", *cohorts, *words)
