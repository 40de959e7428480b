"""Frequencies of alleles beside a reference's: strands, builds and mixed-up files show there.

The reference is what `plink2 --freq` (.afreq) or `plink1.9 --freq` (.frq) writes of other people, or the .frq
of a study that this cohort was in. Variants are found by their IDs, on autosomes only: on X the frequency
depends on how many men there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.errors import DataProblem
from unpooled.kernels.counts import count_genotypes, group_masks
from unpooled.kernels.dosages import COPY, count_dosages
from unpooled.memory import tokenizer
from unpooled.memory.tokenizer import Tokens
from unpooled.panel.alleles import capital, crossed, is_ambiguous
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, shown
from unpooled_client.data.findings.source import enough_columns, select
from unpooled_client.data.plink.variants import Variants
from unpooled_client.data.samples.numbers import read_numbers
from unpooled_client.data.samples.table import words_of

WHAT = "the --read-freq file"
COLUMNS = ((b"ID", b"ALT", b"REF", b"ALT_FREQS", b"OBS_CT"), (b"SNP", b"A1", b"A2", b"MAF", b"NCHROBS"))
"""An ID, two alleles, the frequency of the first and how many were counted, as plink2 and PLINK 1.9 say."""
FAR = 0.2
"""A difference that neither chance nor ancestry explains for many variants."""
ERRORS = 5
"""Standard errors that no difference is beyond by chance, of a million variants or so."""
OTHER_ALLELES = (
    Code.ALLELES_DIFFER,
    "the alleles of a variant are not those of the reference, on either strand",
    "Is it the same build and the same kind of file? Variants with other alleles than at other cohorts are "
    "left out of the study.",
)
OTHER_STRAND = (
    Code.STRAND,
    "an A/T or C/G variant has the frequency of its other allele: it is probably on the other strand",
    "Only frequencies tell the strands of such variants apart. Flip them with `plink1.9 --flip FILE`, or "
    "leave them out with --exclude FILE.",
)
OTHER_FREQUENCY = (
    Code.FREQUENCY,
    f"the frequency of an allele is more than {FAR:g} from the reference's",
    "Was it genotyped badly, or is the reference of other ancestry? Leave variants out with --exclude FILE.",
)

AT_ONCE = 1 << 23  # bytes of genotypes
_LIMITS = (0.0, 0.01, 0.02, 0.05, 0.1, FAR, 1.0)


@dataclass(frozen=True, eq=False)
class Reference:
    """Frequencies of k variants, of two alleles each."""

    name: np.ndarray
    alleles: tuple[bytes, ...]
    a1: np.ndarray
    """uint32 (k,), as `a2`: an allele's number."""
    a2: np.ndarray
    frequency: np.ndarray
    """float64 (k,): of the first allele."""
    counted: np.ndarray
    """float64 (k,): alleles, of both kinds."""


def check_frequencies(data: PlinkData, path: Path, report: Report) -> None:
    """Compare with a reference; the report hears which variants differ, and how many."""
    reference = _read(path, report)
    if reference is None:
        return
    mine, theirs = _in_both(data, reference)
    if not len(mine):
        _tell_of_other_ids(data, reference, path, report)
    expected, has_same = expected_of(data.variants, mine, reference, theirs)
    about: dict[str, object] = {
        "autosomal variants in both": len(mine),
        "with other alleles": int(np.count_nonzero(~has_same)),
    }
    _tell(data, mine[~has_same], {}, OTHER_ALLELES, report)
    mine, theirs, expected = mine[has_same], theirs[has_same], expected[has_same]
    try:
        observe = dosed_in if data.genotypes.has_dosages else observed_in  # as plink2 --freq does
        observed, counted = observe(data, mine)
    except DataProblem:  # told where the calls of all chromosomes are looked at
        return
    known = (counted > 0) & (reference.counted[theirs] > 0)
    if known.any():
        mine, theirs, expected = mine[known], theirs[known], expected[known]
        observed, counted = observed[known], counted[known]
        _tell_far(data, mine, observed, expected, report)
        error = _standard_error(observed, counted, expected, reference.counted[theirs])
        beyond = np.abs(observed - expected) > ERRORS * error
        about[f"that differ by more than {ERRORS} standard errors"] = int(np.count_nonzero(beyond))
        kind = np.searchsorted(_LIMITS, np.abs(observed - expected)).clip(1)
        about["distribution"] = {
            f"to {limit:g}": int(np.count_nonzero(kind == k)) for k, limit in enumerate(_LIMITS) if k
        }
    report.summary["frequencies"] = about


