"""Arithmetic with the same bits on every machine: whatever leads to a question is computed with it.

BLAS, LAPACK, NumPy's own sums and the logarithms of a C library choose by processor in which order they add,
and which products they round. Here are elementwise + - * / and roots of NumPy, whose rounding IEEE 754 fixes,
sums in rising order, and compiled loops without `fastmath`, which are never fused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.elementary import exp, log, log1p

Floats = NDArray[np.float64]

_FEW = 1 << 16
"""Products that are not worth loading Numba for."""

_DEEP, _WIDE = 64, 512
"""Rows and columns of the part of a matrix that stays in the cache."""

# Sums


def product(a: ArrayLike, b: ArrayLike) -> Floats:
    """The product of matrices or vectors, as `@` has it; each sum is in rising order."""
    left, right = np.asarray(a, float), np.asarray(b, float)
    rows = left.reshape(math.prod(left.shape[:-1]), len(right))
    columns = right.reshape(len(right), math.prod(right.shape[1:]))
    found = np.zeros((len(rows), columns.shape[1]))
    if columns.shape[1] == 1:
        found[:, 0] += total(rows * columns[:, 0])
    elif found.size * len(right) > _FEW:
        _add_products(rows, columns, found)
    elif found.size:
        for k in range(len(right)):
            found += rows[:, k, None] * columns[k]
    return found.reshape(left.shape[:-1] + right.shape[1:])


@compiled
def _add_products(a: Any, b: Any, found: Any) -> None:
    """Add the product of two matrices to `found`, by parts of the second."""
    part = np.empty((_DEEP, _WIDE))
    for left in range(0, b.shape[1], _WIDE):
        width = min(_WIDE, b.shape[1] - left)
        for top in range(0, b.shape[0], _DEEP):
            depth = min(_DEEP, b.shape[0] - top)
            for k in range(depth):
                for j in range(width):
                    part[k, j] = b[top + k, left + j]
            for i in range(a.shape[0]):
                row = found[i, left : left + width]
                for k in range(depth):
                    times = a[i, top + k]
                    for j in range(width):
                        row[j] += times * part[k, j]


def total(values: ArrayLike, axis: int = -1) -> Floats:
    """The sums along an axis, in the order of the index."""
    given = np.moveaxis(np.asarray(values, float), axis, -1)
    if not given.shape[-1]:
        return np.zeros(given.shape[:-1])
    return np.asarray(np.cumsum(given, axis=-1)[..., -1])


def length(values: ArrayLike, axis: int = -1) -> Floats:
    """The root of the sum of the squares along an axis."""
    given = np.asarray(values, float)
    return np.asarray(np.sqrt(total(given * given, axis)))


def settled(values: ArrayLike, step: float) -> Floats:
    """The values on a grid of this step, a power of two: what differs in its last bits seldom does there."""
    return np.asarray(np.rint(np.asarray(values, float) / step) * step + 0.0)


def step_of(bits: int, people: int) -> float:
    """The step 2^-bits in standard errors of so many people: over their root, up to a power of two."""
    return math.ldexp(1.0, -bits - ((people - 1).bit_length() + 1) // 2)


# Functions


def geometric(first: float, last: float, count: int) -> Floats:
    """Return `count` numbers from the first to the last, each the same multiple of the one before."""
    ends = log([first, last])
    found = exp(ends[0] + np.arange(count) * ((ends[1] - ends[0]) / (count - 1)))
    found[0], found[-1] = first, last
    return found


_TERMS, _TURNS = 40, 30
"""Number of terms of the series for numbers up to 3, and of turns of Newton's method for those."""


def normal_quantile(p: ArrayLike) -> Floats:
    """The numbers that a normal one is below with these probabilities, from 0.002 to 0.998."""
    beyond = np.abs(np.asarray(p, float) - 0.5)
    x = np.zeros(beyond.shape)
    for _ in range(_TURNS):  # from below, as the probability is concave there
        density = exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        term, series = x, x
        for k in range(1, _TERMS):
            term = term * x * x / (2 * k + 1)
            series = series + term
        x = x + (beyond / density - series)
    return np.asarray(np.copysign(x, np.asarray(p) - 0.5))


