"""The pool as a fit sees it: people, means and covariances of the columns, from the sums of some folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unpooled.question import Arrays


@dataclass(frozen=True, eq=False)
class Pool:
    """Some folds of the pool, k columns: m features in units of their deviation, and last t targets."""

    rows: float
    sums: np.ndarray
    """float64 (k,)"""
    products: np.ndarray
    """float64 (k, k)"""
    targets: int

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
            self.mean[-self.targets :] - np.einsum("m,...mt->...t", self.mean[: -self.targets], w)
        )

    def error(self, w: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """The mean squared error of models, float64 (models,), over all targets.

        `w` is (models, m, t) and `intercept` (models, t). Of residuals y - b - w'x the squares sum up to
        y'y - 2 w'X'y + w'X'Xw - 2 b (1'y - w'X'1) + n b^2.
        """
        m = len(self.sums) - self.targets
        xx, xy, yy = self.products[:m, :m], self.products[:m, m:], np.trace(self.products[m:, m:])
        squares = yy - 2 * np.einsum("mt,lmt->l", xy, w) + np.einsum("lmt,lmt->l", np.matmul(xx, w), w)
        left = self.sums[m:] - np.einsum("m,lmt->lt", self.sums[:m], w)
        squares += np.sum(intercept * (self.rows * intercept - 2 * left), axis=1)
        return np.asarray(np.maximum(squares, 0) / self.rows)


@dataclass(frozen=True, eq=False)
class Folds:
    """All folds, and what a standardised column is in the units of the files."""

    folds: Sequence[Pool]
    mean: np.ndarray
    """float64 (m,): of each feature, in units of the files"""
    deviation: np.ndarray
    """float64 (m,); 1 of a constant feature"""
    varies: np.ndarray
    """bool (m,)"""

    def but(self, left_out: int | None = None) -> Pool:
        """The pool without one fold, or whole."""
        kept = [fold for k, fold in enumerate(self.folds) if k != left_out]
        return Pool(
            sum(fold.rows for fold in kept),
            np.sum([fold.sums for fold in kept], axis=0),
            np.sum([fold.products for fold in kept], axis=0),
            kept[0].targets,
        )


def folds_of(sums: Arrays, centre: np.ndarray, exponent: np.ndarray, targets: int) -> Folds:
    """The folds from what `SumProducts` asked for, features by the mean and deviation of all folds."""
    k = len(centre)
    m = k - targets
    full = _full(sums["products"], k)
    rows, totals = sums["rows"].astype(float), sums["sums"]
    n = rows.sum()
    mean = totals.sum(axis=0) / n
    # Of a column that is constant but for rounding, all that is left of its variance is rounding.
    variance = np.diagonal(full.sum(axis=0)) / n - mean**2
    varies = variance[:m] > 1e-14
    deviation = np.where(varies, np.sqrt(np.maximum(variance[:m], 0)), 1.0)
    unit = np.ldexp(1.0, exponent.astype(np.int32))
    scale = np.append(np.where(varies, 1 / deviation, 0.0), unit[m:])
    shift = np.append(mean[:m], -centre[m:] / unit[m:])  # a target in its own units
    folds = []
    for part, total, of in zip(full, totals, rows, strict=True):
        moved = part - np.outer(shift, total) - np.outer(total, shift) + of * np.outer(shift, shift)
        folds.append(Pool(of, (total - of * shift) * scale, moved * np.outer(scale, scale), targets))
    files = centre[:m] + mean[:m] * unit[:m]
    return Folds(folds, files, deviation * unit[:m], varies)


def _full(triangle: np.ndarray, columns: int) -> np.ndarray:
    """Symmetric matrices, (folds, columns, columns), from their upper triangles, (folds, pairs)."""
    full = np.zeros((len(triangle), columns, columns))
    upper = np.triu_indices(columns)
    full[:, upper[0], upper[1]] = triangle
    full[:, upper[1], upper[0]] = triangle
    return full
