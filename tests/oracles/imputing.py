"""Imputed dosages for calls."""

from __future__ import annotations

import numpy as np

from unpooled.kernels.dosages import COPY, NO_DOSAGE


def near(calls: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw dosages near calls, int8 (m, n), with a little of the other allele in many who have 0 or 2 copies:
    uint16 (m, n).
    """
    known = calls.astype(np.int64) * COPY
    away = random.integers(0, COPY // 3, known.shape) * (random.random(known.shape) < 0.3)
    moved = np.where(known <= COPY, known + away, known - away)
    return np.where(calls < 0, NO_DOSAGE, moved).astype(np.uint16)


def copies_of(dosages: np.ndarray) -> np.ndarray:
    """Copies as numbers, float64 (m, n); -1 where there is no dosage."""
    return np.where(dosages == NO_DOSAGE, -1, dosages / COPY)