_LEAST = 12
"""Number from which the series of the gamma function's logarithm has all digits."""


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Floats:
    """The regularised incomplete beta function I_x(a, b) of a, b above 0 and x from 0 to 1; broadcast."""
    p, q, at = (each.copy() for each in np.broadcast_arrays(*(np.asarray(v, float) for v in (a, b, x))))
    turned = at >= (p + 1) / (p + q + 2)
    front = exp(p * log(at) + q * log1p(-at) - _log_beta(p, q))
    p, q, at = np.where(turned, q, p), np.where(turned, p, q), np.where(turned, 1 - at, at)
    found = np.empty(at.shape)
    _continue_fractions(p.ravel(), q.ravel(), at.ravel(), found.reshape(-1))
    found = front * found / p
    return np.asarray(np.where(turned, 1 - found, found))


def _log_beta(a: Floats, b: Floats) -> Floats:
    """log B(a, b): B(a, b) = B(a + 1, b) (a + b) / a, until Stirling's series has all digits."""
    times = np.ones(a.shape)
    for _ in range(_LEAST):
        times, a = times * ((a + b) / a), a + 1
    for _ in range(_LEAST):
        times, b = times * ((a + b) / b), b + 1
    both = a + b
    rest = _beyond_stirling(a) + _beyond_stirling(b) - _beyond_stirling(both)
    of_a = np.where(a > b, log1p(-b / both), log(a / both))
    of_b = np.where(a > b, log(b / both), log1p(-a / both))
    found = (a - 0.5) * of_a + b * of_b - 0.5 * log(b)
    return np.asarray(log(times) + found + 0.5 * log(2 * math.pi) + rest)


def _beyond_stirling(x: Floats) -> Floats:
    z = 1 / (x * x)
    series = 1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156))
    return np.asarray((1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * series))) / x)


@compiled
def _continue_fractions(a: Any, b: Any, x: Any, found: Any) -> None:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    for k in range(len(found)):
        p, q, at = a[k], b[k], x[k]
        c, d = 1.0, 1.0 / (1.0 - (p + q) * at / (p + 1.0))
        value = d
        for m in range(1, 100_000):
            even = m * (q - m) * at / ((p + 2 * m - 1.0) * (p + 2 * m))
            d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
            value *= d * c
            odd = -(p + m) * (p + q + m) * at / ((p + 2 * m) * (p + 2 * m + 1.0))
            d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
            value *= d * c
            if abs(d * c - 1.0) < 3e-16:
                break
        found[k] = value


# Equations


def solve_positive(a: ArrayLike, b: ArrayLike, least: float = 0.0) -> Floats:
    """The x of a x = b, for symmetric positive a (…, n, n) and b (…, n) or (…, n, m), by Cholesky's method.

    NaN where a pivot is no more than `least` of its diagonal: a is not positive, or nearly so.
    """
    left = np.array(a, float)
    is_vector = np.ndim(b) == left.ndim - 1
    x = np.array(b, float)[..., None] if is_vector else np.array(b, float)
    n = left.shape[-1]
    diagonal = np.diagonal(left, axis1=-2, axis2=-1).copy()
    for k in range(n):
        pivot = left[..., k, k]
        left[..., k, k] = np.where(pivot > least * diagonal[..., k], pivot, np.nan)
        factor = left[..., k + 1 :, k] / left[..., k, k, None]
        left[..., k + 1 :, k + 1 :] -= factor[..., :, None] * left[..., k, None, k + 1 :]
        x[..., k + 1 :, :] -= factor[..., :, None] * x[..., k, None, :]
    for k in range(n - 1, -1, -1):
        x[..., k, :] /= left[..., k, k, None]
        x[..., :k, :] -= left[..., :k, k, None] * x[..., k, None, :]
    return x[..., 0] if is_vector else x


