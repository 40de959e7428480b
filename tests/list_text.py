"""A list of variants as text: a line for each, its five words between tabs, in canonical order.

Chromosome code, position, ID and the two alleles, sorted.
"""

from __future__ import annotations

from unpooled.panel.panel import Panel


def write(panel: Panel) -> bytes:
    """The text of a panel that is not large."""
    columns = (panel.chromosome, panel.position, panel.name, panel.first, panel.second)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    alleles = panel.alleles
    return b"".join(b"%d\t%d\t%b\t%b\t%b\n" % (c, p, n, alleles[f], alleles[s]) for c, p, n, f, s in rows)
