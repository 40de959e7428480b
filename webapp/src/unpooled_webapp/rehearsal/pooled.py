"""The pooled analysis, done plainly, to hold a federated result against.

Reads every genotype of the pooled file into memory and uses nothing of the federated code: it is what a
person would write in ten minutes. For real data, and to the byte, compare with PLINK itself.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import chdtrc

# By PLINK's two-bit code; -1 is a missing call.
COPIES_OF_A1 = np.array([2, -1, 1, 0], np.int8)
# Relative: four significant digits are printed.
TOLERANCE = 6e-4


@dataclass(frozen=True)
class Comparison:
    """Comparison of a federated `.assoc` with the pooled analysis."""

    reference: str
    variants: int
    differing: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not self.differing


def compare(assoc: Path, pooled: Path) -> Comparison:
    """Hold a federated `.assoc` against the pooled files with a prefix: by PLINK where it is installed."""
    plink = shutil.which("plink1.9")
    if plink:
        return _compare_with_plink(plink, assoc, pooled)
    return _compare_with_numpy(assoc, pooled)


def _compare_with_plink(plink: str, assoc: Path, pooled: Path) -> Comparison:
    reference = assoc.with_name("pooled")
    subprocess.run(  # noqa: S603  # a program found on the PATH, our own arguments
        [plink, "--bfile", str(pooled), "--assoc", "--allow-no-sex", "--out", str(reference)],
        check=True,
        capture_output=True,
    )
    ours, theirs = (path.read_bytes().splitlines() for path in (assoc, reference.with_suffix(".assoc")))
    differing = [line.decode() for line, other in zip(ours, theirs, strict=False) if line != other]
    if len(ours) != len(theirs):
        differing.append(f"{len(ours)} lines, and {len(theirs)} in PLINK's file")
    return Comparison("plink1.9 on the pooled data, byte by byte", len(ours) - 1, tuple(differing))


def _compare_with_numpy(assoc: Path, pooled: Path) -> Comparison:
    names, expected = chi_square(pooled)
    rows = [line.split() for line in assoc.read_text().splitlines()]
    columns = [rows[0].index(column) for column in ("F_A", "F_U", "CHISQ", "P", "OR")]
    differing = [
        " ".join(row)
        for row, name, want in zip(rows[1:], names, expected, strict=True)
        if row[1] != name or not _near([row[column] for column in columns], want)
    ]
    return Comparison("a plain NumPy and SciPy analysis of the pooled data", len(names), tuple(differing))


def _near(printed: list[str], expected: np.ndarray) -> bool:
    return all(
        math.isclose(float(text), value, rel_tol=TOLERANCE, abs_tol=1e-12)
        if text != "NA"
        else not math.isfinite(value)
        for text, value in zip(printed, expected, strict=True)
    )


def chi_square(prefix: Path) -> tuple[list[str], np.ndarray]:
    """IDs, and F_A, F_U, CHISQ, P, OR of each variant, float64 (m, 5): the allelic test on autosomes.

    Pearson's chi-square of the table of alleles by phenotype, one degree of freedom, no correction.
    """
    fam = [line.split() for line in prefix.with_suffix(".fam").read_text().splitlines()]
    names = [line.split()[1] for line in prefix.with_suffix(".bim").read_text().splitlines()]
    phenotype = np.array([row[5] for row in fam])
    copies = _copies(prefix.with_suffix(".bed"), len(names), len(fam))
    rarer = np.where(copies < 0, 0, copies).sum(axis=1) <= (copies >= 0).sum(axis=1)
    copies = np.where((copies >= 0) & ~rarer[:, None], 2 - copies, copies)
    a, b = _alleles(copies[:, phenotype == "2"])
    c, d = _alleles(copies[:, phenotype == "1"])
    with np.errstate(divide="ignore", invalid="ignore"):
        chi2 = (a + b + c + d) * (a * d - b * c) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))
        return names, np.stack([a / (a + b), c / (c + d), chi2, chdtrc(1, chi2), a * d / (b * c)], axis=1)


def _alleles(copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count how often each allele is called, float64 (m,) and (m,)."""
    called = copies >= 0
    of_a1 = np.where(called, copies, 0).sum(axis=1).astype(float)
    return of_a1, 2 * called.sum(axis=1) - of_a1


def _copies(bed: Path, variants: int, samples: int) -> np.ndarray:
    """Copies of A1, int8 (variants, samples); -1 is missing."""
    packed = np.fromfile(bed, np.uint8)[3:].reshape(variants, -1)
    codes = np.stack([packed >> shift & 3 for shift in (0, 2, 4, 6)], axis=2)
    return COPIES_OF_A1[codes.reshape(variants, -1)[:, :samples]]
