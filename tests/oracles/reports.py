"""PLINK's reports of regressions beside ours: how far apart their numbers are, and who is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..plinks import plink, plink2
from ..plinks import rows as rows
from .regression import Rows

Row = dict[str, str]


LINEAR = {"BETA": (1e-4, 1e-5), "SE": (1e-4, 0.0), "T_STAT": (0.0, 1e-3), "P": (1e-3, 0.0)}
"""Tolerance of linear regressions against plink2: relative, and absolute."""


GLM = ("#CHROM", "POS", "ID", "REF", "ALT", "A1", "TEST", "OBS_CT", "ERRCODE")
"""Columns in which plink2's reports and ours must have the same words."""


def glm(pooled: Path, covariates: Path, out: Path, *flags: object, chr_set: Sequence[object] = ()) -> Path:
    """plink2's report on pooled data. Its A1 is the rarer allele, as it is where PLINK 1.9 has merged files.

    It takes covariates of similar size only; so the lines about themselves are in other units than ours.
    """
    minor = out.with_name("minor")
    plink("--bfile", pooled, *chr_set, "--allow-no-sex", "--make-bed", "--out", minor)
    table = ("--covar", covariates, "--covar-variance-standardize")
    plink2("--bfile", minor, *chr_set, "--glm", *flags, *table, "--threads", 1, "--out", out)
    return next(out.parent.glob(f"{out.name}.*.glm.*"))


def glm_of(few: Path, out: Path, *flags: object, of: Sequence[object] = ()) -> Path:
    """plink2's report on mice; its A1 is the rarer allele of whom PLINK 1.9 has written the files.

    Of several phenotypes there is a report for each, of which this is one.
    """
    minor, chr_set = out.with_name(f"{out.name}-minor"), ("--chr-set", 19, "--nonfounders")
    plink("--bfile", few, *chr_set, "--allow-no-sex", *of, "--make-bed", "--out", minor)
    plink2("--bfile", minor, *chr_set, "--threads", 1, *flags, "--out", out)
    return next(out.parent.glob(f"{out.name}.*.glm.*"))


def unit(text: str, digits: int) -> float:
    """Return one unit in the last digit of a number that is printed with so many."""
    value = abs(float(text))
    return float(10.0 ** (np.floor(np.log10(value)) - digits + 1)) if value else 0.0


@dataclass
class Agreement:
    """Two reports of the same tests, line by line."""

    numbers: int = 0
    """Lines with a number in both."""
    far: list[tuple[Row, Row]] = field(default_factory=list)
    """Lines with a number in both that are farther apart than allowed."""
    ours_alone: list[tuple[Row, Row]] = field(default_factory=list)
    """Lines with a number in ours only."""
    theirs_alone: list[tuple[Row, Row]] = field(default_factory=list)
    """Lines with a number in the other only."""


def agreement(
    ours: Path,
    theirs: Path,
    same: Sequence[str],
    bounds: Mapping[str, tuple[float, float]],
    digits: int,
    tests: Sequence[str] = (),
) -> Agreement:
    """Compare two reports, or their lines about some tests. Columns in `same` must hold the same words.

    `bounds` has of each column of numbers how far apart they may be, relative and absolute; both are rounded
    to `digits`, so together they may be off by one more in the last.
    """
    found = Agreement()
    for a, b in zip(rows(ours), rows(theirs), strict=True):
        assert [a[title] for title in same] == [b[title] for title in same], (a, b)
        if tests and a["TEST"] not in tests:
            continue
        known = a["P"] != "NA", b["P"] != "NA"
        if known == (True, False):
            found.ours_alone.append((a, b))
        elif known == (False, True):
            found.theirs_alone.append((a, b))
        elif all(known):
            found.numbers += 1
            if not all(_near(a[title], b[title], *bound, digits) for title, bound in bounds.items()):
                found.far.append((a, b))
    return found


def _near(a: str, b: str, relative: float, absolute: float, digits: int) -> bool:
    if a == b:
        return True
    allowed = max(relative * abs(float(b)), absolute) + 1.001 * unit(b, digits)
    return abs(float(a) - float(b)) <= allowed


