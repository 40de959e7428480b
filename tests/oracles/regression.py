"""A regression on pooled rows: whether it has an estimate, by a linear program, and which, by statsmodels."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats
from scipy.optimize import linprog

_DEPENDENT = 1e-5
"""Smallest singular value of columns of length 1 below which they depend on one another; then variances are
inflated by 1e10."""
_NEXT_TO = 1e-6
"""Distance from a limit within which rounding decides on which side a value is."""
_APART, _MAYBE = 1e-5, 1e-8
"""Value of the linear program from which on cases and controls are told apart, and to which they are not."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The estimates of one regression by statsmodels."""

    tests: tuple[str, ...]
    beta: np.ndarray
    se: np.ndarray
    p: np.ndarray
    covariance: np.ndarray

    def of(self, test: str) -> tuple[float, float, float]:
        """(coefficient, standard error, P)."""
        k = self.tests.index(test)
        return float(self.beta[k]), float(self.se[k]), float(self.p[k])

    def together(self, places: Sequence[int]) -> float:
        """Wald's chi-square of some coefficients together."""
        z, size = self.beta[places] / self.se[places], np.outer(self.se[places], self.se[places])
        return float(z @ np.linalg.solve(self.covariance[np.ix_(places, places)] / size, z))


@dataclass(frozen=True, eq=False)
class Rows:
    """The people of one variant's regression."""

    test: str
    names: tuple[str, ...]
    """Names of the columns but the intercept."""
    y: np.ndarray
    x: np.ndarray
    """float64 (n, 1 + columns): the intercept first."""
    products: tuple[tuple[int, int, int], ...] = ()
    """Columns that are products: which, and of which two."""
    robust: bool = False
    """Errors are those of the sandwich estimator."""

    @functools.cached_property
    def scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns centred and of deviation 1, and what one of each is; a constant one stays zero."""
        return _scaled(self.x)

    @property
    def about_centres(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns, with products of covariates about their means, and what turns their coefficients, but
        the intercept's, into those of the columns: else statsmodels loses digits."""
        x, back = self.x.copy(), np.eye(self.x.shape[1] - 1)
        for product, own, covariate in self.products:
            mean = x[:, covariate].mean()
            x[:, product] = x[:, own] * (x[:, covariate] - mean)
            back[own - 1, product - 1] = -mean
        return x, back

    @functools.cached_property
    def least(self) -> float:
        """The smallest singular value of the columns, each of length 1; 0 with fewer people than columns."""
        if len(self.x) < self.x.shape[1]:
            return 0.0
        x, _ = self.scaled
        return float(np.sqrt(max(0, np.linalg.eigvalsh(x.T @ x / len(x)).min())))

    @property
    def is_dependent(self) -> bool:
        """True if columns depend on one another, or there are hardly more people than columns."""
        return self.least < _DEPENDENT

    @property
    def is_inflated(self) -> bool | None:
        """True if columns are so close that PLINK gives no number: a correlation above 0.999, or a variance
        inflated more than 50 times. None where rounding decides.
        """
        correlation = np.atleast_2d(np.corrcoef(self.x[:, 1:], rowvar=False))
        closest = np.abs(correlation - np.eye(len(correlation))).max() / 0.999
        most = max(closest, np.linalg.inv(correlation).diagonal().max() / 50)
        return None if abs(most - 1) < _NEXT_TO else bool(most > 1)

    def is_estimable(self) -> bool | None:
        """Tell whether the likelihood has a maximum: cases and controls overlap. None if rounding decides."""
        if len(set(self.y.tolist())) < 2 or self._is_told_by_one or self.is_dependent:
            return False
        x, _ = self.scaled
        sign = 2 * self.y - 1
        off = self.y - special.expit(x @ self._maximum(x, np.zeros(len(x)), most=40))
        if np.abs(off @ x).sum() <= _MAYBE * np.abs(off).min():  # more than which the program cannot come to
            return True
        signed = np.unique(sign[:, None] * x, axis=0)
        found = linprog(
            -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs"
        )
        value = -found.fun
        return None if _MAYBE < value < _APART else bool(value <= _MAYBE)

    @property
    def _is_told_by_one(self) -> bool:
        """True if a column alone separates cases from controls, but for those at one value."""
        cases, controls = self.x[self.y == 1, 1:], self.x[self.y == 0, 1:]
        above, below = cases.min(axis=0) >= controls.max(axis=0), cases.max(axis=0) <= controls.min(axis=0)
        return bool((above | below).any())

    def fit(self) -> Fit | None:
        """The estimates; None where statsmodels finds none."""
        import statsmodels.api as sm

        about, back = self.about_centres
        x, size = _scaled(about)
        errors = {"cov_type": "HC1"} if self.robust else {}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if self.test == "logistic":
                    steps = {"disp": 0, "method": "newton", "tol": 1e-14, "maxiter": 100}
                    result = sm.Logit(self.y, x).fit(self._maximum(x, np.zeros(len(x))), **steps, **errors)
                else:
                    result = sm.OLS(self.y - self.y.mean(), x).fit(
                        **errors
                    )  # else it loses the mean's digits
            except (np.linalg.LinAlgError, sm.tools.sm_exceptions.PerfectSeparationError, ValueError):
                return None
            beta = back @ (result.params[1:] / size)
            covariance = back @ (result.cov_params()[1:, 1:] / np.outer(size, size)) @ back.T
            se = np.sqrt(np.diag(covariance))
            tail = stats.norm.sf if self.test == "logistic" else stats.t(len(x) - x.shape[1]).sf
            p = 2 * tail(np.abs(beta / se))
        return Fit(self.names, beta, se, p, covariance)

    def penalised(self, start: np.ndarray) -> Fit | None:
        """Firth's estimates, at the maximum next to `start`, of all columns; None where there is none."""
        about, back = self.about_centres
        x, size = _scaled(about)
        beta = np.concatenate([[0.0], np.linalg.solve(back, start) * size])
        beta[0] = self._maximum(x[:, :1], x @ beta)[0]
        beta = self._climb(x, beta)
        for _ in range(60):
            score = self._penalised(x, beta)[1]
            columns = [
                (self._penalised(x, beta + h)[1] - self._penalised(x, beta - h)[1]) / 2e-5
                for h in 1e-5 * np.eye(len(beta))
            ]
            try:
                step = np.linalg.solve(-np.array(columns).T, score)
            except np.linalg.LinAlgError:
                return None
            beta = beta + step
            if not np.abs(step).max() > 1e-9:
                break
        found = back @ (beta[1:] / size)
        covariance = back @ (self._penalised(x, beta)[2][1:, 1:] / np.outer(size, size)) @ back.T
        se = np.sqrt(np.diag(covariance))
        return Fit(self.names, found, se, 2 * stats.norm.sf(np.abs(found / se)), covariance)

    def _climb(self, x: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Nearer to the maximum: steps that are halved while Firth's likelihood falls."""
        for _ in range(100):
            best, score, inverse = self._penalised(x, beta)
            step = inverse @ score
            step *= min(1.0, 2 / np.abs(step).max())
            while self._penalised(x, beta + step)[0] < best and np.abs(step).max() > 1e-6:
                step = step / 2
            beta = beta + step
            if np.abs(step).max() < 1e-5:
                break
        return beta

    def _penalised(self, x: np.ndarray, beta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Firth's likelihood, its gradient, and the inverse information."""
        eta = x @ beta
        p = special.expit(eta)
        weight = p * (1 - p)
        information = (x * weight[:, None]).T @ x
        inverse = np.linalg.pinv(information, hermitian=True)
        leverage = weight * np.einsum("ni,ij,nj->n", x, inverse, x)
        value = self._likelihood(eta) + np.linalg.slogdet(information)[1] / 2
        return float(value), x.T @ (self.y - p + leverage * (0.5 - p)), inverse

    def shortfall(self, betas: Mapping[str, float]) -> float:
        """Return how far the likelihood is below its maximum at these coefficients and the best others."""
        x, size = self.scaled
        fixed = [name in betas for name in self.names]
        there = x[:, 1:][:, fixed] @ (
            np.array([betas[name] for name in self.names if name in betas]) * size[fixed]
        )
        free = x[:, [True, *(not is_fixed for is_fixed in fixed)]]
        best = self._maximum(x, np.zeros(len(x)))
        return self._likelihood(x @ best) - self._likelihood(there + free @ self._maximum(free, there))

    def _maximum(self, x: np.ndarray, offset: np.ndarray, most: int = 300) -> np.ndarray:
        """Coefficients at or near the maximum: Newton's steps, halved while the likelihood falls."""
        beta, best = np.zeros(x.shape[1]), -np.inf
        step = beta
        for _ in range(most):
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


def _scaled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = x[:, 1:].std(axis=0)
    centred = x[:, 1:] - x[:, 1:].mean(axis=0)
    still = size <= 1e-12 * np.maximum(1e-300, np.abs(x[:, 1:]).max(axis=0))
    size = np.where(still, 1, size)
    return np.column_stack([x[:, 0], np.where(still, 0, centred / size)]), size
