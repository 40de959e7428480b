"""The pool as a fit sees it: people, means and covariances of the columns, from the sums of some folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.kernels.fixed_order import product, total

_CONSTANT = 1e-14
"""Smallest variance that counts as variation, for columns in units of nearly their own size."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Some folds of the pool, k columns: m features in units of their deviation, and last t targets."""

    rows: float
    sums: np.ndarray
    """float64 (k,)"""
    products: np.ndarray
    """float64 (k, k)"""
    targets: int
    classes: tuple[Pool, ...] = ()
    """The people of each class, where a fit weighs them apart."""

    @property
    def mean(self) -> np.ndarray:
        return np.asarray(self.sums / self.rows)

    @property
    def covariance(self) -> np.ndarray:
        """float64 (k, k), by the number of rows, not one less."""
        return np.asarray(self.products / self.rows - np.outer(self.mean, self.mean))

    def intercept(self, w: np.ndarray) -> np.ndarray:
        """Float64 (..., t), that goes with coefficients w, float64 (..., m, t)."""
        return np.asarray(
            self.mean[-self.targets :] - product(np.swapaxes(w, -2, -1), self.mean[: -self.targets])
        )

    def error(self, w: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """The mean squared error of models, float64 (models,), over all targets.

        `w` is (models, m, t) and `intercept` (models, t). Of residuals y - b - w'x the squares sum up to
        y'y - 2 w'X'y + w'X'Xw - 2 b (1'y - w'X'1) + n b^2.
        """
        m, models = len(self.sums) - self.targets, len(w)
        columns, flat = np.swapaxes(w, 0, 1), w.reshape(models, -1)
        along = np.swapaxes(product(self.products[:m, :m], columns), 0, 1).reshape(models, -1)
        squares = total(np.diagonal(self.products)[m:]) + total(along * flat)
        squares -= 2 * product(flat, self.products[:m, m:].ravel())
        left = self.sums[m:] - product(self.sums[:m], columns)
        squares += total(intercept * (self.rows * intercept - 2 * left))
        # Of a perfect fit the terms cancel, and rounding may leave less than nothing.
        return np.asarray(np.maximum(squares, 0) / self.rows)


@dataclass(frozen=True, eq=False)
class Standard:
    """Second standardisation of the columns of `SumProducts`: by the mean and deviation over all folds."""

    shift: np.ndarray
    """float64 (k,): subtracted"""
    scale: np.ndarray
    """float64 (k,): multiplied by; 0 of a feature that does not vary"""
    targets: int

    def pools(self, sums: Arrays) -> list[Pool]:
        """The folds whose sums these are."""
        full, totals, rows = (
            _full(sums["products"], len(self.shift)),
            sums["sums"],
            sums["rows"].astype(float),
        )
        found = []
        for part, sums_of, n in zip(full, totals, rows, strict=True):
            across = np.outer(self.shift, sums_of)
            moved = part - across - across.T + n * np.outer(self.shift, self.shift)
            scaled = moved * np.outer(self.scale, self.scale)
            found.append(Pool(n, (sums_of - n * self.shift) * self.scale, scaled, self.targets))
        return found


@dataclass(frozen=True, eq=False)
class Folds:
    """All folds, and what a standardised column is in the units of the files."""

    standard: Standard
    folds: Sequence[Pool]
    mean: np.ndarray
    """float64 (m,): of each feature, in units of the files"""
    deviation: np.ndarray
    """float64 (m,); 1 of a constant feature"""
    unit: np.ndarray
    """float64 (m,): what coefficients of a standardised column are per; its deviation, or what the plan says.
    """
    varies: np.ndarray
    """bool (m,)"""
    origin: np.ndarray
    """float64 (t,): what was subtracted of the outcome, which may be far from 0"""

    def but(self, left_out: int | None = None) -> Pool:
        """The pool without one fold, or whole, as it also is where there is one fold only."""
        return together([fold for k, fold in enumerate(self.folds) if k != left_out] or self.folds)


def together(pools: Sequence[Pool]) -> Pool:
    """Several folds as one."""
    return Pool(
        sum(pool.rows for pool in pools),
        np.asarray(sum(pool.sums for pool in pools)),
        np.asarray(sum(pool.products for pool in pools)),
        pools[0].targets,
        tuple(together(of_class) for of_class in zip(*(pool.classes for pool in pools), strict=True)),
    )


def folds_of(
    sums: Arrays,
    centre: np.ndarray,
    exponent: np.ndarray,
    targets: int,
    times: float = 1.0,
    units: Sequence[float] = (),
) -> Folds:
    """The folds from what `SumProducts` asked for; the outcome is taken `times` a number."""
    upper = np.triu_indices(len(centre))
    whole, apart = over_classes(sums, exponent)
    squares = whole["products"][:, upper[0] == upper[1]]
    found = standardised({**whole, "squares": squares}, centre, exponent, targets, times, units)
    pools = found.standard.pools(whole)
    if apart:
        of_class = zip(*map(found.standard.pools, apart), strict=True)
        pools = [replace(pool, classes=classes) for pool, classes in zip(pools, of_class, strict=True)]
    return replace(found, folds=[pool for pool in pools if pool.rows > 0])


def over_classes(sums: Arrays, exponent: np.ndarray) -> tuple[Arrays, list[Arrays]]:
    """Return the sums of `SumProducts` over all classes; and those of each class, where they are apart."""
    classes = sums["sums"].shape[1] // len(exponent)
    if classes == 1:
        return sums, []
    names = ("sums", "products")
    apart: list[Arrays] = []
    for each in zip(*(np.split(sums[name], classes, axis=1) for name in names), strict=True):
        of_class = dict(zip(names, each, strict=True))  # its last target is 1 of all its rows, or -1
        apart.append({**of_class, "rows": np.abs(np.ldexp(of_class["sums"][:, -1], int(exponent[-1])))})
    whole = {name: total([of_class[name] for of_class in apart], 0) for name in names}
    return {**sums, **whole}, apart


def standardised(
    sums: Arrays,
    centre: np.ndarray,
    exponent: np.ndarray,
    targets: int,
    times: float = 1.0,
    units: Sequence[float] = (),
) -> Folds:
    """The same from sums and squares of the columns: without folds."""
    m = len(centre) - targets
    n, unit = float(sums["rows"].sum(dtype=int)), np.ldexp(1.0, exponent.astype(np.int32))
    mean, squares = (total(sums[name], 0)[:m] for name in ("sums", "squares"))
    mean /= n
    # Of a column that is constant but for rounding, all that is left of its variance is rounding.
    variance = squares / n - mean**2
    varies = variance > _CONSTANT
    deviation = np.where(varies, np.sqrt(np.maximum(variance, 0)), 1.0)
    own = np.append(units, np.zeros(m - len(units))) / unit[:m]
    per = np.where(varies & (own > 0), own, deviation)
    scale = np.append(np.where(varies, 1 / per, 0.0), times * unit[m:])
    standard = Standard(np.append(mean, np.zeros(targets)), scale, targets)
    files = centre[:m] + mean * unit[:m]
    return Folds(standard, [], files, deviation * unit[:m], per * unit[:m], varies, times * centre[m:])


def _full(triangle: np.ndarray, columns: int) -> np.ndarray:
    """Symmetric matrices, (folds, columns, columns), from their upper triangles, (folds, pairs)."""
    full = np.zeros((len(triangle), columns, columns))
    upper = np.triu_indices(columns)
    full[:, upper[0], upper[1]] = triangle
    full[:, upper[1], upper[0]] = triangle
    return full
