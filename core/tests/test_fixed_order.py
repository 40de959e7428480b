"""Arithmetic in a fixed order beside slow twins, and beside NumPy and SciPy."""

from __future__ import annotations

import decimal
import functools
import math
import operator
from collections.abc import Callable
from decimal import Decimal
from statistics import NormalDist

import numpy as np
import pytest
from scipy import special

from unpooled.kernels import elementary
from unpooled.kernels.fixed_order import (
    betainc,
    eigen,
    geometric,
    length,
    normal_quantile,
    orthonormal,
    product,
    settled,
    solve_positive,
    solve_shifted,
    total,
)

RANDOM = np.random.default_rng(5)


def slow_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Each sum in rising order, in Python's own numbers."""
    found = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        for j in range(b.shape[1]):
            for k in range(len(b)):
                found[i, j] += float(a[i, k]) * float(b[k, j])
    return found


@pytest.mark.parametrize(
    "n, k, m", [(3, 4, 5), (1, 9000, 8), (70, 130, 11), (2, 130, 700), (2, 0, 3), (0, 2, 3)]
)
def test_a_product_adds_in_rising_order(n: int, k: int, m: int) -> None:
    a, b = RANDOM.normal(size=(n, k)), RANDOM.normal(size=(k, m))
    want = slow_product(a, b)
    for left, right in ((a, b), (np.asfortranarray(a), np.asfortranarray(b))):
        assert product(left, right).tobytes() == want.tobytes()
    if n and k:
        assert product(a[0], b).tobytes() == want[0].tobytes()
        assert product(a, b[:, 0]).tobytes() == want[:, 0].tobytes()
        assert float(product(a[0], b[:, 0])) == want[0, 0]


def test_sums_are_in_the_order_of_the_index() -> None:
    values = RANDOM.normal(size=(7, 3000)) * 10.0 ** RANDOM.integers(-9, 9, (7, 3000))
    want = [functools.reduce(operator.add, row) for row in values.tolist()]
    assert total(values, 1).tolist() == total(values.T, 0).tolist() == want
    assert length(values, 1).tolist() == [
        math.sqrt(functools.reduce(operator.add, (x * x for x in row))) for row in values.tolist()
    ]
    assert total(np.zeros((2, 0))).tolist() == [0, 0]


def test_what_is_settled_is_on_the_grid_and_near() -> None:
    values = RANDOM.normal(size=1000)
    found = settled(values, 2.0**-30)
    assert np.all(np.abs(found - values) <= 2.0**-31) and np.all(found * 2.0**30 % 1 == 0)
    assert math.copysign(1, settled([-1e-20], 2.0**-30)[0]) == 1  # both zeros are one


def _twin(of: Callable[[Decimal], Decimal], x: float) -> float:
    with decimal.localcontext(prec=60):
        return float(of(Decimal(x)))


WIDE = np.concatenate(
    [RANDOM.uniform(-740, 709, 500), RANDOM.normal(size=500), RANDOM.normal(size=500) * 1e-9]
)
TWINS: dict[str, tuple[Callable[[Decimal], Decimal], np.ndarray]] = {
    "exp": (lambda x: x.exp(), WIDE),
    "log": (
        lambda x: x.ln(),
        np.concatenate([np.exp(WIDE[:500]), 1 + WIDE[500:][WIDE[500:] > -1], [5e-324]]),
    ),
    "log1p": (
        lambda x: (1 + x).ln(),
        np.concatenate([np.exp(WIDE[:500][WIDE[:500] > -60]), WIDE[WIDE > -1]]),
    ),
    "expm1": (lambda x: x.exp() - 1, WIDE),
}


@pytest.mark.parametrize("name", TWINS)
def test_functions_are_right_to_the_last_places(name: str) -> None:
    of, values = TWINS[name]
    want = np.array([_twin(of, x) for x in values.tolist()])
    found = getattr(elementary, name)(values)
    units = np.abs(found - want) / np.spacing(np.abs(want))
    assert units.max() <= (1 if name in ("exp", "log") else 3)


@pytest.mark.parametrize("name", TWINS)
def test_functions_know_where_numbers_end(name: str) -> None:
    ends = np.array([-np.inf, -1e300, -1.0, -0.0, 0.0, 1e300, np.inf, np.nan])
    with np.errstate(all="ignore"):
        want = getattr(np, name)(ends)
    np.testing.assert_allclose(getattr(elementary, name)(ends), want, rtol=1e-15)


def test_compiled_functions_give_the_same_bits() -> None:
    found = np.array([(elementary.exp_of(x), elementary.log_of(abs(x))) for x in WIDE.tolist()])
    assert found[:, 0].tolist() == elementary.exp(WIDE).tolist()
    assert found[:, 1].tolist() == elementary.log(np.abs(WIDE)).tolist()


@pytest.mark.parametrize("name", TWINS)
def test_an_array_may_have_any_size_and_shape(name: str) -> None:
    of, some = getattr(elementary, name), np.append(WIDE, [np.nan, np.inf, -np.inf, 0.0, -1.0])
    for times in (1, 10, 50):
        values = np.tile(some, (times, 1))
        np.testing.assert_array_equal(of(values), np.tile([of(x) for x in some], (times, 1)))
    assert of(np.zeros((0, 2))).shape == (0, 2)


