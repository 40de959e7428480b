"""The variants and the sets of a study of sets of variants, as its branches hold them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import ClassVar

import numpy as np

from unpooled.methods.shared.chunks import ByVariant


@dataclass(frozen=True, eq=False)
class Variants(ByVariant):
    """Variants that are in sets and pass the filters."""

    name: ClassVar[str] = "gene-tests/variants"

    variants: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    counts_first: np.ndarray
    """bool (m,): the panel's first allele is the rarer one."""
    mean: np.ndarray
    """float64 (m,): copies of the rarer allele, of who has a call."""
    collapsed: np.ndarray
    """bool (m,): too few people carry it."""


ALONE, WAITING, LOST = 0, -1, -2
"""Columns of variants: its own; none, of a variant to be collapsed; none, for others of its column are not in
the set. Collapsed ones are numbered from 1."""


def columns_among(column: np.ndarray) -> int:
    """Count the different columns of some variants: int32 (v,)."""
    return int(np.count_nonzero(column == ALONE)) + len(np.unique(column[column > ALONE]))


@dataclass(frozen=True, eq=False)
class Batch(ByVariant):
    """The sets of a plan in one stretch, with their variants one after the other."""

    name: ClassVar[str] = "gene-tests/batch"

    first: int
    """Place of the first set among those of the plan."""
    masks: int
    """Number of masks of each set of the list, which are sets one after the other here."""
    sizes: tuple[int, ...]
    """Number of variants of each set."""
    left_out: tuple[int, ...]
    """Number of others, which too few people carry even together, or which are collapsed in another set."""
    variants: np.ndarray
    """Panel indices, uint32 (v,), and what `Variants` has of each."""
    counts_first: np.ndarray
    mean: np.ndarray
    column: np.ndarray
    """int32 (v,): where it counts; columns of a number are one in all masks of a set."""
    own: np.ndarray
    """float64 (v,): its own weight, 1 where it has none."""

    @property
    def set_of(self) -> np.ndarray:
        """The number of the set of each variant: int64 (v,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def stretches(self) -> list[slice]:
        """The places of the variants of each set."""
        return [slice(*each) for each in pairwise([0, *accumulate(self.sizes)])]

    def waiting(self, mask: int) -> np.ndarray:
        """Mark the variants of sets of one mask that wait for a column: bool (v,)."""
        return np.asarray((self.column == WAITING) & (self.set_of % self.masks == mask))

    def placed(self, which: np.ndarray, mask: int, number: int) -> Batch:
        """Give the variants of sets of one mask, bool (v,), a column of this number.

        Other masks of the set have the column if they have all of its variants, and none of these otherwise.
        """
        set_of = self.set_of
        listed = set_of // self.masks << 32 | self.variants
        inside = np.isin(listed, listed[which])
        has = np.bincount(set_of[inside], minlength=len(self.sizes))
        whole = has == has[np.arange(len(has)) // self.masks * self.masks + mask]
        column = np.where(whole[set_of], number, LOST)
        return replace(self, column=np.where(inside, column, self.column).astype(np.int32))

    def without(self, left_out: np.ndarray) -> Batch:
        """Leave out some variants: bool (v,)."""
        kept = np.bincount(self.set_of[~left_out], minlength=len(self.sizes))
        lost = np.array(self.sizes) - kept + self.left_out
        return replace(self.some(~left_out), sizes=tuple(kept.tolist()), left_out=tuple(lost.tolist()))
