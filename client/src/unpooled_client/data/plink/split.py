"""Rows of several alternate alleles, each read as one variant for every such allele.

Someone has as many copies as their call has of that allele, and all other alleles count as the reference, as
after `plink2 --make-pgen multiallelics=-` (tried with v2.00a3.5). Variants are numbered through the file as
if every row were split: a row's alternate alleles follow one another in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unpooled.panel.alleles import UNSEEN, capital

MOST = 254
"""Alternate alleles of a row in a .pgen at most."""


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of a file that have several alternate alleles."""

    further: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    """int32 (k,), ascending: the row of each alternate allele that is not its row's first."""

    def __len__(self) -> int:
        return len(self.further)

    def first(self, rows: np.ndarray) -> np.ndarray:
        """Number the first variant of each row, (k,)."""
        return np.asarray(rows + np.searchsorted(self.further, rows))

    def places(self, variants: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give each variant's row, int64 (k,), the number of its allele, from 1, and if the row has several.

        `variants`: their numbers, int64 (k,).
        """
        if not len(self):
            return variants, np.ones(len(variants), np.int64), np.zeros(len(variants), bool)
        own = self.further + np.arange(1, len(self) + 1)
        rows = variants - np.searchsorted(own, variants, "right")
        alleles = 1 + variants - self.first(rows)
        others = np.searchsorted(self.further, rows, "right") - np.searchsorted(self.further, rows)
        return rows, alleles, others > 0

    def offsets(self, rows: int) -> np.ndarray | None:
        """Count the alleles before each of the file's rows and its end, for Pgenlib; None if all have two."""
        if not len(self):
            return None
        start = np.arange(rows + 1)
        return np.asarray(2 * start + np.searchsorted(self.further, start), np.uintp)


WHOLE = Split()
"""No row has several."""


def copies_of(alternates: np.ndarray) -> tuple[slice | np.ndarray, np.ndarray | None]:
    """Number the line of each variant, and which of the line's `alternates`, (lines,), its allele is.

    All lines and None where each has but one.
    """
    if not (alternates > 1).any():
        return np.s_[:], None
    line = np.repeat(np.arange(len(alternates)), alternates)
    return line, np.arange(len(line)) - (np.cumsum(alternates) - alternates)[line]


def misspelt(word: bytes) -> str:
    """Say what is wrong with alternate alleles with commas between; empty if nothing is."""
    alleles = [capital(allele) for allele in word.split(b",")]
    if not {b"", b".", UNSEEN}.isdisjoint(alleles):
        return "an alternate allele is empty"
    if len(set(alleles)) < len(alleles):
        return "an alternate allele stands twice"
    return f"a variant has more than {MOST} alternate alleles" if len(alleles) > MOST else ""