def test_geometric_numbers_are_those_of_numpy() -> None:
    for first, last, count in ((1e2, 1e-5, 50), (1e-4, 1e2, 20), (3.0, 3e-3, 50)):
        found = geometric(first, last, count)
        np.testing.assert_allclose(found, np.geomspace(first, last, count), rtol=1e-14)
        assert (found[0], found[-1]) == (first, last)


def test_normal_quantiles_are_those_of_python() -> None:
    p = np.arange(1, 512) / 512
    want = [NormalDist().inv_cdf(each) for each in p.tolist()]
    np.testing.assert_allclose(normal_quantile(p), want, rtol=1e-13, atol=1e-16)


def test_incomplete_beta_is_that_of_scipy() -> None:
    freedom = np.array([1, 2, 3, 10, 100, 1e3, 1e4, 1e6])[:, None, None] / 2
    b = np.array([0.5, 1.0, 2.5, 20.0])[:, None]
    x = np.concatenate([[0.0, 1.0], RANDOM.random(60), 1 - 10.0 ** -RANDOM.uniform(1, 7, 60)])
    want = special.betainc(freedom, b, x)
    known = want > 1e-200
    np.testing.assert_allclose(betainc(freedom, b, x)[known], want[known], rtol=1e-10)


def _symmetric(n: int, rank: int | None = None) -> np.ndarray:
    part = (
        RANDOM.normal(size=(n, n + 3 if rank is None else rank)) * 10.0 ** RANDOM.uniform(-3, 3, n)[:, None]
    )
    return np.asarray(part @ part.T)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_positive_equations_are_solved(n: int) -> None:
    a, b = np.stack([_symmetric(n) for _ in range(6)]), RANDOM.normal(size=(6, n, 3))
    for found, right in ((solve_positive(a, b), b), (solve_positive(a, b[..., 0])[..., None], b[..., :1])):
        scale = np.sqrt(np.diagonal(a, axis1=1, axis2=2))[..., None]
        np.testing.assert_allclose(a @ found / scale, right / scale, atol=1e-8 * np.abs(right / scale).max())
    assert solve_positive(a[2], b[2]).tobytes() == solve_positive(a, b)[2].tobytes()


def test_what_is_not_positive_has_no_solution() -> None:
    a = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0]), np.ones((3, 3)), _symmetric(3, 2)])
    found = solve_positive(a, np.ones((4, 3)), least=1e-12)
    assert np.isnan(found).tolist() == [[False] * 3, *[[True] * 3] * 3]


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_shifted_equations_are_solved(n: int) -> None:
    a, b, shifts = _symmetric(n, max(1, n - 2)), RANDOM.normal(size=(n, 2)), np.array([1e-3, 1.0, 1e3])
    found = solve_shifted(a, b, shifts)
    for shift, x in zip(shifts, found, strict=True):
        want = np.linalg.solve(a + shift * np.eye(n), b)
        np.testing.assert_allclose(
            x, want, rtol=0, atol=1e-15 * (1 + np.linalg.norm(a) / shift) * np.abs(want).max()
        )
    diagonal = np.diag(np.arange(n) + 1.0)
    np.testing.assert_allclose(solve_shifted(diagonal, b, [2.0])[0], b / (np.arange(n) + 3.0)[:, None])


@pytest.mark.parametrize("k, n", [(1, 5), (5, 5), (8, 30), (21, 3000)])
def test_rows_become_orthonormal_and_span_the_same(k: int, n: int) -> None:
    rows = RANDOM.normal(size=(k, n)) @ np.diag(10.0 ** RANDOM.uniform(-2, 2, n))
    rows[k // 2] += 1e4 * rows[0]
    found = orthonormal(rows)
    np.testing.assert_allclose(found @ found.T, np.eye(k), atol=1e-14)
    q = np.linalg.qr(rows.T)[0].T
    np.testing.assert_allclose(np.abs(np.sum(found * q, axis=1)), 1, atol=1e-9)  # but for the sign


@pytest.mark.parametrize("n, rank", [(0, 0), (1, 1), (6, 6), (30, 12), (60, 60)])
def test_eigenvalues_and_vectors_are_those_of_numpy(n: int, rank: int) -> None:
    a = _symmetric(n, rank) - (np.eye(n) if n == 6 else 0)
    values, vectors = eigen(a)
    size = np.abs(a).max(initial=0)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-14 * n * size)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, a, atol=1e-14 * n * size)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-14 * max(n, 1))
    assert all(vector[np.argmax(np.abs(vector))] > 0 for vector in vectors.T)


def test_small_eigenvalues_of_graded_matrices_keep_their_digits() -> None:
    scale = np.diag(10.0 ** np.arange(0, -10, -1.0))
    near = 0.1 * _symmetric(10) / np.abs(_symmetric(10)).max()
    core = np.eye(10) + 0.05 * (near / np.abs(near).max())
    values, _ = eigen(scale @ core @ scale)
    inverse = np.diag(1 / np.diagonal(scale))
    want = 1 / np.linalg.eigvalsh(inverse @ np.linalg.inv(core) @ inverse)[-1]
    assert values[0] == pytest.approx(want, rel=1e-10)
