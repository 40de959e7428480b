"""Fits by scikit-learn and statsmodels of the pooled, standardised table, and FedHEONN in closed form."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
from scipy.optimize import linprog
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge

from unpooled.methods.learning.models import FEDHEONN, LINEAR, LOGISTIC_MODEL, RIDGE
from unpooled.methods.learning.options import L1_SHARE
from unpooled.plan.plan import Plan

from .truth import Pool

ODDS, SLOPE = np.log(19), 0.95 * 0.05


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients per deviation of each feature, float64 (m, scores), and where all are at their means."""

    w: np.ndarray
    b: np.ndarray

    def scores(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(z @ self.w + self.b)


def targets(pool: Pool, y: np.ndarray) -> np.ndarray:
    """Return what linear methods fit: the number, or 1 and -1 of each class: float64 (n, scores)."""
    if not (classes := pool.classes):
        return np.asarray(y[:, None], float)
    own = classes if len(classes) > 2 else classes[1:]
    return np.where(y[:, None].astype(str) == np.array(own), 1.0, -1.0)


def fit(pool: Pool, z: np.ndarray, y: np.ndarray, penalty: float, used: np.ndarray) -> Fit:
    """The model of some rows. `used`, bool (m,), are the columns of a fit without a penalty."""
    plan = pool.plan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if plan.test == LOGISTIC_MODEL:
            return _logistic(pool, z, y, penalty, used)
        t = targets(pool, y)
        middle = np.asarray(t.astype(np.longdouble).mean(axis=0), float)
        if plan.test == FEDHEONN:
            return _one_layer(z, t * ODDS, penalty)
        if plan.test == LINEAR or (penalty == 0 and plan.test == RIDGE):
            found = _least_squares(z, t - middle, used if plan.test == LINEAR else np.ones(z.shape[1], bool))
        else:
            each = [_penalised(plan, z, column, penalty) for column in (t - middle).T]
            found = Fit(np.array([w for w, _ in each]).T, np.array([b for _, b in each]))
        return Fit(found.w, found.b + middle)


def _least_squares(z: np.ndarray, t: np.ndarray, used: np.ndarray) -> Fit:
    centre = z.mean(axis=0)
    w = np.zeros((z.shape[1], t.shape[1]))
    w[used] = np.linalg.lstsq((z - centre)[:, used], t - t.mean(axis=0), rcond=1e-9)[0]
    return Fit(w, t.mean(axis=0) - centre @ w)


def _penalised(plan: Plan, z: np.ndarray, t: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    share = L1_SHARE.of(plan) if plan.test == "elastic-net" else float(plan.test != RIDGE)
    if share == 0:
        made = Ridge(penalty * len(z), solver="svd").fit(z, t)
    else:
        scale = t.std() or 1.0  # what its tolerance is relative to would overflow, or vanish
        made = ElasticNet(penalty / scale, l1_ratio=share, tol=1e-13, max_iter=200_000)
        if share < 1:  # the part on squares does not scale
            made, scale = ElasticNet(penalty, l1_ratio=share, tol=1e-13, max_iter=200_000), 1.0
        made = made.fit(z, t / scale)
        return made.coef_ * scale, float(made.intercept_) * scale
    return made.coef_, float(made.intercept_)


def _one_layer(z: np.ndarray, t: np.ndarray, penalty: float) -> Fit:
    """Fit one layer in extended precision, as its paper writes it; without a penalty by least squares."""
    x = np.column_stack([np.ones(len(z)), z])
    if penalty == 0:
        found = np.linalg.lstsq(x, t, rcond=1e-9)[0]
        return Fit(found[1:], found[0])
    wide = x.astype(np.longdouble)
    left = SLOPE**2 * wide.T @ wide + penalty * np.eye(x.shape[1])
    found = _solved(left, SLOPE**2 * wide.T @ t).astype(float)
    return Fit(found[1:], found[0])


def _solved(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Gauss and Jordan's elimination with pivots, in the precision of its arguments."""
    a = np.column_stack([left, right])
    for k in range(len(a)):
        pivot = k + int(np.abs(a[k:, k]).argmax())
        a[[k, pivot]] = a[[pivot, k]]
        a[k] /= a[k, k]
        others = np.arange(len(a)) != k
        a[others] -= a[others, k, None] * a[k]
    return np.asarray(a[:, len(a) :])


def _logistic(pool: Pool, z: np.ndarray, y: np.ndarray, penalty: float, used: np.ndarray) -> Fit:
    classes = pool.classes
    place = np.searchsorted(np.sort(classes), y.astype(str))
    order = np.argsort(np.argsort(classes))  # of the plan's classes among sorted ones
    used = used if penalty == 0 else np.ones(z.shape[1], bool)
    solver = "newton-cholesky" if len(classes) == 2 else "newton-cg"
    C = np.inf if penalty == 0 else 1 / (penalty * len(z))
    made = LogisticRegression(C=C, tol=1e-13, max_iter=3000, solver=solver).fit(z[:, used], place)
    scores = len(classes) if len(classes) > 2 else 1
    w, b = np.zeros((z.shape[1], scores)), np.array(made.intercept_)
    if scores == 1:
        sign = 1.0 if order[1] == 1 else -1.0
        w[used] = sign * made.coef_.T
        return Fit(w, sign * b)
    w[used] = made.coef_.T[:, order]
    return Fit(w, b[order])


def likelihood_step(pool: Pool, z: np.ndarray, y: np.ndarray, penalty: float, at: Fit) -> float:
    """Return how far Newton's method would go from a fit: the largest step divided by the largest
    coefficient.
    """
    classes, x = pool.classes, np.column_stack([np.ones(len(z)), z])
    own = np.array(classes if len(classes) > 2 else classes[1:])
    said = (y[:, None].astype(str) == own).astype(float)
    scores = at.scores(z)
    if len(own) == 1:
        p = 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
    else:
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
    beta = np.vstack([at.b, at.w])
    weights = np.append(0.0, np.full(z.shape[1], penalty * len(z)))
    gradient = (x.T @ (said - p) - weights[:, None] * beta).T.ravel()
    k, m = len(own), x.shape[1]
    hessian = np.zeros((k, m, k, m))
    for a in range(k):
        for c in range(k):
            hessian[a, :, c] = (x * (p[:, a] * ((a == c) - p[:, c]))[:, None]).T @ x
    full = hessian.reshape(k * m, k * m) + np.diag(np.tile(weights, k))
    step = np.linalg.lstsq(full, gradient, rcond=1e-13)[0]
    return float(np.abs(step).max() / max(1e-3, np.abs(beta).max()))


def are_separated(pool: Pool, z: np.ndarray, y: np.ndarray) -> bool:
    """Tell whether some scores put each row's own class first, with or without ties: then there is no best
    fit.

    By linear programming (Albert and Anderson 1984): among coefficients within [-1, 1] the largest sum of
    the leads of the right classes.
    """
    classes, x = pool.classes, np.column_stack([np.ones(len(z)), z])
    place = np.array([classes.index(word) for word in y])
    k, m = len(classes), x.shape[1]
    leads = []
    for other in range(k):
        rows = np.flatnonzero(place != other)
        lead = np.zeros((len(rows), k, m))
        lead[np.arange(len(rows)), place[rows]] = x[rows]
        lead[np.arange(len(rows)), other] -= x[rows]
        leads.append(lead.reshape(len(rows), k * m))
    leads = np.vstack(leads)
    found = linprog(
        -leads.sum(axis=0), A_ub=-leads, b_ub=np.zeros(len(leads)), bounds=(-1, 1), method="highs"
    )
    return bool(found.status == 0 and -found.fun > 1e-6)


def errors_of(pool: Pool, z: np.ndarray, y: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Standard errors of the coefficients without a penalty, per deviation: float64 (used columns,)."""
    x = sm.add_constant(z[:, used], has_constant="add")
    if pool.classes:
        made = sm.Logit((y == pool.classes[1]).astype(float), x)
        return np.asarray(made.fit(disp=0, tol=1e-14, maxiter=100).bse[1:])
    scale = y.std() or 1.0
    return np.asarray(sm.OLS(y / scale, x).fit().bse[1:] * scale)
