"""r² of two variants between haplotypes, of which genotypes leave one open: who has both alleles of both.

Two variants with alleles 1 and 2 have four haplotypes. Each person's two are known from the genotypes unless
the person is heterozygous at both variants, and has either 11 and 22 or 12 and 21. Their share x of 11 is
where the likelihood is largest. PLINK's --clump and --r2 dprime take it so (Hill, Heredity 33, 1974).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    cubic = np.array(
        [
            np.full_like(h, -2),
            3 * h - (a + d) + b + c,
            (a + d) * h - a * d - (b + h) * (c + h),
            a * d * h,
        ]
    )
    roots = _real_roots(cubic)
    tried = np.concatenate([np.clip(roots, 0, h), np.zeros_like(h)[None], h[None]])
    best = np.argmax(_log_likelihood(known, h, tried), axis=0)
    return np.asarray(np.take_along_axis(tried, best[None], axis=0)[0])


def _real_roots(cubic: Floats) -> Floats:
    """The roots of cubic polynomials, (4, k), the highest coefficient first: (3, k).

    Of a complex one it is the real part, which is no worse a guess than any other.
    """
    companion = np.zeros((cubic.shape[1], 3, 3))
    companion[:, 0] = (-cubic[1:] / cubic[0]).T
    companion[:, 1, 0] = companion[:, 2, 1] = 1
    return np.asarray(np.linalg.eigvals(companion).real.T)


def _log_likelihood(known: Floats, h: Floats, x: Floats) -> Floats:
    """Of a person, up to a constant: (tried, k)."""
    a, b, c, d = known
    frequencies = np.array([a + x, b + h - x, c + h - x, d + x])
    either = frequencies[0] * frequencies[3] + frequencies[1] * frequencies[2]
    parts = [(weight, value) for weight, value in zip(known, frequencies, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(w > 0, w * np.log(value), 0.0) for w, value in (*parts, (h, either))]
    return np.asarray(sum(terms))
