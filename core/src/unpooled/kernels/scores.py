"""Each person's sum of weighted genotypes, straight from PLINK's two bits a sample.

Four variants have 256 combinations of genotypes. What each adds to a person's sums is worked out once; then
four variants of a person cost one load and one addition ("the method of four Russians"; Arlazarov and others
1970). It is `unpooled.kernels.products` with samples and variants exchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled, inlined
from unpooled.kernels.two_bits import COPIES

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

_TOGETHER = 4
"""Variants whose genotypes make one byte."""
_TILE = 128
"""Words of a row, of 32 samples each, whose sums stay in the first cache."""
_NO_CALL = 1
_THREE = np.uint64(3)


def add_scores(
    words: Words, second: NDArray[np.bool_], mean: Floats, weights: Floats, out: Floats, power: int = 1
) -> None:
    """Add to each sample's sums over the variants of (copies - mean) x weight, to a power.

    A missing call adds nothing.

    `words` is (m, w) as in `unpooled.asking.cohort.Packed`; the copies are those of A1, where `second`, (m,),
    those of A2. `mean` is (m,), `weights` (m, s), and `out`, (samples, s), C-contiguous.
    """
    values = ((COPIES[second.astype(np.int64)] - mean[:, None])[:, :, None] * weights[:, None, :]) ** power
    values[:, _NO_CALL] = 0
    short = -len(words) % _TOGETHER
    if short:  # variants that add nothing
        words = np.concatenate([words, np.zeros((short, words.shape[1]), np.uint64)])
        values = np.concatenate([values, np.zeros((short, *values.shape[1:]))])
    _add(np.ascontiguousarray(words), np.ascontiguousarray(values), out)


@compiled
def _add(words: Any, values: Any, out: Any) -> None:
    """`values` is (m, 4, s): what a code adds."""
    samples, sums = out.shape
    table, codes = np.empty((256, sums)), np.empty(32, np.uint8)
    for first in range(0, words.shape[1], _TILE):
        stop = min(first + _TILE, words.shape[1])
        for v in range(0, words.shape[0], _TOGETHER):
            _tabulate(values[v : v + _TOGETHER], table)
            for w in range(first, stop):
                a, b, c, d = words[v, w], words[v + 1, w], words[v + 2, w], words[v + 3, w]
                for k in range(32):
                    at = np.uint64(2 * k)
                    lower = ((a >> at) & _THREE) | (((b >> at) & _THREE) << np.uint64(2))
                    upper = ((c >> at) & _THREE) | (((d >> at) & _THREE) << np.uint64(2))
                    codes[k] = lower | (upper << np.uint64(4))
                _add_rows(table, codes[: min(32, samples - 32 * w)], out[32 * w :])


@inlined
def _add_rows(table: Any, codes: Any, out: Any) -> None:
    if out.shape[1] == 2:  # as the two fits of a score have it: without a loop half the time
        for k, code in enumerate(codes):
            out[k, 0] += table[code, 0]
            out[k, 1] += table[code, 1]
        return
    for k, code in enumerate(codes):
        for s in range(out.shape[1]):
            out[k, s] += table[code, s]


@compiled
def _tabulate(values: Any, table: Any) -> None:
    """Tabulate what each combination of four codes adds, the first variant's in the lowest bits."""
    for code in range(256):
        for s in range(table.shape[1]):
            lower = values[0, code & 3, s] + values[1, (code >> 2) & 3, s]
            table[code, s] = lower + (values[2, (code >> 4) & 3, s] + values[3, code >> 6, s])
