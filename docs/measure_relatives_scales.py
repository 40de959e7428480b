"""Measures predictions of cases by ridge regressions on two scales, each as a covariate and as an offset.

    .venv/bin/python docs/measure_relatives_scales.py

Writes docs/measured/relatives-scales.md. People and traits are those of measure_relatives.py. Blocks predict
as in a study; their predictions are combined linearly, as a study does, or by a logistic ridge regression, as
regenie does. Each person's prediction is that of a fit without the person, found from the whole fit by one
step. Variants are tested by the score of a logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable

import measuring
import numpy as np
from measure_relatives import CAUSAL, Pool, draw, kinds
from scipy import stats

from unpooled.kernels.fixed_order import pairs
from unpooled.methods.loco.questions import SHARES, Ridge, shifts_of
from unpooled.methods.loco.stacking import STACKED_SHARES

WRITES = (measuring.Table("relatives-scales"),)
STEPS = 25


def standardised(x: np.ndarray) -> np.ndarray:
    """Columns about their means, in their deviations."""
    return np.asarray((x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9))


def ridge(x: np.ndarray, y: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Predict each person from all others: float64 (n, shifts)."""
    error = Ridge((x.T @ x)[pairs(x.shape[1])], x.T @ y, shifts).errors(x, y)
    return np.asarray(y[:, None] - error)


def fitted(
    x: np.ndarray, y: np.ndarray, shift: float, offset: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit a logistic ridge regression, whose first column is not shrunk.

    Returns its coefficients, the linear predictor, and the inverse of the Hessian.
    """
    shrink = np.full(x.shape[1], shift)
    shrink[0] = 0
    beta = np.zeros(x.shape[1])
    for _ in range(STEPS):
        eta = x @ beta + offset
        mu = 1 / (1 + np.exp(-eta))
        weight = mu * (1 - mu)
        inverse = np.linalg.inv((x * weight[:, None]).T @ x + np.diag(shrink))
        step = inverse @ (x.T @ (y - mu) - shrink * beta)
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    return beta, x @ beta + offset, inverse


def linear(w: np.ndarray, y: np.ndarray, of: np.ndarray) -> Callable[[int], np.ndarray]:
    """Combine predictions linearly; gives each person's without a chromosome."""
    y = (y - y.mean()) / y.std()
    shifts = shifts_of(STACKED_SHARES, w.shape[1])
    best = shifts[np.argmin(((y[:, None] - ridge(w, y, shifts)) ** 2).sum(axis=0))]
    inverse = np.linalg.inv(w.T @ w + best * np.eye(w.shape[1]))
    beta, each = inverse @ (w.T @ y), w @ inverse
    error = (y - w @ beta) / (1 - (each * w).sum(axis=1))
    parts = w * (beta - each * error[:, None])
    return lambda chromosome: np.asarray(parts[:, of != chromosome].sum(axis=1))


def logistic(w: np.ndarray, y: np.ndarray, of: np.ndarray) -> Callable[[int], np.ndarray]:
    """Combine predictions on the scale of log odds, likewise."""
    x = np.column_stack([np.ones(len(w)), w])
    found = []
    # A prediction's squares count as much as in the linear fit if weighted by the variance of y.
    for shift in shifts_of(STACKED_SHARES, w.shape[1]) * y.var():
        beta, eta, inverse = fitted(x, y, shift)
        mu = 1 / (1 + np.exp(-eta))
        each, weight = x @ inverse, mu * (1 - mu)
        error = (y - mu) / (1 - weight * (each * x).sum(axis=1))
        parts = x * (beta - each * error[:, None])
        left_out = parts.sum(axis=1)
        found.append((np.logaddexp(0, np.where(y > 0, -left_out, left_out)).sum(), parts[:, 1:]))
    _, parts = min(found, key=lambda one: float(one[0]))
    return lambda chromosome: np.asarray(parts[:, of != chromosome].sum(axis=1))


def tested(x: np.ndarray, y: np.ndarray, columns: np.ndarray, offset: np.ndarray | float) -> np.ndarray:
    """Score tests of genotypes, (n, m), beside columns: χ², float64 (m,)."""
    c = np.column_stack([np.ones(len(y)), columns])
    _, eta, inverse = fitted(c, y, 0.0, offset)
    mu = 1 / (1 + np.exp(-eta))
    weight = mu * (1 - mu)
    across = (c * weight[:, None]).T @ x
    variance = (weight[:, None] * x * x).sum(axis=0) - (across * (inverse @ across)).sum(axis=0)
    return np.asarray((x.T @ (y - mu)) ** 2 / variance)


def ways(pool: Pool, y: np.ndarray, components: np.ndarray) -> dict[str, np.ndarray]:
    """χ² of the variants of the chromosomes from `CAUSAL` on, by scale and use."""
    x = standardised(pool.copies.T.astype(float))
    c = np.column_stack([np.ones(len(y)), components])
    residual = standardised(y - c @ np.linalg.lstsq(c, y, rcond=None)[0])
    left = standardised(x - c @ np.linalg.lstsq(c, x, rcond=None)[0])
    codes = np.unique(pool.chromosome)
    shifts = shifts_of(SHARES, x.shape[1])
    w = standardised(
        np.column_stack([ridge(left[:, pool.chromosome == code], residual, shifts) for code in codes])
    )
    of, none = np.repeat(codes, len(SHARES)), np.zeros(x.shape[1])
    scales = {"linear": linear(w, y, of), "logistic": logistic(w, y, of)}
    found = {name: none.copy() for name in ("linear", "logistic", "logistic, offset")}
    for code in codes[codes > CAUSAL]:
        here = pool.chromosome == code
        for scale, without in scales.items():
            beside = np.column_stack([components, without(code)])
            found[scale][here] = tested(x[:, here], y, beside, 0.0)
        found["logistic, offset"][here] = tested(x[:, here], y, components, scales["logistic"](code))
    return found


def main() -> None:
    arguments = measuring.parser(__doc__).parse_args()
    people, each, times = (1200, 30, 1) if arguments.small else (3000, 100, 16)
    heads = ("linear", "logistic", "logistic, offset")
    columns = [f"{about} {head}" for about in ("λ", "χ²") for head in heads]
    table = [f"| People | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    for number, (title, kind) in enumerate([*kinds()][: 1 if arguments.small else None]):
        random = np.random.default_rng(number)
        pool = draw(kind, people, each, random)
        components = pool.components()
        near = np.convolve(pool.is_cause, np.ones(21), "same") > 0
        null = (pool.chromosome > CAUSAL) & ~near
        found = [ways(pool, pool.values(random, few=True), components) for _ in range(times)]
        lambdas = [np.median([one[head][null] for one in found]) / stats.chi2.median(1) for head in heads]
        causes = [np.mean([one[head][pool.is_cause] for one in found]) for head in heads]
        figures = [*(f"{each:.2f}" for each in lambdas), *(f"{each:.1f}" for each in causes)]
        table.append(f"| {title} | {' | '.join(figures)} |")
        print(table[-1], flush=True)
    measuring.write(arguments.out, "relatives-scales", table)


if __name__ == "__main__":
    main()