def solve_shifted(a: ArrayLike, b: ArrayLike, shifts: ArrayLike) -> Floats:
    """The x of (a + shift) x = b, (shifts, n, m), for symmetric a without negative eigenvalues, b (n, m).

    By Householder's reflections a becomes tridiagonal, once for all shifts, which are above 0.
    """
    left, right, shift = np.array(a, float), np.array(b, float), np.asarray(shifts, float)[:, None]
    n = len(left)
    scale = np.zeros(n)
    _make_tridiagonal(left, right, scale)
    beside = np.append(0.0, np.diagonal(left, -1))
    pivots, x = np.diagonal(left)[:, None] + shift.T, np.repeat(right[:, None], len(shift), axis=1)
    for k in range(1, n):
        factor = beside[k] / pivots[k - 1]
        pivots[k] -= factor * beside[k]
        x[k] -= factor[:, None] * x[k - 1]
    for k in range(n - 1, -1, -1):
        after = beside[k + 1] * x[k + 1] if k + 1 < n else 0.0
        x[k] = (x[k] - after) / pivots[k][:, None]
    turned = x.reshape(n, -1)
    _reflect_back(left, scale, turned)
    return np.ascontiguousarray(turned.reshape(n, len(shift), -1).transpose(1, 0, 2))


@compiled
def _make_tridiagonal(a: Any, b: Any, scale: Any) -> None:
    """Reflect both sides of a, and b; the vectors of the reflections are left in a's upper triangle."""
    n = len(a)
    v, w = np.empty(n), np.empty(n)
    for k in range(n - 2):
        square = 0.0
        for i in range(k + 2, n):
            square += a[i, k] * a[i, k]
        if square == 0.0:
            continue
        below = a[k + 1, k]
        size = np.sqrt(below * below + square)
        size = -size if below > 0 else size
        v[k + 1] = below - size
        v[k + 2 :] = a[k + 2 :, k]
        scale[k] = 2.0 / (v[k + 1] * v[k + 1] + square)
        w[k + 1 :] = 0.0
        for i in range(k + 1, n):
            times = scale[k] * v[i]
            for j in range(k + 1, n):
                w[j] += times * a[i, j]
        along = 0.0
        for i in range(k + 1, n):
            along += v[i] * w[i]
        along *= 0.5 * scale[k]
        for i in range(k + 1, n):
            w[i] -= along * v[i]
        for i in range(k + 1, n):
            of_v, of_w = v[i], w[i]
            for j in range(k + 1, n):
                a[i, j] -= of_v * w[j] + of_w * v[j]
        _reflect(v, scale[k], k + 1, b)
        a[k + 1, k] = size
        a[k, k + 1 :] = v[k + 1 :]


@compiled
def _reflect_back(a: Any, scale: Any, x: Any) -> None:
    for k in range(len(a) - 3, -1, -1):
        _reflect(a[k], scale[k], k + 1, x)


@compiled
def _reflect(v: Any, scale: Any, first: Any, x: Any) -> None:
    """x less scale v v'x, of the rows from the first on."""
    along = np.zeros(x.shape[1])
    for i in range(first, x.shape[0]):
        for j in range(x.shape[1]):
            along[j] += v[i] * x[i, j]
    for i in range(first, x.shape[0]):
        times = scale * v[i]
        for j in range(x.shape[1]):
            x[i, j] -= times * along[j]


# Directions

_TOGETHER = 8
"""Rows that are made orthogonal to those before at once."""


def orthonormal(rows: ArrayLike) -> Floats:
    """Rows of length 1, orthogonal, of which the first k span what the first k given ones do: (k, n).

    A row that those before determine becomes one of rounding, or 0.
    """
    found = np.array(rows, float)
    for first in range(0, len(found), _TOGETHER):
        before, block = found[:first], found[first : first + _TOGETHER]
        for _ in range(2):  # once leaves what rounding has of those before
            block -= product(product(block, before.T), before)
            for k in range(len(block)):
                block[k] -= product(product(block[k], block[:k].T), block[:k])
                block[k] /= length(block[k]) or 1.0
    return found


