"""Questions about some variants of a chunk of the panel."""

from __future__ import annotations

import numpy as np

from unpooled.asking.question import Question
from unpooled.methods.shared.chunks import Chunk


def flags(chunk: Chunk, variants: np.ndarray, wanted: np.ndarray | int = 1) -> np.ndarray:
    """Flag a chunk's variants: uint8 (variants,), `wanted` for those given (panel indices), else 0."""
    asked = np.zeros(chunk.variants, np.uint8)
    asked[variants - chunk.start] = wanted
    return asked


class OfAsked(Question):
    """About the variants of a chunk with a flag other than 0."""

    start: int
    """Panel index of the chunk's first variant"""
    asked: np.ndarray
    """uint8 (variants of the chunk,): what is asked of each; 0 for nothing"""

    @property
    def reach(self) -> int:
        return self.start + len(self.asked)

    @property
    def variants(self) -> int:
        return int(np.count_nonzero(self.asked))

    @property
    def items(self) -> np.ndarray:
        """The panel indices of what is asked about: int64 (m,)."""
        return np.asarray(self.start + np.flatnonzero(self.asked))