def _tell_of_other_ids(data: PlinkData, reference: Reference, path: Path, report: Report) -> None:
    report.warning(
        Code.FREQUENCY,
        "no autosomal variant has the same ID here and in the reference: nothing was compared",
        file=path,
        read=shown(bytes(reference.name[0])) if len(reference.name) else None,
        expected=f"IDs as in {data.options.variants.name}, such as {shown(bytes(data.panel.name[0]))}",
        remedy="Name the variants of both alike, e.g. with `plink2 --set-all-var-ids '@:#:$1:$2'`.",
    )


def _tell_far(
    data: PlinkData, mine: np.ndarray, observed: np.ndarray, expected: np.ndarray, report: Report
) -> None:
    """Tell of variants of other frequency, and apart of those that are probably on the other strand."""
    far = np.abs(observed - expected) > FAR
    flipped = far & _ambiguous(data.variants, mine) & (np.abs(1 - observed - expected) <= FAR)
    values = {
        int(k): f"{ours:.3f}, reference {other:.3f}"
        for k, ours, other in zip(mine[far], observed[far], expected[far], strict=True)
    }
    _tell(data, mine[flipped], values, OTHER_STRAND, report)
    _tell(data, mine[far & ~flipped], values, OTHER_FREQUENCY, report)


def _read(path: Path, report: Report) -> Reference | None:
    """The reference; None where it cannot be read, and the report says why."""
    tokens = words_of(path, WHAT, report)
    if tokens is None:
        return None
    header = [tokens.word(0, j) for j in range(tokens.widths[0])]
    wanted = next((names for names in COLUMNS if set(names) <= set(header)), None)
    if wanted is None:
        report.error(
            Code.HEADER,
            f"{WHAT} is none of PLINK's lists of frequencies",
            file=path,
            line=1,
            read=shown(b" ".join(header[:6])),
            expected=" or ".join(b" ".join(names).decode() for names in COLUMNS),
            remedy="Write it with `plink2 --freq`.",
        )
        return None
    rows = select(tokens, np.arange(len(tokens)) > 0)
    rows = enough_columns(rows, len(header), path, WHAT, b" ".join(header).decode(), report)
    name, a1, a2, frequency, observed = (header.index(column) for column in wanted)
    values, counted = (read_numbers(rows, column).values for column in (frequency, observed))
    good = (values >= 0) & (values <= 1)  # several alternate alleles have several numbers
    rows, values, counted = select(rows, good), values[good], counted[good]
    table: dict[bytes, int] = {}
    first, second = (_codes(rows, column, table) for column in (a1, a2))
    return Reference(
        tokenizer.strings(rows.text, *rows.column(name)), tuple(table), first, second, values, counted
    )


def _codes(rows: Tokens, column: int, table: dict[bytes, int]) -> np.ndarray:
    code, words = tokenizer.distinct(rows.text, *rows.column(column))
    return np.array([table.setdefault(capital(word), len(table)) for word in words], np.uint32)[code]


def _in_both(data: PlinkData, reference: Reference) -> tuple[np.ndarray, np.ndarray]:
    """The autosomal variants whose ID stands once in both: their places in the panel and in the reference."""
    panel = data.panel
    autosomal = np.flatnonzero((panel.chromosome >= 1) & (panel.chromosome <= data.options.chr_set))
    ours, first, times = np.unique(panel.name[autosomal], return_index=True, return_counts=True)
    theirs, first_there, times_there = np.unique(reference.name, return_index=True, return_counts=True)
    # Each name stands once in both, so that they need not be made distinct again.
    _, here, there = np.intersect1d(ours[times == 1], theirs[times_there == 1], True, return_indices=True)
    mine = autosomal[first[times == 1][here]]
    order = np.argsort(mine)
    return mine[order], first_there[times_there == 1][there][order]


