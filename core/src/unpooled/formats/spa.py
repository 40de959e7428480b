"""`.spa`: a line for each variant with a score, with P of the score test in two ways."""

from __future__ import annotations

from typing import BinaryIO

from unpooled.asking.question import Arrays
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Name, Real, Scaled, Text, Whole, write_table
from unpooled.kernels.statistics import scaled_p_value
from unpooled.panel.panel import Panel

_DIGITS = 6
_P = {"P_SCORE": "score_neg_log10_p", "P_SPA": "neg_log10_p"}


def write_spa(file: BinaryIO, panel: Panel, rows: Arrays) -> None:
    """Write the variants, tabs between columns; T is of copies of A1."""
    variants = Variants(panel, rows)

    def block(part: slice) -> list[Column]:
        p = {title: scaled_p_value(rows[name][part]) for title, name in _P.items()}
        return [
            Text("CHR", 0, variants.chromosome(part).values),
            Name("SNP", 0, variants.name(part).values),
            Whole("BP", 0, variants.position(part).values),
            Text("A1", 0, variants.a1(part).values),
            Whole("N", 0, rows["n"][part]),
            Real("T", 0, rows["score"][part], digits=_DIGITS),
            Real("VAR", 0, rows["score_variance"][part], digits=_DIGITS),
            *(Scaled(title, 0, each, digits=_DIGITS, down=down) for title, (each, down) in p.items()),
        ]

    write_table(file, len(variants), block, variants.pool, separator=b"\t")
