"""Draw from the discrete Gaussian, exactly: only whole numbers are computed with, and nothing is rounded.

Algorithm D of C. F. F. Karney, Sampling exactly from the normal distribution, ACM Trans. Math. Softw. 42:3
(2016), for the mean 0 and a whole standard deviation. A chance of exp(-x) is tried as by C. Canonne,
G. Kamath and T. Steinke, The discrete Gaussian for differential privacy (2020), algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled, inlined

Words = NDArray[np.uint64]

LARGEST = 1 << 26
"""The largest deviation: 2·deviation², times the number of a try, stays below 2^64."""
_BLOCK = 1 << 14
"""Words at a time; a number takes some 16."""
_RESERVE = 1 << 10
"""No number is begun with fewer words at hand. That one takes more is less likely than that a key is guessed.
"""


def discrete_gaussian(random: Callable[[int], Words], deviation: int, size: int) -> NDArray[np.int64]:
    """Draw `size` numbers k, each with a chance in proportion to exp(-k²/2·deviation²).

    `random(n)` gives the next n words of a stream that nobody foresees; the same words give the same numbers.
    """
    if not 1 <= deviation <= LARGEST:
        raise ValueError(f"a deviation is a whole number from 1 to {LARGEST}; got {deviation}")
    drawn, done, words = np.empty(size, np.int64), 0, np.empty(0, np.uint64)
    while done < size:
        words = np.concatenate([words, random(_BLOCK)])
        count, used = _draw(words, np.uint64(deviation), drawn[done:])
        done, words = done + count, words[used:]
    return drawn


@compiled
def _draw(words: Words, deviation: np.uint64, drawn: NDArray[np.int64]) -> tuple[int, int]:
    """Fill `drawn` for as long as the words last; how many numbers were drawn, and words used."""
    at, count = 0, 0
    one, two = np.uint64(1), np.uint64(2)
    twice_squared = two * deviation * deviation
    while count < len(drawn) and at + _RESERVE < len(words):
        k = 0  # whole deviations: the chance of k is exp(-k²/2), but for a factor
        at, goes_on = _is_exp(words, at, one, two)
        while goes_on:
            k += 1
            at, goes_on = _is_exp(words, at, one, two)
        accepted = True
        for _ in range(k * (k - 1)):
            if accepted:
                at, accepted = _is_exp(words, at, one, two)
        if not accepted:
            continue
        is_negative = words[at] & one == one
        at, j = _below(words, at + 1, deviation)  # the rest, as a fraction x = j/deviation
        if is_negative and k == 0 and j == 0:
            continue  # else 0 would come twice as often
        for _ in range(k):
            if accepted:
                at, accepted = _is_exp(words, at, j, deviation)
        if accepted:
            at, accepted = _is_exp(words, at, j * j, twice_squared)
        if accepted:
            far = np.int64(k) * np.int64(deviation) + np.int64(j)
            drawn[count] = -far if is_negative else far
            count += 1
    return count, at


@inlined
def _below(words: Words, at: int, most: np.uint64) -> tuple[int, np.uint64]:
    """Take a number below `most`, each as likely, from the words at `at`; tell where they go on."""
    spare = (np.uint64(0) - most) % most  # 2^64 modulo most: so many words more would favour small numbers
    while words[at] < spare:
        at += 1
    return at + 1, words[at] % most


@inlined
def _is_exp(words: Words, at: int, n: np.uint64, d: np.uint64) -> tuple[int, bool]:
    """Try a chance of exp(-n/d), n ≤ d: by the parity of how often chances of n/d, n/2d, n/3d … come true."""
    tries = np.uint64(1)
    at, number = _below(words, at, d)
    while number < n:
        tries += np.uint64(1)
        at, number = _below(words, at, d * tries)
    return at, tries & np.uint64(1) == np.uint64(1)
