"""Symmetric matrices, of which only the upper triangle is sent."""

from __future__ import annotations

import numpy as np


def pairs(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The places that are sent, i <= j, in order."""
    return np.triu_indices(columns)


def square(products: np.ndarray, columns: int) -> np.ndarray:
    """Symmetric matrices (..., columns, columns) from their upper triangles (..., pairs)."""
    i, j = pairs(columns)
    matrix = np.zeros((*products.shape[:-1], columns, columns))
    matrix[..., i, j] = matrix[..., j, i] = products
    return matrix
