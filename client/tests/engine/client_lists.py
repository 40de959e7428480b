"""A list of variants as tuples, to be compared with what a slow, clear reading finds."""

from __future__ import annotations

from typing import Any

from unpooled_client.data.plink.variants import Variants


def rows(variants: Variants) -> list[tuple[Any, ...]]:
    """Chromosome, position, ID, first, second, bed row, A1 is first."""
    panel = variants.panel
    return [
        (
            int(panel.chromosome[k]),
            int(panel.position[k]),
            bytes(panel.name[k]),
            *panel.pair(k),
            int(variants.row[k]),
            bool(variants.a1_is_first[k]),
        )
        for k in range(len(panel))
    ]
