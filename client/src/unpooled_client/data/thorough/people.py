"""Checks of people by their genotypes: duplicates, relatives, and outlying heterozygosity.

From common variants of the autosomes, evenly spread. Relatedness by KING-robust, as `plink2
--make-king-table` has it, heterozygosity as `plink2 --het`. People who share a parent or a sample make P
values too small, and PLINK's tests do not know of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from unpooled.errors import DataProblem
from unpooled.kernels.kinship import related
from unpooled_client.data.checks.calls import HETEROZYGOUS, HOMOZYGOUS_A1, MISSING, codes_of
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import EXAMPLES, Code, Report
from unpooled_client.data.plink.fam import Fam, read_fam
from unpooled_client.data.plink.genotypes import stretches

TWICE = 0.354
"""The kinship above which two samples are one person, or twins (Manichaikul et al., 2010)."""
STRETCHES, LENGTH, BLOCKS = 1024, 8, 16
"""Number of stretches, of neighbouring variants in each, and of reads over which the stretches are spread."""
COMMON = 0.05
"""The least frequency of the rarer allele."""
FEWEST = 500
"""Common variants, below which nobody is judged by them."""
MOST_PEOPLE = 20_000
"""People, above which pairs are looked for only where a cutoff is given: pairs grow with the square."""
FAR, LEAST = 6, 0.1
"""An F stands out that is so many deviations, and at least so much, from the median."""
AT_ONCE = 256  # people whose pairs a thread looks for in one go
BINS = 12


@dataclass(frozen=True, eq=False)
class _Calls:
    """Calls of m common variants of n people: bits as `unpooled.kernels.kinship` wants them."""

    het: np.ndarray
    first: np.ndarray
    second: np.ndarray
    inbreeding: np.ndarray
    """float64 (n,): F, the share of the expected heterozygous calls that a person lacks."""
    variants: int


def check_people(data: PlinkData, cutoff: float | None, report: Report) -> None:
    """Tell of pairs of people with at least this kinship, TWICE if None, and of odd heterozygosity."""
    fam = read_fam(data.options.samples, Report())
    kept = np.flatnonzero(data.samples.kept)
    try:
        calls = _look(data, kept)
    except DataProblem:  # told where the calls of all chromosomes are looked at
        return
    if fam is None or calls.variants < FEWEST:
        return
    about: dict[str, object] = {"common variants looked at": calls.variants}
    if cutoff is None and len(kept) > MOST_PEOPLE:
        about["related pairs"] = (
            f"not looked for among more than {MOST_PEOPLE:,} people without --king-cutoff"
        )
    else:
        least = TWICE if cutoff is None else cutoff
        about[f"pairs with a kinship of at least {least:g}"] = _tell_related(fam, kept, calls, least, report)
    _tell_heterozygosity(fam, kept, calls.inbreeding, report)
    about["distribution"] = _distribution(calls.inbreeding)
    report.summary["people"] = about


def _look(data: PlinkData, kept: np.ndarray) -> _Calls:
    autosomes = data.options.chr_set
    rows = data.variants.sorted_rows(lambda panel: (panel.chromosome >= 1) & (panel.chromosome <= autosomes))
    empty = np.zeros((len(kept), 0), np.uint64)
    planes = [[empty], [empty], [empty]]
    observed, expected, called = np.zeros((3, len(kept)))
    variants = 0
    for some in _blocks(rows):
        codes = codes_of(data.genotypes, some)[:, kept]
        there = codes != MISSING
        het, first = codes == HETEROZYGOUS, codes == HOMOZYGOUS_A1
        frequency = (2 * first.sum(axis=1) + het.sum(axis=1)) / np.maximum(2 * there.sum(axis=1), 1)
        common = (frequency >= COMMON) & (frequency <= 1 - COMMON)
        variants += int(np.count_nonzero(common))
        p, there, het, first = frequency[common], there[common], het[common], first[common]
        observed += het.sum(axis=0)
        expected += (2 * p * (1 - p)) @ there
        called += there.sum(axis=0)
        for plane, calls in zip(planes, (het, first, there & ~het & ~first), strict=True):
            plane.append(_bits(calls))
    het_bits, first_bits, second_bits = (np.concatenate(plane, axis=1) for plane in planes)
    inbreeding = 1 - observed / np.where(expected > 0, expected, np.nan)
    return _Calls(het_bits, first_bits, second_bits, inbreeding, variants)


def _blocks(rows: np.ndarray) -> Iterator[np.ndarray]:
    """The rows to read, in blocks that are each spread over the whole: the first screens all pairs."""
    found = [rows[stretch] for stretch in stretches(len(rows), STRETCHES, LENGTH)]
    for start in range(BLOCKS):
        if some := found[start::BLOCKS]:
            yield np.concatenate(some)


def _bits(calls: np.ndarray) -> np.ndarray:
    """bool (k, n) to uint64 (n, ceil(k/64)), a bit for each row."""
    packed = np.packbits(calls, axis=0, bitorder="little")
    whole = np.zeros((-(-len(packed) // 8) * 8, calls.shape[1]), np.uint8)
    whole[: len(packed)] = packed
    return np.ascontiguousarray(whole.T).view(np.uint64)


def _tell_related(fam: Fam, kept: np.ndarray, calls: _Calls, cutoff: float, report: Report) -> int:
    """Report the pairs with at least this kinship, and return their number."""

    def pairs_of(start: int) -> tuple[int, np.ndarray, np.ndarray]:
        stop = min(start + AT_ONCE, len(kept))
        return related(calls.het, calls.first, calls.second, start, stop, cutoff, EXAMPLES)

    # The kernel releases Python's lock, so that threads share the calls and run side by side.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(pairs_of, range(0, len(kept), AT_ONCE)))
    count = sum(each[0] for each in found)
    if not count:
        return 0
    pairs, kinship = (np.concatenate([each[part] for each in found])[:EXAMPLES] for part in (1, 2))
    lines = fam.tokens.line[kept[pairs]]
    named = [
        f"{fam.name(kept[i])} and {fam.name(kept[j])} ({value:.3f})"
        for (i, j), value in zip(pairs.tolist(), kinship.tolist(), strict=True)
    ]
    report.warning(
        Code.PEOPLE_RELATED,
        "two samples are one person, or twins"
        if cutoff >= TWICE
        else f"two people are related: their kinship is at least {cutoff:g}",
        file=fam.path,
        line=int(lines[0, 0]),
        read=named[0],
        expected=f"a kinship below {cutoff:g} (KING-robust; 0.5 for one person, 0.25 for siblings)",
        remedy="PLINK's tests take people for unrelated. List one of each pair with `plink2 --king-cutoff "
        f"{cutoff:g}`, and leave these out with --remove FILE.",
        count=count,
        examples=tuple(
            f"lines {first} and {second}: {name}"
            for (first, second), name in zip(lines.tolist(), named, strict=True)
        ),
    )
    return count


def _tell_heterozygosity(fam: Fam, kept: np.ndarray, inbreeding: np.ndarray, report: Report) -> None:
    median = np.nanmedian(inbreeding)
    deviation = 1.4826 * np.nanmedian(np.abs(inbreeding - median))
    rows = np.flatnonzero(np.abs(inbreeding - median) > max(LEAST, FAR * deviation))
    if not len(rows):
        return
    named = [f"{fam.name(kept[k])} (F {inbreeding[k]:.3f})" for k in rows[:EXAMPLES]]
    report.warning(
        Code.HETEROZYGOSITY,
        "a person has far more, or far fewer, heterozygous calls than the others",
        expected=f"F near {median:.3f}; below it the sample may be mixed with another, above it the person "
        "may be inbred or of other ancestry, or calls failed",
        remedy="Look at all variants with `plink2 --het`; leave out people with --remove FILE.",
        **fam.at(kept[rows], said=named),
    )


def _distribution(inbreeding: np.ndarray) -> dict[str, int]:
    """Return a histogram of F in BINS equal bins, keyed by each bin's lower end."""
    counts, ends = np.histogram(inbreeding[~np.isnan(inbreeding)], BINS)
    return {f"{end:.3g}": int(count) for end, count in zip(ends[:-1], counts, strict=True)}
