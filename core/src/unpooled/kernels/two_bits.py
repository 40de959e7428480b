"""PLINK's two bits a sample, 32 to a word: 00, 10 and 11 are two, one and no copies of A1, 01 is no call."""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.kernels.compiled import inlined, intrinsic, ir, types

COPIES = np.array([[2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 2.0]])
"""(2, 4): copies of A1, and of A2, by code; none without a call."""

_ONE = np.uint64(1)
_EVEN = np.uint64(0x5555555555555555)


@intrinsic
def _cttz(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


_trailing_zeros: Any = _cttz  # LLVM's own instruction


@inlined
def without_call(word: Any) -> Any:
    """The lower bit of each of the 32 samples that has no call."""
    return word & ~(word >> _ONE) & _EVEN


@inlined
def first_sample(bits: Any) -> Any:
    """Return which of the 32 samples the lowest set bit belongs to; there must be one."""
    return np.int64(_trailing_zeros(bits)) // 2


@inlined
def next_samples(bits: Any) -> Any:
    """The bits without the lowest."""
    return bits & (bits - _ONE)
