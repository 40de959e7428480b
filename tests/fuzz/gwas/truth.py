"""Who is right about a variant: the pooled rows of its regression, a linear program, and statsmodels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special, stats
from scipy.optimize import linprog

from .files import columns
from .study import Study

_DEPENDENT = 1e-5
"""Smallest singular value of columns of length 1 below which they depend on one another; then variances are
inflated by 1e10."""
_APART, _MAYBE = 1e-5, 1e-8
"""Value of the linear program from which on cases and controls are told apart, and to which they are not."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The estimates of one regression by statsmodels."""

    tests: tuple[str, ...]
    beta: np.ndarray
    se: np.ndarray
    p: np.ndarray

    def of(self, test: str) -> tuple[float, float, float]:
        """(coefficient, standard error, P)."""
        k = self.tests.index(test)
        return float(self.beta[k]), float(self.se[k]), float(self.p[k])


@dataclass(frozen=True, eq=False)
class Rows:
    """The people of one variant's regression."""

    test: str
    names: tuple[str, ...]
    """Of the columns but the intercept."""
    y: np.ndarray
    x: np.ndarray
    """float64 (n, 1 + columns): the intercept first."""

    @property
    def scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns centred and of deviation 1, and what one of each is; a constant one stays zero."""
        size = self.x[:, 1:].std(axis=0)
        centred = self.x[:, 1:] - self.x[:, 1:].mean(axis=0)
        still = size <= 1e-12 * np.maximum(1e-300, np.abs(self.x[:, 1:]).max(axis=0))
        size = np.where(still, 1, size)
        return np.column_stack([self.x[:, 0], np.where(still, 0, centred / size)]), size

    @property
    def is_dependent(self) -> bool:
        """Whether columns depend on one another, or there are hardly more people than columns."""
        x, _ = self.scaled
        if len(x) < x.shape[1]:
            return True
        return bool(np.linalg.svd(x / np.sqrt(len(x)), compute_uv=False).min() < _DEPENDENT)

    def is_estimable(self) -> bool | None:
        """Whether the likelihood has a maximum: cases and controls overlap. None where rounding decides."""
        if len(set(self.y.tolist())) < 2 or self.is_dependent:
            return False
        x, _ = self.scaled
        signed = np.unique((2 * self.y - 1)[:, None] * x, axis=0)
        found = linprog(
            -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs"
        )
        value = -found.fun
        return None if _MAYBE < value < _APART else bool(value <= _MAYBE)

    def fit(self) -> Fit | None:
        """The estimates; None where statsmodels finds none."""
        import statsmodels.api as sm

        x, size = self.scaled
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if self.test == "logistic":
                    start = self._maximum(x, np.zeros(len(x)))
                    result = sm.Logit(self.y, x).fit(start, disp=0, method="newton", tol=1e-14, maxiter=100)
                else:
                    result = sm.OLS(self.y - self.y.mean(), x).fit()  # else it loses the mean's digits
            except (np.linalg.LinAlgError, sm.tools.sm_exceptions.PerfectSeparationError, ValueError):
                return None
            beta, se = result.params[1:] / size, result.bse[1:] / size
            tail = stats.norm.sf if self.test == "logistic" else stats.t(len(x) - x.shape[1]).sf
            p = 2 * tail(np.abs(beta / se))
        return Fit(self.names, beta, se, p)

    def shortfall(self, betas: Mapping[str, float]) -> float:
        """By how much the likelihood is below its maximum at these coefficients and the best others."""
        x, size = self.scaled
        fixed = [name in betas for name in self.names]
        there = x[:, 1:][:, fixed] @ (
            np.array([betas[name] for name in self.names if name in betas]) * size[fixed]
        )
        free = x[:, [True, *(not is_fixed for is_fixed in fixed)]]
        best = self._maximum(x, np.zeros(len(x)))
        return self._likelihood(x @ best) - self._likelihood(there + free @ self._maximum(free, there))

    def _maximum(self, x: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Coefficients at or near the maximum: Newton's steps, halved while the likelihood falls."""
        beta, best = np.zeros(x.shape[1]), -np.inf
        step = beta
        for _ in range(300):
            value = self._likelihood(offset + x @ (beta + step))
            if not value >= best:
                step = step / 2
                continue
            beta, best = beta + step, value
            p = special.expit(offset + x @ beta)
            weight = (x * (p * (1 - p))[:, None]).T @ x
            step = np.linalg.lstsq(weight, x.T @ (self.y - p), rcond=None)[0]
            if np.abs(step).max() < 1e-9:
                break
        return beta

    def _likelihood(self, eta: np.ndarray) -> float:
        return float(np.sum(self.y * eta - np.logaddexp(0, eta)))


class Truth:
    """The pooled rows of a study's variants, as PLINK 1.9 counts them or as plink2 does."""

    def __init__(self, study: Study, kept: np.ndarray) -> None:
        """`kept`, bool (n,): who is left by --mind."""
        self.study, self.kept = study, kept
        people = study.people
        values = np.array([column for _, column in columns(study)]).reshape(-1, len(people.sex)).T
        phenotype = people.phenotype
        if not study.plan.get("allow_no_sex"):
            phenotype = np.where(people.sex == 0, np.nan, phenotype)
        self.covariates, self.phenotype = values, phenotype
        self.complete = kept & ~np.isnan(phenotype) & ~np.isnan(values).any(axis=1)
        self.place = {name: k for k, name in enumerate(study.variants.name.tolist())}
        self._found: dict[tuple[str, str, bool], Rows] = {}

    def rows(self, name: str, a1: str, by_plink2: bool) -> Rows:
        """The regression of a variant on copies of A1, as it is called in the pool."""
        key = (name, a1, by_plink2)
        if key not in self._found:
            self._found[key] = self._rows(self.place[name], a1, by_plink2)
        return self._found[key]

    def everyone(self, name: str, a1: str) -> Rows:
        """As plink2 has them, but with those who lack the call, whose copies are 0."""
        return self._rows(self.place[name], a1, True, called=False)

    def _rows(self, variant: int, a1: str, by_plink2: bool, called: bool = True) -> Rows:
        study, people = self.study, self.study.people
        v, code = study.variants, int(study.variants.chromosome[variant])
        first, _, turned = study.pooled_pair(variant)
        second = turned == (a1 == first)  # A1 is the second of `alleles`
        copies = v.copies[variant].astype(float)
        copies = np.where(copies < 0, np.nan, 2 - copies if second else copies)
        men, inside = people.sex == 1, self.complete
        on_x, on_y, on_mt = (code == study.autosomes + k for k in (1, 2, 4))
        single = (men & ((on_x and not by_plink2) or on_y)) | on_mt
        copies = np.where(
            single, copies / 2 if by_plink2 else np.where(copies == 1, np.nan, copies / 2), copies
        )
        with_sex = on_x and {1, 2} <= set(people.sex[inside].tolist())
        if on_y:
            inside = inside & men
        if on_x and with_sex and by_plink2:
            inside = inside & (people.sex != 0)
        inside, copies = (inside & ~np.isnan(copies), copies) if called else (inside, np.nan_to_num(copies))
        names = ["ADD", *(name for name, _ in columns(study))]
        parts = [np.ones(len(men)), copies, *self.covariates.T]
        if with_sex:
            names.append("SEX")
            parts.append(np.where(by_plink2, 2.0 - men, men))
        return Rows(study.test, tuple(names), self.phenotype[inside], np.column_stack(parts)[inside])
