"""Logistic regression with cohorts apart: as with an indicator of each cohort among the covariates.

Whatever the other coefficients are, each cohort finds its own intercept at home, by a search in one
dimension. It sends what is left when that follows the others: the profile likelihood, its gradient, and the
Schur complement of the intercept in the Hessian. Sums of these over the cohorts are those of the likelihood
with an intercept for each cohort, at its maximum over all of them (Patefield, Sankhya B 1977). So Newton's
method ends at its estimates and standard errors.

The place of the pool's intercept stays. Its gradient is 0 and its second derivative 1 at each cohort, so it
never moves, and tells nothing. A cohort whose people in a regression are all cases, or all controls, has no
intercept, and says nothing of an effect: it sends zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, Samples
from unpooled.asking.question import Arrays, Condition, Real
from unpooled.kernels.fixed_order import pairs
from unpooled.methods.regression.logistic_questions import Evaluate, FitCovariates, People
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.options import is_apart
from unpooled.methods.shared.standardise import about_own_means

Evaluated = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Log-likelihood (m,), gradient (m, p) and upper triangle of the Hessian of m models, the intercept first."""

_ROUNDING = 2.0**-40
"""Share of a column's weighted squares that the rounding of a difference may leave of no variation."""

_CLOSE = 1e-12
"""Largest change of an intercept, in log odds, that ends its search; what is left is of second order."""

_MOST = 60
"""Steps at the most: halving alone takes as many for all digits."""

_AT_END = 1e-6
"""Step of an intercept whose search has not ended at a maximum but at a bound, as trials far off have it."""

_FARTHEST = 80.0
"""Bounds of an intercept: beyond, every linear predictor is clipped."""

_TELLS = (
    "the pool's estimate of each variant with an intercept for each cohort, step by step, and how far "
    "frequencies and shares of cases differ between cohorts: without covariates, or for an allele that few "
    "people carry, assume that the genotype counts of each cohort's cases and controls can be worked out. By "
    "the rule `exact`, for a variant that only one person carries, that person's covariates and phenotype, "
    "without name"
)
_LIKELIHOOD_TELLS = (
    "how well each variant with the covariates tells cases from controls within the cohorts, and how far "
    "shares of cases differ between them"
)
_NULL_TELLS = (
    "how the covariates are associated with being a case within the cohorts, step by step, and how far "
    "shares of cases differ between them"
)


@dataclass(frozen=True, eq=False)
class FitCovariatesWithin(
    FitCovariates, name="logistic/null-within", title="Fit covariates within the cohorts"
):
    """Profile likelihood of the model without genotype, with this cohort's own intercept."""

    sends: ClassVar[tuple[Real, ...]] = tuple(
        replace(array, meaning=f"{array.meaning}, with this cohort's own intercept", learns=_NULL_TELLS)
        for array in FitCovariates.sends
    )
    asked_if: ClassVar[Condition] = is_apart

    def local(self, cohort: Cohort) -> Arrays:
        samples = about_own(cohort.samples)
        people = People.of(samples, self.chromosome, self.with_sex, self.centre, self.exponent)
        i, j = pairs(self.parameters)

        def at(beta: np.ndarray) -> Evaluated:
            x, weight, residual, likelihood = people.null(beta[0])
            gradient = np.einsum("n,ni->i", residual, x)
            hessian = np.einsum("n,ni,ni->i", weight, x[:, i], x[:, j])
            return likelihood.sum()[None], gradient[None], hessian[None]

        inside = people.inside
        both = np.array([0 < people.case[inside].sum() < np.count_nonzero(inside)])
        likelihood, gradient, hessian = profiled(at, self.beta[None], both)
        return {"likelihood": likelihood[0], "gradient": gradient[0], "hessian": hessian[0]}


