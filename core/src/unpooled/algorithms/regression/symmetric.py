"""Symmetric matrices, of which only the upper triangle is sent."""

from __future__ import annotations

import numpy as np


def pairs(columns: int, apart: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The places that are sent, i <= j, in order; of the last columns, `apart`, no two different ones."""
    i, j = np.triu_indices(columns)
    sent = (i == j) | (i < columns - apart)
    return i[sent], j[sent]


def square(products: np.ndarray, columns: int) -> np.ndarray:
    """Symmetric matrices (..., columns, columns) from their upper triangles (..., pairs)."""
    i, j = pairs(columns)
    matrix = np.zeros((*products.shape[:-1], columns, columns))
    matrix[..., i, j] = matrix[..., j, i] = products
    return matrix
