"""The PGS Catalog's scoring file, format 2.0 (Lambert and others 2021): a line for each variant of a score.

`plink2 --score FILE 1 4 6` takes it as it is: lines of the header name no variant. So that they have as many
words as plink2 looks for, the first, which plink2 counts, is the Catalog's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.errors import UnpooledError
from unpooled.formats.eigenvectors import exactly
from unpooled.formats.layout import Layout
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Name, Text, write_table
from unpooled.panel.chromosomes import chromosome_code
from unpooled.panel.panel import Panel

_FIRST = (
    "###PGS CATALOG SCORING FILE - see https://www.pgscatalog.org/downloads/#dl_ftp_scoring for additional "
    "information"
)
COLUMNS = (
    "rsID",
    "chr_name",
    "chr_position",
    "effect_allele",
    "other_allele",
    "effect_weight",
    "allelefrequency_effect",
)


def write_scoring_file(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """Write the columns `variant`, `first_is_a1`, `weight` and `a1_freq`, in the order of the panel."""
    head = [
        _FIRST,
        "#format_version=2.0",
        "##POLYGENIC SCORE (PGS) INFORMATION",
        f"#pgs_name={layout.phenotype}",
        f"#trait_reported={layout.phenotype}",
        f"#genome_build={layout.build}",
        f"#variants_number={len(rows['variant'])}",
        "#weight_type=beta",
    ]
    file.write(("\n".join(head) + "\n").encode())
    variants = Variants(panel, rows)

    def block(part: slice) -> list[Column]:
        name, chromosome, position, effect, other, weight, frequency = COLUMNS
        return [
            Name(name, 0, variants.name(part).values),
            Text(chromosome, 0, variants.chromosome(part).values),
            Name(position, 0, panel.position[rows["variant"][part]].astype("S")),
            Text(effect, 0, variants.a1(part).values),
            Text(other, 0, variants.a2(part).values),
            Name(weight, 0, exactly(rows["weight"][part])),
            Name(frequency, 0, exactly(rows["a1_freq"][part])),
        ]

    write_table(file, len(rows["variant"]), block, variants.pool, separator=b"\t")


@dataclass(frozen=True, eq=False)
class ScoringFile:
    """The variants of a score, m, as a panel."""

    panel: Panel
    mean: NDArray[np.float64]
    """(m,): copies of the panel's first allele, by the file's frequencies"""
    weight: NDArray[np.float64]
    """(m,): of a copy of the panel's first allele"""
    middle: float
    """The score of somebody with the mean copies of each variant."""

    @classmethod
    def read(cls, data: bytes, autosomes: int) -> ScoringFile:
        """UnpooledError names the line of a file that is not as `write_scoring_file` writes it."""
        lines = [line.split("\t") for line in data.decode().splitlines() if not line.startswith("#")]
        if not lines or tuple(lines[0]) != COLUMNS:
            raise UnpooledError(f"a scoring file: want the columns {', '.join(COLUMNS)}")
        rows = []
        for number, line in enumerate(lines[1:], 1):
            try:
                name, chromosome, position, effect, other, weight, frequency = line
                code = chromosome_code(chromosome, autosomes)
                row = (int(code or 0), int(position), name.encode(), effect.encode(), other.encode())
                rows.append((*row, float(weight), float(frequency)))
            except ValueError:
                raise UnpooledError(f"a scoring file, variant {number}: got {line}") from None
        panel = Panel.of(row[:5] for row in rows)
        found = {row[:3]: row for row in rows}
        keys = (panel.chromosome.tolist(), panel.position.tolist(), panel.name.tolist())
        ordered = [found[key] for key in zip(*keys, strict=True)]
        is_first = np.array([row[3] < row[4] for row in ordered], bool)
        weights, frequencies = (np.array([row[k] for row in ordered], float) for k in (5, 6))
        return cls(
            panel,
            2 * np.where(is_first, frequencies, 1 - frequencies),
            np.where(is_first, weights, -weights),
            float(2 * frequencies @ weights),
        )
