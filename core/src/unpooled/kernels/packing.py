"""Copies of an allele, a byte each, to calls of two bits as `unpooled.asking.cohort.Packed` has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled

MISSING = -9
_EVEN = 0x5555555555555555
_ODD = 0xAAAAAAAAAAAAAAAA


def pack_copies(copies: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Rows of copies of A1, int8 (m, 32 k), as calls of two bits, uint64 (m, k).

    They are 0, 1, 2 or MISSING. What is beyond the last sample packs to something.
    """
    out = np.empty((len(copies), copies.shape[1] // 32), np.uint64)
    _pack(copies.view(np.uint64), out, np.uint64(_EVEN), np.uint64(_ODD))
    return out


@compiled
def _pack(eights: Any, out: Any, even: Any, odd: Any) -> None:
    """`eights` are eight samples each, uint64 (m, 4 k).

    The low two bits of a byte say all: 0, 1 and 2 copies, and 3 for missing, which become 3, 2, 0 and 1.
    """
    for row in range(out.shape[0]):
        for word in range(out.shape[1]):
            packed = np.uint64(0)
            for k in range(4):
                x = eights[row, 4 * word + k] & np.uint64(0x0303030303030303)
                x = (x | x >> np.uint64(6)) & np.uint64(0x000F000F000F000F)
                x = (x | x >> np.uint64(12)) & np.uint64(0x000000FF000000FF)
                x = (x | x >> np.uint64(24)) & np.uint64(0xFFFF)
                packed |= x << np.uint64(16 * k)
            out[row, word] = (~packed & odd) | (~(packed ^ packed >> np.uint64(1)) & even)
