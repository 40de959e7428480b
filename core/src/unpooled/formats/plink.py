"""PLINK 1.9's reports `.assoc`, `.frq`, `.lmiss` and `.hwe`, the same in every byte.

Each writer takes an open binary file, the panel, the result columns (one entry per variant of the result;
`variant` is the panel index; `GenotypeTable.columns` says what the others are) and the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats import titles
from unpooled.formats.association_tests import Which
from unpooled.formats.layout import Layout
from unpooled.formats.table import Column, Name, Pool, Real, Slashed, Text, Whole, blocks, write_table
from unpooled.kernels.statistics import chi_square_p_value, odds_ratio_interval
from unpooled.panel.panel import Panel

Floats = NDArray[np.float64]
Counts = NDArray[np.integer]


def name_width(lengths: Iterable[Counts]) -> int:
    """Width of PLINK's SNP column for IDs of these lengths, given in pieces, in the order of the panel.

    It starts at 4, and an ID that is longer than the width so far widens it to its own length plus two.
    So the width depends on the order of the IDs.
    """
    width = 4
    for part in lengths:
        for length in np.unique(np.maximum.accumulate(part)).tolist():
            if length > width:
                width = length + 2
    return width


class Variants:
    """The columns that say which variant a row is about; each looks up only the rows that it is asked for."""

    def __init__(self, panel: Panel, rows: Arrays, labels: Sequence[bytes] = ()) -> None:
        codes = [b"%d" % code for code in range(256)]
        self.pool, (_, self._alleles, self.labels) = Pool.of(codes, panel.alleles, labels)
        self._panel, self._rows = panel, rows
        # By all IDs of the panel, those that no line is about included.
        self.width = name_width(np.strings.str_len(panel.name[part]) for part in blocks(len(panel)))

    def __len__(self) -> int:
        return len(self._rows["variant"])

    def chromosome(self, part: Which) -> Text:
        return Text(
            titles.CHROMOSOME.plink, 4, self._panel.chromosome[self._rows["variant"][part]].astype(np.int64)
        )

    def name(self, part: Which) -> Name:
        return Name(titles.NAME.plink, self.width, self._panel.name[self._rows["variant"][part]])

    def position(self, part: Which) -> Whole:
        return Whole(titles.POSITION.plink, 10, self._panel.position[self._rows["variant"][part]])

    def a1(self, part: Which) -> Text:
        return Text(titles.A1.plink, 4, self._allele(part, self._rows["first_is_a1"][part]))

    def a2(self, part: Which) -> Text:
        return Text(titles.A2.plink, 4, self._allele(part, ~self._rows["first_is_a1"][part]))

    def _allele(self, part: Which, is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
        variant = self._rows["variant"][part]
        alleles = np.where(is_first, self._panel.first[variant], self._panel.second[variant])
        return alleles.astype(np.int64) + self._alleles


def _share(part: Counts, rest: Counts) -> Floats:
    """`part / (part + rest)`; NaN of nothing at all."""
    with np.errstate(invalid="ignore"):
        share: Floats = np.true_divide(part, part + rest)
        return share


def _nowhere(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark no value as missing: one that is not a number prints as such."""
    return np.zeros(len(values), bool)


