"""What result tables of one phenotype of several are called."""

from __future__ import annotations

from unpooled.procedure import Rows


def ending(phenotype: str) -> str:
    """What the names of its tables end with. Names of phenotypes hold no space, so no other's do."""
    return f" of {phenotype}"


def of_several(rows: Rows, phenotype: str) -> Rows:
    """Rows of a table of this phenotype."""
    return Rows(rows.table + ending(phenotype), rows.columns)