@dataclass(frozen=True, eq=False)
class EvaluateWithin(Evaluate, name="logistic/evaluate-within", title="Fit model within the cohorts"):
    """Profile likelihood of each variant at its own coefficients, with this cohort's own intercept."""

    sends: ClassVar[tuple[Real, ...]] = tuple(
        replace(
            array,
            meaning=f"{array.meaning}, with this cohort's own intercept",
            learns=_LIKELIHOOD_TELLS if array.name == "likelihood" else _TELLS,
        )
        for array in Evaluate.sends
    )
    asked_if: ClassVar[Condition] = is_apart

    def local(self, cohort: Cohort) -> Arrays:
        copies, people = self.copies_of(cohort), self.people_of(cohort)
        regressions = self.regressions_of(cohort, copies)
        sides = np.column_stack([people.inside, people.case]).astype(np.float64)
        counts = np.repeat(sides.sum(axis=0)[None], self.variants, axis=0)
        if self.exact:
            counts[regressions.lacking] -= copies.over_missing(regressions.lacking, sides)
        both = (counts[:, 1] > 0) & (counts[:, 1] < counts[:, 0])
        likelihood, gradient, hessian = profiled(regressions.evaluate, self.beta, both)
        return {"likelihood": likelihood, "gradient": gradient, "hessian": hessian}

    def people_of(self, cohort: Cohort) -> People:
        samples = about_own(cohort.samples)
        return People.of(samples, self.chromosome, self.with_sex, self.centre, self.exponent)


def about_own(samples: Samples) -> Samples:
    """A cohort's people with covariates about their means there, which its own intercept makes up for."""
    inside, covariates = complete(samples), samples.covariates.copy()
    covariates[inside] = about_own_means(samples.covariates[inside])
    return replace(samples, covariates=covariates)


def profiled(at: Callable[[np.ndarray], Evaluated], beta: np.ndarray, both: np.ndarray) -> Evaluated:
    """Evaluate models, (m, p), at the intercepts that fit best, and take out how these follow the others.

    `both`, bool (m,): of which models there are cases and controls; zeros of the others.
    """
    m, p = beta.shape
    found = _at_own_intercepts(at, beta, both)
    likelihood, gradient, hessian = (values.copy() for values in found)
    weight = np.where(both, hessian[:, 0], 1)
    slope, of_intercept = gradient[:, 0] / weight, hessian[:, 1:p].copy()
    slope[np.abs(slope) > _AT_END] = 0
    i, j = pairs(p)
    raw, own = hessian[:, i == j][:, 1:], i > 0
    likelihood += slope * gradient[:, 0] / 2
    gradient[:, 1:] -= slope[:, None] * of_intercept
    hessian[:, own] -= of_intercept[:, i[own] - 1] * of_intercept[:, j[own] - 1] / weight[:, None]
    still = np.zeros((m, p), bool)
    still[:, 1:] = hessian[:, i == j][:, 1:] <= _ROUNDING * raw  # the same for everybody here
    gradient[still] = 0
    hessian[still[:, i] | still[:, j]] = 0
    gradient[:, 0], hessian[:, :p] = 0, 0
    for values in (likelihood, gradient, hessian):
        values[~both] = 0
    hessian[:, 0] = 1
    return likelihood, gradient, hessian


def _at_own_intercepts(
    at: Callable[[np.ndarray], Evaluated], beta: np.ndarray, both: np.ndarray
) -> Evaluated:
    """Evaluate where the gradient of the intercept, which falls everywhere, is 0: by Newton's steps, or by
    halving where they lead out of the bounds."""
    beta = beta.copy()
    beta[:, 0] = 0
    low, high = (np.full(len(beta), bound) for bound in (-_FARTHEST, _FARTHEST))
    for _ in range(_MOST):
        found = at(beta)
        gradient, weight, here = found[1][:, 0], found[2][:, 0], beta[:, 0].copy()
        low, high = np.where(gradient > 0, here, low), np.where(gradient < 0, here, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            following = here + gradient / weight
        outside = ~((following > low) & (following < high)) & (gradient != 0)
        following = np.where(outside, (low + high) / 2, np.where(gradient == 0, here, following))
        if not (both & (np.abs(following - here) > _CLOSE * (1 + np.abs(here)))).any():
            return found
        beta[:, 0] = np.where(both, following, 0)
    return found