def write_assoc(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """`.assoc`. If the layout has limits (such as 0.95) also the odds ratio's standard error and limits."""
    variants = Variants(panel, rows)
    level = layout.limits

    def block(part: slice) -> list[Column]:
        table = [rows[name][part] for name in ("case_a1", "case_a2", "control_a1", "control_a2")]
        columns: list[Column] = [
            variants.chromosome(part),
            variants.name(part),
            variants.position(part),
            variants.a1(part),
            Real("F_A", 8, _share(*table[:2])),
            Real("F_U", 8, _share(*table[2:])),
            variants.a2(part),
            Real(titles.CHI_SQUARE.plink, 12, rows["chi_square"][part]),
            Real(titles.P.plink, 12, chi_square_p_value(rows["neg_log10_p"][part], rows["chi_square"][part])),
            Real(titles.ODDS_RATIO.plink, 12, rows["odds_ratio"][part]),
        ]
        return columns + (_limits(table, level) if level else [])

    write_table(file, len(variants), block, variants.pool, header_ending=b" \n", ending=b" \n")


def _limits(table: Sequence[Counts], level: float) -> list[Column]:
    case_a1, case_a2, control_a1, control_a2 = (counts.astype(np.int64) for counts in table)
    ratio_is_missing = case_a2 * control_a1 == 0
    limits = odds_ratio_interval(case_a1, case_a2, control_a1, control_a2, level)
    return [
        Real(title, 12, limit, ratio_is_missing)
        for title, limit in zip((titles.SE.plink, *titles.of_limits(level)), limits, strict=True)
    ]


def write_frq(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """`.frq`: A1's frequency in founders (everyone with `--nonfounders`) and how many alleles were seen."""
    variants = Variants(panel, rows)

    def block(part: slice) -> list[Column]:
        a1, a2 = rows["founder_a1"][part], rows["founder_a2"][part]
        return [
            variants.chromosome(part),
            variants.name(part),
            variants.a1(part),
            variants.a2(part),
            # One minus the share of A2, not the share of A1: the last bit decides how a half is rounded.
            Real(titles.FREQUENCY.plink, 12, 1.0 - _share(a2, a1)),
            Whole(titles.ALLELES.plink, 8, a1 + a2),
        ]

    write_table(file, len(variants), block, variants.pool)


def write_lmiss(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """`.lmiss`: missing calls among all people, on Y among men."""
    variants = Variants(panel, rows)

    def block(part: slice) -> list[Column]:
        missing, people = rows["missing"][part], rows["people"][part]
        return [
            variants.chromosome(part),
            variants.name(part),
            Whole("N_MISS", 8, missing),
            Whole("N_GENO", 8, people),
            Real("F_MISS", 8, _share(missing, people - missing), _nowhere(people)),
        ]

    write_table(file, len(variants), block, variants.pool)


_HWE_ROWS = {"all": b"ALL", "case": b"AFF", "control": b"UNAFF"}
_HWE_QUANTITATIVE = {"all": b"ALL(QT)"}


def write_hwe(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """`.hwe`: genotypes and the exact test, for each variant in everyone, in cases, in controls."""
    about = _HWE_QUANTITATIVE if layout.trait == "quantitative" else _HWE_ROWS
    count = len(about)
    variants = Variants(panel, rows, tuple(about.values()))

    def block(lines: slice) -> list[Column]:
        part = slice(lines.start // count, -(-lines.stop // count))  # the variants that these lines are about
        inside = slice(lines.start - count * part.start, lines.stop - count * part.start)

        def each(column: Text | Name) -> Text | Name:
            values: Any = np.repeat(column.values, count)[inside]
            return replace(column, values=values)

        def every(name: str) -> NDArray[Any]:
            return np.stack([rows[f"{row}_{name}"][part] for row in about], axis=1).reshape(-1)[inside]

        genotypes = np.stack([every(name) for name in ("hom_a1", "het", "hom_a2")]).astype(np.int64)
        p = every("hwe_p")
        no_test = np.isnan(p)
        observed, expected = _heterozygosity(*genotypes)
        return [
            each(variants.chromosome(part)),
            each(variants.name(part)),
            Text("TEST", 8, np.tile(np.arange(count) + variants.labels, part.stop - part.start)[inside]),
            each(variants.a1(part)),
            each(variants.a2(part)),
            Slashed("GENO", 20, genotypes),
            Real("O(HET)", 8, np.where(no_test, np.nan, observed), _nowhere(p)),
            Real("E(HET)", 8, np.where(no_test, np.nan, expected), _nowhere(p)),
            Real("P", 12, np.where(no_test, 1.0, p)),
        ]

    write_table(file, count * len(variants), block, variants.pool, header_ending=b" \n")


def _heterozygosity(hom_a1: Counts, het: Counts, hom_a2: Counts) -> tuple[Floats, Floats]:
    """Observed and expected share of heterozygotes; NaN without a genotype."""
    with np.errstate(divide="ignore", invalid="ignore"):
        per_allele = 1.0 / (2 * (hom_a1 + het + hom_a2))
        observed = 2 * het * per_allele
        expected = (2 * hom_a1 + het) * per_allele * (2 * hom_a2 + het) * per_allele * 2
    return observed, expected


WRITERS: dict[str, Callable[[BinaryIO, Panel, Arrays, Layout], None]] = {
    "assoc": write_assoc,
    "frq": write_frq,
    "lmiss": write_lmiss,
    "hwe": write_hwe,
}
