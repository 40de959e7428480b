"""`.susie`: a line for each variant of a locus, with susieR's words for what it says of it."""

from __future__ import annotations

from typing import BinaryIO

from unpooled.asking.question import Arrays
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Name, Real, Text, Whole, write_table
from unpooled.panel.panel import Panel

_SETS = {"CS_LOG10BF": "log10_bayes_factor", "CS_COVERAGE": "coverage", "CS_MIN_ABS_CORR": "purity"}


def write_susie(file: BinaryIO, panel: Panel, rows: Arrays) -> None:
    """Write the variants of each lead, tabs between columns; CS is 0 for those in no credible set."""
    leads, variants = Variants(panel, rows), Variants(panel, {**rows, "variant": rows["other"]})

    def block(part: slice) -> list[Column]:
        return [
            Name("LEAD", 0, leads.name(part).values),
            Text("CHR", 0, variants.chromosome(part).values),
            Name("SNP", 0, variants.name(part).values),
            Whole("BP", 0, variants.position(part).values),
            Text("A1", 0, variants.a1(part).values),
            Real("PIP", 0, rows["pip"][part], digits=6),
            Whole("CS", 0, rows["credible_set"][part]),
            *(Real(title, 0, rows[name][part], digits=6) for title, name in _SETS.items()),
        ]

    write_table(file, len(leads), block, variants.pool, separator=b"\t")