def expected_of(
    variants: Variants, mine: np.ndarray, reference: Reference, theirs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The reference's frequency of the panel's first allele, and whether the alleles are the same."""
    panel, given = variants.panel, reference.frequency[theirs]
    pairs = np.stack(
        [panel.first[mine], panel.second[mine], reference.a1[theirs], reference.a2[theirs]], axis=1
    )
    cases, which = np.unique(pairs, axis=0, return_inverse=True)
    has_same, is_of_first = np.ones((2, len(cases)), bool)  # imputed indels are of very many alleles
    for k, (first, second, a1, a2) in enumerate(cases.tolist()):
        one, other = reference.alleles[a1], reference.alleles[a2]
        is_crossed = crossed(
            (min(one, other), max(one, other)), (panel.alleles[first], panel.alleles[second])
        )
        has_same[k], is_of_first[k] = is_crossed is not None, (one <= other) != bool(is_crossed)
    return np.where(is_of_first[which], given, 1 - given), has_same[which]


def observed_in(data: PlinkData, mine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The frequency of the panel's first allele among the people who are kept, and how many were counted."""
    masks = group_masks(data.samples.kept[None, :])

    def count(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = count_genotypes(data.genotypes.words(rows), masks)[:, 0]
        return 2 * counts[:, 0] + counts[:, 1], 2 * counts.sum(axis=1)

    return _in_blocks(data, mine, len(data.samples) // 4, count)


def dosed_in(data: PlinkData, mine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by dosages: the mean share of the panel's first allele, and of how many alleles."""

    def count(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        people, copies, _ = count_dosages(data.genotypes.dosages(rows), data.samples.kept[None, :])[:, 0].T
        return copies / COPY, 2 * people

    return _in_blocks(data, mine, 2 * len(data.samples), count)


def _in_blocks(
    data: PlinkData,
    mine: np.ndarray,
    row_bytes: int,
    count: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Have copies of A1, and alleles, counted in a few rows at once: all would not fit in memory."""
    found, alleles = np.empty(len(mine)), np.empty(len(mine))
    at_once = max(1, AT_ONCE // max(1, row_bytes))
    for start in range(0, len(mine), at_once):
        some, here = mine[start : start + at_once], slice(start, start + at_once)
        copies, alleles[here] = count(data.variants.row[some])
        of_a1 = copies / np.where(alleles[here] > 0, alleles[here], np.nan)
        found[here] = np.where(data.variants.a1_is_first[some], of_a1, 1 - of_a1)
    return found, alleles


def _standard_error(
    one: np.ndarray, of_one: np.ndarray, other: np.ndarray, of_other: np.ndarray
) -> np.ndarray:
    """Return the standard error of the difference of two frequencies, from the pooled proportion and each
    one's number of alleles.

    Where one is part of the other, as of the pool, it is too large, so that fewer differences are beyond it.
    """
    both = (one * of_one + other * of_other) / (of_one + of_other)
    return np.asarray(np.sqrt(both * (1 - both) * (1 / of_one + 1 / of_other)))


def _ambiguous(variants: Variants, mine: np.ndarray) -> np.ndarray:
    """Mark the variants that look the same on both strands, bool (k,)."""
    panel = variants.panel
    pairs, which = np.unique(
        np.stack([panel.first[mine], panel.second[mine]], 1), axis=0, return_inverse=True
    )
    kinds = [is_ambiguous((panel.alleles[first], panel.alleles[second])) for first, second in pairs.tolist()]
    return np.array(kinds, bool)[which] if len(mine) else np.zeros(0, bool)


def _tell(
    data: PlinkData, which: np.ndarray, values: dict[int, str], said: tuple[Code, str, str], report: Report
) -> None:
    """Tell what is said, code, message and remedy, of some variants, if there are any."""
    if not len(which):
        return
    code, message, remedy = said
    examples = []
    for k in which[:EXAMPLES].tolist():
        first, second = data.panel.pair(k)
        value = f": {values[k]}" if k in values else ""
        examples.append(f"{shown(bytes(data.panel.name[k]))} {shown(first)}/{shown(second)}{value}")
    report.warning(
        code,
        message,
        file=data.options.variants,
        read=examples[0],
        remedy=remedy,
        count=len(which),
        examples=tuple(examples),
    )
