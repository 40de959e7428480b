"""Products and sums of long rows, bit for bit beside slow ones whose order is written out."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.kernels.long_rows import TILE, add, crossed, lengths, orthonormal

SHAPES = [(1, 1, 1), (2, 4, TILE), (3, 5, 2 * TILE + 7), (7, 2, 1000), (0, 3, 40), (2, 0, 40)]


def in_order(a: np.ndarray, b: np.ndarray) -> float:
    """The sum of products: in a tile four sums side by side, of which halves are added, then the halves."""
    padded = np.zeros((-(-len(a) // TILE), TILE // 4, 4))
    padded.reshape(-1)[: len(a)] = a * b
    found = 0.0
    for tile in padded:
        lanes = [0.0] * 4
        for four in tile.tolist():
            lanes = [x + y for x, y in zip(lanes, four, strict=True)]
        found += (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    return found


@pytest.mark.parametrize(("k", "others", "m"), SHAPES)
def test_each_sum_is_in_its_order(k: int, others: int, m: int) -> None:
    random = np.random.default_rng(k + m)
    a, b = random.normal(size=(k, m)), random.normal(size=(others, m))
    expected = np.array([in_order(x, y) for x in a for y in b]).reshape(k, others)
    assert crossed(a, b).tolist() == expected.tolist()
    np.testing.assert_allclose(crossed(a, b), a @ b.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(lengths(a), np.linalg.norm(a, axis=1), rtol=1e-14)


@pytest.mark.parametrize(("k", "others", "m"), SHAPES)
def test_rows_are_added_one_after_the_other(k: int, others: int, m: int) -> None:
    random = np.random.default_rng(k + m)
    rows, shares, b = (random.normal(size=shape) for shape in ((k, m), (k, others), (others, m)))
    expected = rows.copy()
    for j in range(others):
        expected += shares[:, j, None] * b[j]
    add(rows, shares, b)
    assert rows.tolist() == expected.tolist()


def test_rows_become_orthonormal_however_near_they_lie() -> None:
    """Rows have lengths from 1 to 10⁻⁹, two of them within the span of the others."""
    random = np.random.default_rng(3)
    given = np.logspace(0, -9, 6)[:, None] * random.normal(size=(6, 900)) / 30
    given[2] = given[0] - 3 * given[1]
    given = np.vstack([given, 2 * given[4]])
    found, shares = orthonormal(given.copy(), 1e-11)
    assert found.shape == (5, 900)
    np.testing.assert_allclose(found @ found.T, np.eye(5), rtol=0, atol=1e-14)
    np.testing.assert_allclose(shares @ found, given, rtol=0, atol=1e-15)
    assert (np.triu(shares, 1) == 0).all()
