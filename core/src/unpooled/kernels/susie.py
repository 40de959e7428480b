"""SuSiE: which of many correlated variants bear the signals of a region, by sums alone.

The model of Wang and others (Journal of the Royal Statistical Society B 82, 2020), with sufficient statistics
as Zou and others have it (PLOS Genetics 18, 2022): the effects are a sum of single ones, each of one variant
that is not known. Numbers, names and rules are those of susieR's `susie_suff_stat` by default.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EFFECTS, COVERAGE, LEAST_CORRELATION = 10, 0.95, 0.5
"""Largest number of single effects; what a credible set covers; smallest |r| of two of its variants."""

_PRIOR, _TOLERANCE, _MOST_ITERATIONS = 0.2, 1e-3, 1000
_LEAST_PRIOR = 1e-9
"""Prior variance up to which an effect is none."""
_LOGS = -30.0, 15.0
"""Logarithms between which that of a prior variance is looked for."""
_OF_LOG = 1e-8


@dataclass(frozen=True, eq=False)
class CredibleSet:
    """Variants of which one has an effect, with the probability `coverage`."""

    members: NDArray[np.int64]
    """Their places, the most probable first."""
    coverage: float
    purity: float
    """Smallest |r| of two of them."""
    log_bayes_factor: float
    """Natural logarithm: of one effect of some variant against none, beside the other effects."""


@dataclass(frozen=True, eq=False)
class Found:
    """The posterior of a region's m variants."""

    pip: Floats
    """(m,): probability that the variant has an effect."""
    sets: tuple[CredibleSet, ...]
    """The purest first."""


@dataclass(frozen=True, eq=False)
class _Single:
    """An effect of one variant, not known which: (m,) each."""

    alpha: Floats
    """Probability that it is this one."""
    mean: Floats
    second: Floats
    """Mean of the squared effect, if it is this one."""
    prior: float
    log_bayes_factor: float

    @property
    def effect(self) -> Floats:
        return self.alpha * self.mean


def susie(products: Floats, with_y: Floats, y_squares: float, people: int, *, is_number: bool) -> Found:
    """Find the posterior of m variants that vary, from X'X (m, m), X'y (m,) and y'y about the means.

    Of a number the residual variance is estimated. Of cases and controls the sums are those of a score test,
    weighted, whose residual variance is 1: they are brought to scores z with `people` - 1 for y'y.
    """
    deviation = np.sqrt(np.diagonal(products))
    r = products / deviation / deviation[:, None]
    size = people - 1.0
    if is_number:
        return _fitted(r * size, with_y / deviation * np.sqrt(size), y_squares, people, is_estimated=True)
    return _fitted(r * size, with_y / deviation * np.sqrt(size), size, people, is_estimated=False)


def _fitted(xx: Floats, xy: Floats, yy: float, people: int, *, is_estimated: bool) -> Found:
    """Fit one effect after the other to what the others leave, until the evidence's lower bound stays."""
    m, variance = len(xy), yy / (people - 1)
    none, prior = np.zeros(m), _PRIOR * variance
    singles = [_Single(np.full(m, 1 / m), none, none, prior, 0.0)] * min(EFFECTS, m)
    fitted, bound = np.zeros(m), -np.inf
    for _ in range(_MOST_ITERATIONS):
        divergence = 0.0
        for k, single in enumerate(singles):
            left = xy - (fitted - xx @ single.effect)
            found = _single(left, people - 1.0, variance, single.prior)
            fitted = xy - left + xx @ found.effect
            singles[k] = found
            squares = (people - 1.0) * float(found.alpha @ found.second)
            expected = -0.5 / variance * (squares - 2 * float(found.effect @ left))
            divergence += expected - found.log_bayes_factor
        errors = _squared_errors(singles, xx, xy, yy)
        last, bound = bound, -people / 2 * np.log(2 * np.pi * variance) - errors / (2 * variance) - divergence
        if bound - last < _TOLERANCE:
            break
        variance = errors / people if is_estimated else variance
    return _posterior(singles, xx / (people - 1.0))


def _single(left: Floats, size: float, variance: float, before: float) -> _Single:
    """Fit one effect to what others leave of X'y, (m,), with the prior variance that has most evidence."""
    estimate, error = left / size, variance / size
    prior = _prior(estimate, error, before)
    factor = _log_bayes_factors(prior, estimate, error)
    weight = np.exp(factor - factor.max())
    # Of a prior without variance nothing is left to know.
    spread = prior * error / (prior + error)
    mean = spread / variance * left
    evidence = factor.max() + np.log(weight.mean())
    return _Single(weight / weight.sum(), mean, spread + mean * mean, prior, float(evidence))


def _prior(estimate: Floats, error: float, before: float) -> float:
    from scipy.optimize import minimize_scalar  # slow to load, and few processes look for effects

    def lost(log_prior: float) -> float:
        return -_evidence(float(np.exp(log_prior)), estimate, error)

    found = minimize_scalar(lost, bounds=_LOGS, method="bounded", options={"xatol": _OF_LOG})
    prior = float(np.exp(found.x))
    best = max(prior, before, key=lambda each: _evidence(each, estimate, error))
    return best if _evidence(best, estimate, error) > 0 else 0.0


def _evidence(prior: float, estimate: Floats, error: float) -> float:
    """Natural logarithm of the Bayes factor of one effect against none."""
    factor = _log_bayes_factors(prior, estimate, error)
    return float(factor.max() + np.log(np.exp(factor - factor.max()).mean()))


def _log_bayes_factors(prior: float, estimate: Floats, error: float) -> Floats:
    share = prior / (prior + error)
    return np.asarray(0.5 * (share * estimate * estimate / error - np.log1p(prior / error)))


def _squared_errors(singles: list[_Single], xx: Floats, xy: Floats, yy: float) -> float:
    """The mean of |y - Xb|² under the posterior."""
    effects = np.array([single.effect for single in singles])
    squares = sum(float(single.alpha @ single.second) for single in singles) * float(xx[0, 0])
    whole, apart = effects.sum(axis=0), float(np.sum(effects @ xx * effects))
    return yy - 2 * float(whole @ xy) + float(whole @ xx @ whole) - apart + squares


def _posterior(singles: list[_Single], r: Floats) -> Found:
    there = [single for single in singles if single.prior > _LEAST_PRIOR]
    none = np.ones(len(r))
    for single in there:
        none = none * (1 - single.alpha)
    sets: dict[frozenset[int], CredibleSet] = {}
    for single in there:
        order = np.argsort(-single.alpha, kind="stable")
        reached = np.cumsum(single.alpha[order])
        members = order[: np.count_nonzero(reached < COVERAGE) + 1]
        purity = float(np.abs(r[np.ix_(members, members)]).min()) if len(members) > 1 else 1.0
        found = CredibleSet(members, float(reached[len(members) - 1]), purity, single.log_bayes_factor)
        sets.setdefault(frozenset(members.tolist()), found)
    pure = [each for each in sets.values() if each.purity >= LEAST_CORRELATION]
    return Found(1 - none, tuple(sorted(pure, key=lambda each: -each.purity)))
