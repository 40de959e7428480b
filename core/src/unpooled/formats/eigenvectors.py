"""plink2's files of principal components: `.eigenval`, `.eigenvec.allele` (`--pca allele-wts`), `.acount`.

Beside them `.eigenval.error` says how exactly each component is known: plink2's has one number a line.

With both of the last, `plink2 --read-freq X.acount --score X.eigenvec.allele 2 5 header-read
no-mean-imputation variance-standardize --score-col-nums 6-15` projects anybody. plink2 counts each allele
apart: a weight is half the loading, times √m for m variants. Numbers have all their digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.errors import UnpooledError
from unpooled.formats.glm import chromosome_names
from unpooled.formats.layout import Layout
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Name, Text, Whole, write_table
from unpooled.panel.chromosomes import chromosome_code
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import MOST_COMPONENTS
from unpooled.plan.plan import component_titles as titles

_ALLELES = ("REF", "ALT")
_OF_WEIGHTS = ("#CHROM", "ID", *_ALLELES, "A1")
_OF_ERRORS = ("#EIGENVALUE", "TIMES_NEXT", "ERROR", "STANDS_OUT")
_OF_COUNTS = ("#CHROM", "POS", "ID", *_ALLELES, "ALT_CTS", "OBS_CT")


def write_eigenval(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """Write the column `eigenvalue`, one a line."""
    file.write(b"".join(number + b"\n" for number in exactly(rows["eigenvalue"][:])))


def write_errors(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """Write a line for each component: from the columns `eigenvalue`, `following`, `error`, `stands_out`."""
    values = rows["eigenvalue"][:]
    columns = [*map(exactly, (values, values / rows["following"][:], rows["error"][:]))]
    flags = rows["stands_out"][:].astype(np.uint8).astype("S1")
    lines = [[head.encode() for head in _OF_ERRORS], *zip(*columns, flags, strict=True)]
    file.write(b"".join(b"\t".join(line) + b"\n" for line in lines))


def write_allele_weights(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """Write the loadings of A1, which is the ALT, from the columns `variant`, `first_is_a1`, `PC1`, ... ."""
    variants = Variants(panel, rows, chromosome_names(layout.autosomes))
    components = [name for name in titles(MOST_COMPONENTS) if name in rows]
    m = len(rows["variant"])

    def block(part: slice) -> list[Column]:
        row = np.arange(part.start, part.stop)
        variant, is_alt = row // 2, row % 2 == 1
        code = panel.chromosome[rows["variant"][variant]].astype(np.int64)
        ref, alt = variants.a2(variant).values, variants.a1(variant).values
        sign = np.where(is_alt, 0.5, -0.5) * np.sqrt(m)
        columns: list[Column] = [
            Text("#CHROM", 0, variants.labels + code),
            Name("ID", 0, variants.name(variant).values),
            *(Text(title, 0, values) for title, values in zip(_ALLELES, (ref, alt), strict=True)),
            Text("A1", 0, np.where(is_alt, alt, ref)),
        ]
        return columns + [Name(title, 0, exactly(rows[title][variant] * sign)) for title in components]

    write_table(file, 2 * m, block, variants.pool, separator=b"\t")


def write_counts(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """Write allele counts from the columns `variant`, `first_is_a1`, `a1_count` and `allele_count`."""
    variants = Variants(panel, rows, chromosome_names(layout.autosomes))

    def block(part: slice) -> list[Column]:
        code = panel.chromosome[rows["variant"][part]].astype(np.int64)
        return [
            Text("#CHROM", 0, variants.labels + code),
            Whole("POS", 0, variants.position(part).values),
            Name("ID", 0, variants.name(part).values),
            Text("REF", 0, variants.a2(part).values),
            Text("ALT", 0, variants.a1(part).values),
            _count("ALT_CTS", rows["a1_count"][part]),
            _count("OBS_CT", rows["allele_count"][part]),
        ]

    write_table(file, len(rows["variant"]), block, variants.pool, separator=b"\t")


def _count(title: str, alleles: NDArray[Any]) -> Column:
    """A column of counts, which are whole but of dosages."""
    return Whole(title, 0, alleles) if alleles.dtype.kind in "iu" else Name(title, 0, exactly(alleles))


def exactly(numbers: NDArray[np.float64]) -> NDArray[np.bytes_]:
    """Each number in the fewest digits that are read as that number."""
    return np.array([repr(number).encode() for number in numbers.tolist()], "S32")


@dataclass(frozen=True, eq=False)
class Loadings:
    """k components of m variants, as a panel."""

    panel: Panel
    mean: NDArray[np.float64]
    """(m,): copies of the panel's first allele"""
    weights: NDArray[np.float64]
    """(m, k): of a copy of the panel's first allele about the mean; all people's sums have length 1"""

    @classmethod
    def read(cls, eigenval: bytes, allele_weights: bytes, counts: bytes, autosomes: int) -> Loadings:
        """UnpooledError names the line of a file that is not as the writers here write it."""
        values = np.array([float(word) for word in eigenval.split()])
        weights, counted = _Lines(allele_weights, _OF_WEIGHTS), _Lines(counts, _OF_COUNTS)
        m = len(counted)
        if weights.heads[len(_OF_WEIGHTS) :] != list(titles(len(values))) or len(weights) != 2 * m:
            raise UnpooledError("the files of components do not belong together")
        keys, p, of_alt = [], np.empty(m), np.empty((m, len(values)))
        for row, (line, with_weights) in enumerate(zip(counted, islice(weights, 1, None, 2), strict=True)):
            try:
                chromosome, position, name, ref, alt, copies, alleles = line
                if with_weights[1:5] != [name, ref, alt, alt]:
                    raise ValueError
                code = int(chromosome_code(chromosome, autosomes) or 0)
                keys.append((code, int(position), name.encode(), alt.encode(), ref.encode()))
                p[row] = float(copies) / float(alleles)
                of_alt[row] = [float(word) for word in with_weights[5:]]
            except (ValueError, ZeroDivisionError):
                raise UnpooledError(f"components, line {row + 2} of the counts: got {line}") from None
        panel = Panel.of(keys)
        at = {key[:3]: row for row, key in enumerate(keys)}
        places = (panel.chromosome.tolist(), panel.position.tolist(), panel.name.tolist())
        order = [at[place] for place in zip(*places, strict=True)]
        alt_is_first = np.array([keys[row][3] < keys[row][4] for row in order], bool)
        p, of_alt = p[order], of_alt[order]
        # Half a loading, times √m: a score of X v / √(m λ) for the eigenvalue λ of X X' / m.
        each = 2 * of_alt / (m * np.sqrt(2 * p * (1 - p)))[:, None] / np.sqrt(values)
        return cls(panel, 2 * np.where(alt_is_first, p, 1 - p), np.where(alt_is_first[:, None], each, -each))


class _Lines:
    """The lines behind the header, which must begin so; one at a time, for as words they are far larger."""

    def __init__(self, data: bytes, begin: tuple[str, ...]) -> None:
        head, _, self._rest = data.partition(b"\n")
        self.heads = head.decode().split("\t")
        if tuple(self.heads[: len(begin)]) != begin:
            raise UnpooledError(f"components: want the columns {', '.join(begin)}")

    def __len__(self) -> int:
        return self._rest.count(b"\n") + (not self._rest.endswith(b"\n") and bool(self._rest))

    def __iter__(self) -> Iterator[list[str]]:
        return (line.decode().rstrip("\n").split("\t") for line in BytesIO(self._rest))
