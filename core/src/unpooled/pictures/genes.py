"""Genes beside a picture: those in a region, those of a name, and the one next to a variant."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from unpooled.formats.genes import CODING, Gene

FEW = 400
"""Genes that a picture can show."""
NEAR = 500_000
"""Base pairs to the farthest gene that is said to be next to a variant."""

SEPARATOR = ", "


@dataclass(frozen=True)
class Genes:
    """Genes in the order of the genome."""

    all: Sequence[Gene]
    source: str

    def within(self, chromosome: str, first: int, last: int) -> list[Gene]:
        """The genes that reach into a region."""
        genes, starts, longest = self._of(chromosome)
        low, high = bisect_left(starts, first - longest), bisect_right(starts, last)
        return [gene for gene in genes[low:high] if gene.end >= first]

    def named(self, text: str, most: int) -> list[Gene]:
        """Genes of this name, in any case of its letters, before those whose names begin with it."""
        wanted = text.upper()
        names = self._names
        start = bisect_left(names, (wanted, 0))
        found = []
        for name, place in names[start : start + most]:
            if not name.startswith(wanted):
                break
            found.append(self.all[place])
        return found

    def next_to(self, chromosome: str, position: int) -> tuple[str, int | None]:
        """The genes that a variant lies in, else the nearest within `NEAR`, and the base pairs to it; those
        that code for proteins go first. An empty name and None where there is none."""
        around = self.within(chromosome, position - NEAR, position + NEAR)
        for genes in ([gene for gene in around if gene.kind == CODING], around):
            inside = [gene.name for gene in genes if gene.start <= position <= gene.end]
            if inside:
                return SEPARATOR.join(dict.fromkeys(inside)), 0
        nearest = min(around, key=lambda gene: (gene.kind != CODING, _away(gene, position)), default=None)
        return (nearest.name, _away(nearest, position)) if nearest else ("", None)

    def _of(self, chromosome: str) -> tuple[Sequence[Gene], Sequence[int], int]:
        """The genes of a chromosome, their starts, and the length of the longest."""
        # XY stands for where X and Y are the same: a table has its genes on X.
        return self._by_chromosome.get("X" if chromosome == "XY" else chromosome, ((), (), 0))

    @cached_property
    def _by_chromosome(self) -> dict[str, tuple[list[Gene], list[int], int]]:
        parts: dict[str, list[Gene]] = {}
        for gene in self.all:
            parts.setdefault(gene.chromosome, []).append(gene)
        return {
            name: (genes, [gene.start for gene in genes], max(gene.end - gene.start for gene in genes))
            for name, genes in parts.items()
        }

    @cached_property
    def _names(self) -> list[tuple[str, int]]:
        return sorted((gene.name.upper(), place) for place, gene in enumerate(self.all))


def _away(gene: Gene, position: int) -> int:
    """Base pairs from a gene to a position outside of it."""
    return max(gene.start - position, position - gene.end, 0)