def same(ours: Path | bytes, plinks: Path | bytes, least: float = 0.999, *, in_order: bool = True) -> None:
    """Assert that at least this share of lines is byte-identical, and the others off by one in the last
    digit.
    """
    lines = [(each if isinstance(each, bytes) else each.read_bytes()).splitlines() for each in (ours, plinks)]
    if not in_order:
        lines = [sorted(some) for some in lines]
    pairs = list(zip(*lines, strict=True))
    different = [pair for pair in pairs if pair[0] != pair[1]]
    far = [pair for pair in different if not off_by_one(*pair)]
    assert not far, f"{len(far)} of {len(pairs)}; ours, then PLINK's:\n" + b"\n".join(far[0]).decode()
    assert len(different) <= (1 - least) * len(pairs), different[:5]


def without_gc(report: bytes) -> bytes:
    """PLINK 1.9 b6.26 gives GC to other variants than it is of where degrees of freedom differ, or P is 0."""
    lines = report.splitlines()
    if b" GC " not in lines[0]:
        return report
    return b"\n".join(b" ".join([*line.split()[:3], *line.split()[4:]]) for line in lines)


def same_bytes(ours: Path, plinks: Path, files: Iterable[str]) -> None:
    """These files of two prefixes."""
    for file in files:
        assert Path(f"{ours}.{file}").read_bytes() == Path(f"{plinks}.{file}").read_bytes(), file


def off_by_one(a: bytes, b: bytes) -> bool:
    """Tell whether two lines differ by no more than one in the last digit of their numbers."""
    words = zip(a.split(), b.split(), strict=True)
    return len(a) == len(b) and all(x == y or _neighbours(x, y) for x, y in words)


def _neighbours(a: bytes, b: bytes) -> bool:
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= 1.001 * 10.0 ** (np.floor(np.log10(max(abs(x), abs(y)))) - 3)


def by_statsmodels(
    prefix: Path,
    covariates: Path,
    columns: Sequence[str],
    names: Iterable[str],
    folder: Path,
    *flags: object,
) -> dict[tuple[str, str], tuple[float, float]]:
    """(log odds ratio, its standard error) of some variants of the autosomes, by name and test, from the
    pooled data itself.
    """
    if not (several := sorted(set(names))):
        return {}
    (folder / "wanted").write_text("".join(f"{name}\n" for name in several))
    prefixed = ("--bfile", prefix, *flags)
    plink(*prefixed, "--extract", folder / "wanted", "--recode", "A", "--out", folder / "raw")
    header, *people = (line.split() for line in (folder / "raw.raw").read_text().splitlines())
    values = {(row["FID"], row["IID"]): _numbers(row[title] for title in columns) for row in rows(covariates)}
    x = np.array([values[row[0], row[1]] for row in people])
    status = np.array([{"1": 0.0, "2": 1.0}.get(row[5], np.nan) for row in people])
    tests = ("ADD", *columns)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for place, title in enumerate(header[6:], start=6):
        name = title.rpartition("_")[0]
        design = np.column_stack([_numbers(row[place] for row in people), x])
        inside = ~np.isnan(status) & ~np.isnan(design).any(axis=1)
        of = np.column_stack([np.ones(int(inside.sum())), design[inside]])
        fit = Rows("logistic", tests, status[inside], of).fit()
        assert fit is not None, name
        found |= {(name, test): fit.of(test)[:2] for test in tests}
    return found


def _numbers(words: Iterable[str]) -> np.ndarray:
    return np.array([np.nan if word == "NA" else float(word) for word in words])


def _coded(copies: np.ndarray, men: np.ndarray, chromosome: str, by_plink2: bool) -> np.ndarray:
    """Copies of A1 from 0 to 2, or to 1 where there is one; chromosomes are numbered as in man."""
    everyone = np.ones(len(men), bool)
    single = {"23": men & (not by_plink2), "24": men, "26": everyone}.get(chromosome, ~everyone)
    half = copies / 2 if by_plink2 else np.where(copies == 1, np.nan, copies / 2)
    coded = np.where(single, half, copies)
    return np.where(men, coded, np.nan) if chromosome == "24" else coded


Pairs = list[tuple[dict[str, str], dict[str, str]]]


def pairs(ours: bytes, plinks: list[list[str]]) -> Pairs:
    """Our lines and plink2's, by title, about the same variants, tests and people."""
    header, *lines = (line.split("\t") for line in ours.decode().splitlines())
    assert header == plinks[0]
    both = zip(lines, plinks[1:], strict=True)
    found = [(dict(zip(header, a, strict=True)), dict(zip(header, b, strict=True))) for a, b in both]
    for a, b in found:
        for title in ("#CHROM", "POS", "ID", "REF", "ALT", "A1", "TEST", "OBS_CT"):
            assert a[title] == b[title], (a, b)
    return found
