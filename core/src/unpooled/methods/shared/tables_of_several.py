"""Names of the result tables of one phenotype of several."""

from __future__ import annotations

from unpooled.asking.procedure import Rows


def ending(phenotype: str) -> str:
    """Return the end of its tables' names. Names of phenotypes hold no space, so no other's end the same."""
    return f" of {phenotype}"


def of_several(rows: Rows, phenotype: str) -> Rows:
    """Rows of a table of this phenotype."""
    return Rows(rows.table + ending(phenotype), rows.columns)
