"""r² of two variants between haplotypes, of which genotypes leave one open: who has both alleles of both.

Two variants with alleles 1 and 2 have four haplotypes. Each person's two are known from the genotypes unless
the person is heterozygous at both variants, and has either 11 and 22 or 12 and 21. Their share x of 11 is
where the likelihood is largest. PLINK's --clump and --r2 dprime take it so (Hill, Heredity 33, 1974).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.elementary import log

Floats = NDArray[np.float64]

_HALVINGS = 60
"""Number of times that an interval of frequencies is halved, until nothing is left of it."""


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
