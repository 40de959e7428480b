"""The variants that can be pruned, and their linkage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.kernels.elementary import log
from unpooled.methods.ld.questions import weights
from unpooled.methods.shared.chunks import ByVariant
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.plan.plan import Plan

Floats = NDArray[np.float64]

_HALVINGS = 60
"""Number of times that an interval of frequencies is halved, until nothing is left of it."""


# Two variants with alleles 1 and 2 have four haplotypes. Each person's two are known from the genotypes
# unless the person is heterozygous at both variants, and has either 11 and 22 or 12 and 21. Their share x of
# 11 is where the likelihood is largest. PLINK's --clump and --r2 dprime take it so (Hill, Heredity 33,
# 1974).
def r_squared(
    people: float, first: Floats, second: Floats, products: Floats, both_heterozygous: Floats
) -> Floats:
    """Squared correlation of the alleles of two variants on haplotypes: float64 (pairs,).

    `people` is how many there are. Of each pair `first` and `second`, (pairs,), are the copies of allele 1 of
    either variant that they have, `products` the sum over people of the product of both, and
    `both_heterozygous` how many are heterozygous at both. NaN if all copies of a variant are alike.
    """
    chromosomes = 2 * people
    known_11 = (products - both_heterozygous) / 2
    known_12 = first - known_11 - both_heterozygous
    known_21 = second - known_11 - both_heterozygous
    known_22 = chromosomes - known_11 - known_12 - known_21 - 2 * both_heterozygous
    # Sums of real numbers, where means stand for missing calls, can be a trifle below 0.
    known = np.maximum([known_11, known_12, known_21, known_22], 0) / chromosomes
    open_ = both_heterozygous / chromosomes
    p, q = first / chromosomes, second / chromosomes
    covariance = known[0] + _most_likely(known, open_) - p * q
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariance**2 / (p * (1 - p) * q * (1 - q)))


def _most_likely(known: Floats, open_: Floats) -> Floats:
    """The frequency x, from 0 to `open_`, of haplotypes 11 in those who are heterozygous at both.

    Where the likelihood is largest, (a + x)(d + x)(h - x) = x (b + h - x)(c + h - x), with a, b, c, d the
    known frequencies and h = `open_`; or at one of the ends.
    """
    a, b, c, d = known
    h = open_

    def slope(x: Floats) -> Floats:
        return np.asarray((a + x) * (d + x) * (h - x) - x * (b + h - x) * (c + h - x))

    # A cubic, which rises or falls throughout between its bends: in each of three pieces there is one root,
    # or an end that is no worse a guess than any other.
    square, linear = 3 * h - (a + d) + b + c, (a + d) * h - a * d - (b + h) * (c + h)
    root = np.sqrt(np.maximum(square * square + 6 * linear, 0))
    bends = np.clip(np.array([square - root, square + root]) / 6, 0, h)
    edges = np.concatenate([np.zeros_like(h)[None], bends, h[None]])
    low, high = edges[:-1], edges[1:]
    rises = slope(high) > slope(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_beyond = (slope(middle) > 0) == rises
        low, high = np.where(is_beyond, low, middle), np.where(is_beyond, middle, high)
    tried = np.concatenate([edges, low])
    best = np.argmax(_log_likelihood(known, h, tried), axis=0)
    return np.asarray(np.take_along_axis(tried, best[None], axis=0)[0])


def _log_likelihood(known: Floats, h: Floats, x: Floats) -> Floats:
    """Compute the log-likelihood of a person, up to a constant: (tried, k)."""
    a, b, c, d = known
    frequencies = np.array([a + x, b + h - x, c + h - x, d + x])
    either = frequencies[0] * frequencies[3] + frequencies[1] * frequencies[2]
    parts = [(weight, value) for weight, value in zip(known, frequencies, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(w > 0, w * log(value), 0.0) for w, value in (*parts, (h, either))]
    return np.asarray(sum(terms))


_MORE = 1 + 2.0**-44
"""PLINK's tolerance."""


def in_frequencies(table: GenotypeTable, plan: Plan) -> GenotypeTable:
    """The table of who counts in frequencies: under --nonfounders no group is told apart as theirs."""
    return replace(table, groups=tuple(group[1:] for group in table.groups)) if plan.nonfounders else table