_ROUNDING = 2.0**-52


def eigen(a: ArrayLike) -> tuple[Floats, Floats]:
    """Eigenvalues (n,), rising, and vectors, the columns of (n, n), of a symmetric matrix.

    By Householder's reflections and the QL method with implicit shifts (Golub and Van Loan, Matrix
    Computations, 8.3). Of each vector the largest entry, or the first of these, is positive.
    """
    left = np.array(a, float)
    scale, rows = np.zeros(len(left)), np.eye(len(left))
    _make_tridiagonal(left, np.zeros((len(left), 0)), scale)
    values, beside = np.diagonal(left).copy(), np.append(np.diagonal(left, -1), 0.0)
    _diagonalise(values, beside, rows)
    order = np.argsort(values, kind="stable")
    vectors = np.ascontiguousarray(rows[order].T)
    _reflect_back(left, scale, vectors)
    if len(left):
        largest = np.argmax(np.abs(vectors), axis=0)[None]
        vectors *= np.where(np.take_along_axis(vectors, largest, axis=0) < 0, -1.0, 1.0)
    return values[order], vectors


@compiled
def _diagonalise(values: Any, beside: Any, rows: Any) -> None:
    """Make a tridiagonal matrix diagonal, given its diagonal and what is beside it; rows become vectors."""
    for first in range(len(values)):
        while True:
            last = first
            while last < len(values) - 1 and abs(beside[last]) > _ROUNDING * (
                abs(values[last]) + abs(values[last + 1])
            ):
                last += 1
            if last == first:
                break
            _step(values, beside, rows, first, last)


@compiled
def _step(values: Any, beside: Any, rows: Any, first: Any, last: Any) -> None:
    """Take one turn of the part from the first to the last, with Wilkinson's shift."""
    ratio = (values[first + 1] - values[first]) / (2.0 * beside[first])
    root = np.sqrt(ratio * ratio + 1.0)
    across = values[last] - values[first] + beside[first] / (ratio + (root if ratio >= 0 else -root))
    sine = cosine = 1.0
    moved = 0.0
    for k in range(last - 1, first - 1, -1):
        ahead, behind = sine * beside[k], cosine * beside[k]
        size = np.sqrt(ahead * ahead + across * across)
        beside[k + 1] = size
        if size == 0.0:  # it falls into two parts
            values[k + 1] -= moved
            beside[last] = 0.0
            return
        sine, cosine = ahead / size, across / size
        across = values[k + 1] - moved
        turned = (values[k] - across) * sine + 2.0 * cosine * behind
        moved = sine * turned
        values[k + 1] = across + moved
        across = cosine * turned - behind
        _turn(rows[k], rows[k + 1], cosine, sine)
    values[first] -= moved
    beside[first], beside[last] = across, 0.0


@compiled
def _turn(one: Any, other: Any, cosine: Any, sine: Any) -> None:
    for k in range(len(one)):
        x, y = one[k], other[k]
        one[k], other[k] = cosine * x - sine * y, sine * x + cosine * y


def grid_of(values: ArrayLike, bits: int) -> float:
    """The step of a grid with so many bits for the largest of the values: a power of two."""
    return math.ldexp(1.0, int(np.frexp(np.abs(np.asarray(values, float)).max(initial=0))[1]) - bits)


# Tails


def log_betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Floats:
    """The logarithm of I_x(a, b) for x below (a + 1) / (a + b + 2), however small that is."""
    p, q, at = (each.copy() for each in np.broadcast_arrays(*(np.asarray(v, float) for v in (a, b, x))))
    found = np.empty(at.shape)
    _continue_fractions(p.ravel(), q.ravel(), at.ravel(), found.reshape(-1))
    return np.asarray(p * log(at) + q * log1p(-at) - _log_beta(p, q) + log(found / p))


@compiled
def total_of(values: Any) -> Any:
    """The sum of an array, for compiled functions."""
    found = 0.0
    for k in range(len(values)):
        found += values[k]
    return found


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
