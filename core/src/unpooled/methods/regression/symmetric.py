"""Symmetric matrices, of which only the upper triangle is sent."""

from __future__ import annotations

import numpy as np

from unpooled.kernels.fixed_order import product


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


def congruent(matrix: np.ndarray, symmetric: np.ndarray) -> np.ndarray:
    """M S M' of symmetric matrices S, (..., q, q), with one matrix M, (p, q): (..., p, p)."""
    half = np.swapaxes(of_rows(symmetric, matrix), -1, -2)
    return of_rows(half, matrix)


def of_rows(vectors: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """M v of vectors v, (..., q), with one matrix M, (p, q): (..., p)."""
    shape = (*vectors.shape[:-1], len(matrix))
    return product(vectors.reshape(-1, matrix.shape[1]), matrix.T).reshape(shape)