@dataclass(frozen=True, eq=False)
class Candidates(ByVariant):
    """m variants of one class of chromosomes, of which each allele has enough carriers among founders.

    A genotype x counts -1, 0, 1 for none, one and two copies of the panel's first allele, and a missing call
    as the mean.
    """

    name: ClassVar[str] = "ld/candidates"

    variants: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    chromosome: str
    called: np.ndarray
    """float64 (m,): founders with a call, on X others than men twice."""
    total: np.ndarray
    """float64 (m,): sum of x of these."""
    squares: np.ndarray
    """float64 (m,)"""
    majority: np.ndarray
    """float64 (m,): frequency of the more frequent allele, among all who count in frequencies."""

    @classmethod
    def of(cls, counted: Counted, plan: Plan) -> Candidates:
        """Take variants with counts in the groups of `weights`, each allele of which has enough carriers."""
        table = counted.genotypes
        weight = np.array([weights(table.chromosome).get(group, 0) for group in table.groups])
        two, one, none = np.moveaxis(table.counts[:, weight > 0], 2, 0)
        carried = (two + one).any(axis=1) & (one + none).any(axis=1)
        first, second = in_frequencies(table, plan).frequency_alleles()
        called, total, squares = (
            (each * weight[weight > 0]).sum(axis=1, dtype=np.int64).astype(float)
            for each in (two + one + none, two - none, two + none)
        )
        some = np.flatnonzero(carried)
        with np.errstate(invalid="ignore"):
            majority = np.maximum(first, second) / (first + second)
        return cls(
            counted.variants[some].astype(np.uint32),
            table.chromosome,
            called[some],
            total[some],
            squares[some],
            majority[some],
        )

    @property
    def varies(self) -> np.ndarray:
        """True where a correlation is defined, bool (m,); it is not where all are heterozygous."""
        return np.asarray(self.called * self.squares > self.total**2)

    @property
    def mean(self) -> np.ndarray:
        """Copies of the panel's first allele: float64 (m,)."""
        return np.asarray((self.called + self.total) / self.called)

    @property
    def heterozygous(self) -> np.ndarray:
        """Share of people with one copy of either allele: float64 (m,)."""
        return np.asarray((self.called - self.squares) / self.called)

    def total_of(self, people: float) -> np.ndarray:
        """Sum of x over all people, of whom those without a call count as the mean: float64 (m,)."""
        return np.asarray(self.total + (people - self.called) * (self.total / self.called))

    def r_squared(self, first: np.ndarray, second: np.ndarray, sums: Arrays, people: float) -> np.ndarray:
        """Squared correlation between haplotypes of pairs: float64 (pairs,). `sums` are of `SumWithLeads`."""
        total = self.total_of(people)
        copies = total + people
        of_copies = sums["products"] + total[first] + total[second] + people
        return r_squared(people, copies[first], copies[second], of_copies, sums["both_heterozygous"])

    def linked(
        self, first: np.ndarray, second: np.ndarray, products: np.ndarray, people: float, r2: float
    ) -> np.ndarray:
        """Mark the pairs whose squared correlation exceeds r2, as PLINK compares it: bool (pairs,).

        `first` and `second` are places of variants, `people` is how often everybody counts.
        """
        covariance, one, two = self._moments(first, second, products, people)
        return np.asarray(covariance * covariance > r2 * _MORE * one * two)

    def correlation(
        self, first: np.ndarray, second: np.ndarray, products: np.ndarray, people: float
    ) -> np.ndarray:
        """Correlation of the copies of the panel's first alleles of pairs that vary: float64 (pairs,)."""
        covariance, one, two = self._moments(first, second, products, people)
        return np.asarray(covariance / np.sqrt(one * two))

    def _moments(
        self, first: np.ndarray, second: np.ndarray, products: np.ndarray, people: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Covariance of pairs, and the variance of either variant, all times `people` squared."""
        missing, total = people - self.called, self.total_of(people)
        squares = self.squares + missing * (self.total / self.called) ** 2
        variance = squares * people - total * total
        return products * people - total[first] * total[second], variance[first], variance[second]
