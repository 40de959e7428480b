"""Models from means and covariances: least squares with penalties, over a path of these.

Of n rows, features in units of their deviations, the coefficients w and the intercept b have the least

    1/(2n) sum (y - b - w'x)^2 + penalty ((1 - share) w'w / 2 + share |w|_1)

as in scikit-learn's ElasticNet; its Ridge has n penalty in the place of the penalty. `MODELS`, at the end,
has what tells each method from the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from unpooled.fitted.model import LOGISTIC, NUMBER, SIGN, SOFTMAX
from unpooled.kernels.coordinates import descend
from unpooled.kernels.fixed_order import eigen, geometric, product, solve_positive, solve_shifted, total
from unpooled.methods.learning.options import (
    L1_SHARE,
    LINEAR_OUTPUTS,
    LOGISTIC_OUTPUTS,
    OUTPUTS,
    PENALTIES,
    SOFTPLUS_OUTPUTS,
    TANH_OUTPUTS,
)
from unpooled.methods.learning.pool import Folds, Pool, together
from unpooled.methods.learning.reading import class_names
from unpooled.plan.options import Option
from unpooled.plan.plan import Plan
from unpooled.plan.templates import Template

_SURE = 1e-12
"""A pivot that is a larger share of its diagonal is no rounding."""
_DETERMINED = 1e-14
"""Share of the largest eigenvalue below which columns determine one another."""


class Solver(Protocol):
    """A way to fit."""

    def path(self, pool: Pool) -> np.ndarray:
        """The usual penalties, falling: float64 (models,)."""

    def fit(self, pool: Pool, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (models, m, t) and intercepts (models, t), one model for each penalty."""


@dataclass(frozen=True, eq=False)
class Path:
    """The models of a path, tested on the folds that they have not seen."""

    penalties: np.ndarray
    """float64 (models,)"""
    errors: np.ndarray
    """float64 (models, folds): mean squared, over all targets"""
    chosen: int
    coefficients: np.ndarray
    """float64 (m, t), of the chosen one, fitted to all folds: per deviation of the feature"""
    intercept: np.ndarray
    """float64 (t,): where every feature is at its mean"""
    held_out: tuple[np.ndarray, np.ndarray]
    """Models of the chosen penalty, each fitted without one fold: coefficients (folds, m, t), intercepts
    (folds, t).
    """


def fit_path(folds: Folds, solver: Solver, penalties: tuple[float, ...]) -> Path:
    """Fit every penalty to all folds but one, for each in turn, and the best of them to all.

    Where no penalties are named, they are the solver's usual ones.
    """
    whole = folds.but()
    tried = np.array(sorted(penalties, reverse=True)) if penalties else solver.path(whole)
    models = [solver.fit(folds.but(k), tried) for k in range(len(folds.folds))]
    errors = np.column_stack([fold.error(*model) for fold, model in zip(folds.folds, models, strict=True)])
    chosen = int(np.argmin(total(errors)))
    w, b = solver.fit(whole, tried[: chosen + 1])  # those before it, as each begins where the last one ended
    held_out = np.stack([w[chosen] for w, _ in models]), np.stack([b[chosen] for _, b in models])
    return Path(tried, errors, chosen, w[-1], b[-1], held_out)


@dataclass(frozen=True)
class Ridge:
    """share = 0: w = (S + penalty)^-1 c, with the covariances S of features, and c with the outcome."""

    def path(self, pool: Pool) -> np.ndarray:
        return geometric(1e2, 1e-5, PENALTIES)

    def fit(self, pool: Pool, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m = len(pool.sums) - pool.targets
        covariance = pool.covariance
        w = penalised(covariance[:m, :m], covariance[:m, m:], penalties)
        return w, pool.intercept(w)


@dataclass(frozen=True)
class ElasticNet:
    """Solver by coordinate descent on covariances; each penalty starts from the previous solution."""

    share: float
    """Share of the penalty that is on |w|_1: 1 is the lasso."""

    def path(self, pool: Pool) -> np.ndarray:
        m = len(pool.sums) - pool.targets
        most = np.abs(pool.covariance[:m, m:]).max(initial=1e-300) / self.share
        return geometric(most, most * 1e-3, PENALTIES)

    def fit(self, pool: Pool, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m, t = len(pool.sums) - pool.targets, pool.targets
        covariance, w = pool.covariance, np.zeros((len(penalties), m, t))
        S = np.ascontiguousarray(covariance[:m, :m])
        for target in range(t):
            c, last = np.ascontiguousarray(covariance[:m, m + target]), np.zeros(m)
            for k, penalty in enumerate(penalties):
                last = descend(S, c, penalty * self.share, penalty * (1 - self.share), last)
                w[k, :, target] = last
        return w, pool.intercept(w)


@dataclass(frozen=True)
class LeastSquares:
    """Solver without a penalty: S w = c, refined once, over the columns that are not left out."""

    left_out: tuple[int, ...] = ()

    def path(self, pool: Pool) -> np.ndarray:
        return np.zeros(1)

    def fit(self, pool: Pool, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m = len(pool.sums) - pool.targets
        covariance, used = pool.covariance, self.used(pool)
        S, c = covariance[np.ix_(used, used)], covariance[used, m:]
        found = solved(S, c)
        w = np.zeros((1, m, pool.targets))
        # Refined once: that takes back what rounding of the first solution lost.
        w[0, used] = found + solved(S, c - product(S, found))
        return w, pool.intercept(w)

    def used(self, pool: Pool) -> np.ndarray:
        """The columns of the pool that vary and are not left out: their places."""
        m = len(pool.sums) - pool.targets
        varies = np.diagonal(pool.products)[:m] > 0
        return np.setdiff1d(np.flatnonzero(varies), self.left_out)


@dataclass(frozen=True)
class Outputs:
    """A function of a one-layer network's outputs, at those wanted of a class and of all others."""

    score: float
    """The score whose output is wanted for the people of a class."""
    slope: float
    """The derivative of the function by the score, there."""
    link: str
    """Kind of score, as named in the model file."""
    of_others: tuple[float, float] | None = None
    """Score and slope for all others; None if these are the negative, and the same."""
    zero: float = 0.0
    """The score midway between the two outputs, from which a model's scores are counted."""

    @property
    def unit(self) -> float:
        """Half the distance of the two scores wanted."""
        return (self.score - self.of_others[0]) / 2 if self.of_others else self.score

    @property
    def middle(self) -> float:
        """The middle of the two scores wanted, from which a fit counts them."""
        return self.score - self.unit


LOG_ODDS = 2.9444389791664403  # log 19
OUTPUTS_OF: Mapping[str, Outputs] = {
    LOGISTIC_OUTPUTS: Outputs(LOG_ODDS, 0.95 * 0.05, LOGISTIC),
    # tanh(s / 2) = 2 p - 1 with p the logistic function of s: so these scores are log odds, twice what tanh
    # is taken of, and the slope is by tanh's own argument.
    TANH_OUTPUTS: Outputs(LOG_ODDS, 1 - 0.9**2, LOGISTIC),
    LINEAR_OUTPUTS: Outputs(1.0, 1.0, SIGN),
    # log(1 + e^s) is 0.95 where s = log(e^0.95 - 1), and its slope is 1 - e^-0.95 there; likewise 0.05, 0.5.
    SOFTPLUS_OUTPUTS: Outputs(
        0.4610320417101535,
        0.6132589765454988,
        SIGN,
        of_others=(-2.970628109057377, 0.04877057549928599),
        zero=-0.4327521295671885,
    ),
}


@dataclass(frozen=True)
class OneLayer:
    """The closed form of a one-layer network (Fontenla-Romero et al. 2023).

    (X F F X' + penalty I) w = X F F d with X = (1, x), d the scores of the wanted outputs, and F the slope of
    the outputs' function there. Where F is a constant, one matrix does for all; else each class has its own,
    from sums over the people of the class, and over all others. The intercept is penalised as every weight
    is; the penalty is not per row.
    """

    outputs: Outputs

    def path(self, pool: Pool) -> np.ndarray:
        return Ridge().path(pool) * pool.rows * self.outputs.slope**2

    def fit(self, pool: Pool, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.outputs.of_others:
            each = [self._fit_class(pool, k, penalties) for k in range(-pool.targets, 0)]
            w = np.concatenate(each, axis=-1)
            return w[:, 1:], w[:, 0] - self.outputs.middle
        m = len(pool.sums) - pool.targets
        right = np.vstack([pool.sums[None, m:], pool.products[:m, m:]])
        w = penalised(_with_bias(pool), right, penalties / self.outputs.slope**2)
        return w[:, 1:], w[:, 0]

    def _fit_class(self, pool: Pool, place: int, penalties: np.ndarray) -> np.ndarray:
        """The weights, bias first, of the score of one of the pool's classes: float64 (models, 1 + m, 1)."""
        others = [each for each in pool.classes if each is not pool.classes[place]]
        of_class, of_others = _with_bias(pool.classes[place]), _with_bias(together(others))
        score, weight = self.outputs.of_others or (0.0, 0.0)
        matrices = self.outputs.slope**2 * of_class, weight**2 * of_others
        right = self.outputs.score * matrices[0][:, :1] + score * matrices[1][:, :1]
        return penalised(matrices[0] + matrices[1], right, penalties)


def _with_bias(pool: Pool) -> np.ndarray:
    """The products of the features with one another, and with a column of ones, first: (1 + m, 1 + m)."""
    m = len(pool.sums) - pool.targets
    both = np.empty((m + 1, m + 1))
    both[0, 0], both[0, 1:], both[1:, 0] = pool.rows, pool.sums[:m], pool.sums[:m]
    both[1:, 1:] = pool.products[:m, :m]
    return both


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The x of matrix x = right, for a symmetric matrix without negative eigenvalues.

    Along directions in which nothing changes it has none.
    """
    found = solve_positive(matrix, right, _SURE)
    if not np.isnan(found).any():
        return found
    values, vectors = eigen(matrix)
    good = values > values.max(initial=0) * _DETERMINED
    return product(vectors[:, good] / values[good], product(vectors[:, good].T, right))


def penalised(matrix: np.ndarray, right: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """The same of matrix + penalty, for each penalty: float64 (penalties, m, t).

    With the penalty 0 columns that determine one another share what either explains.
    """
    m = len(matrix)
    # A smaller penalty is lost in the rounding of the eigenvalues, of which one may be 0.
    if penalties.min() > total(np.diagonal(matrix)) * m * np.finfo(float).eps:
        return solve_shifted(matrix, right, penalties)
    return np.stack([solved(matrix + penalty * np.eye(m), right) for penalty in penalties])


@dataclass(frozen=True, eq=False)
class Errors:
    """Standard errors of least squares, with their degrees of freedom."""

    coefficients: np.ndarray
    """float64 (m,): standard errors, per deviation of the feature; NaN of those left out"""
    intercept: float
    """Standard error of the outcome where every feature is 0, in the units of the files."""
    freedom: float


def standard_errors(folds: Folds, path: Path, solver: LeastSquares) -> Errors:
    """Compute standard errors of least squares with one outcome: s^2 S^-1 / n, s^2 = RSS / (n - p - 1)."""
    pool = folds.but()
    used, m = solver.used(pool), len(folds.mean)
    S = pool.covariance[np.ix_(used, used)]
    # LAPACK may round as it likes here: errors only become rows, and nothing is asked by them.
    inverse = np.linalg.pinv(S, hermitian=True)
    freedom = pool.rows - len(used) - 1
    left = float(pool.error(path.coefficients[None], path.intercept[None])[0]) * pool.rows
    variance = left / freedom if freedom > 0 else math.nan
    found = np.full(m, math.nan)
    found[used] = np.sqrt(variance * np.diagonal(inverse) / pool.rows)
    at = folds.mean[used] / folds.unit[used]
    of_intercept = math.sqrt(variance * (1 + at @ inverse @ at) / pool.rows)
    return Errors(found, of_intercept, freedom)


def inflation(pool: Pool, used: np.ndarray) -> np.ndarray:
    """Variance inflation factors of these columns, float64 (used,): huge of those that others determine."""
    S, one = pool.covariance[np.ix_(used, used)], np.eye(len(used))
    variance = np.diagonal(S)
    least = 8 * len(used) * np.finfo(float).eps  # beyond what rounding can make negative
    return np.asarray(np.diagonal(solve_positive(S + least * variance * one, one)) * variance)


LINEAR, RIDGE, LASSO, ELASTIC_NET, FEDHEONN = "linear-model", "ridge", "lasso", "elastic-net", "fedheonn"
LOGISTIC_MODEL, NETWORK, PRIVATE_NETWORK = "logistic-model", "network", "private-network"
LOCAL_UPDATES = "local-updates"
PRIVATE_RIDGE = "private-ridge"
IMAGE_NETWORK, PRIVATE_IMAGE_NETWORK = "image-network", "private-image-network"
IMAGE_LOCAL_UPDATES = "image-local-updates"
A_NUMBER, CLASSES = "number", "classes"
SQUARED_ERROR, LOG_LOSS = "mean squared error", "log loss"
_CHOSEN = "with the penalty of the least error by cross-validation."


@dataclass(frozen=True)
class Model:
    """A method that fits a model: what tells it from the others."""

    name: str
    title: str
    sentence: str
    """Sentence for a paper that says what it computes."""
    solver: Callable[[Plan, tuple[int, ...]], Solver] | None
    """Its solver, given the first column of each one-hot category; None if it goes up the likelihood."""
    outcome: str = ""
    """Kind of outcome that it needs, `A_NUMBER` or `CLASSES`; empty if either will do."""
    link_for: Callable[[int], str] = lambda classes: SIGN if classes else NUMBER
    """Kind of score, as named in the model file, by the number of classes."""
    has_penalty: bool = True
    is_network: bool = False
    """True if it is trained round by round, and a fold left out says when to stop."""
    of_images: bool = False
    """True if its features are images."""
    is_wide: bool = False
    """True if conjugate gradients can fit it, and so to very many columns."""
    options: tuple[Option[Any], ...] = ()
    """Its own options, besides those of all models."""
    templates: tuple[Template, ...] = ()

    @property
    def loss(self) -> str:
        """The loss that chooses the penalty: a mean over the rows of the folds left out."""
        return LOG_LOSS if self.solver is None else SQUARED_ERROR


def network_link(classes: int) -> str:
    """The kind of a network's scores, by the number of classes."""
    return (SOFTMAX if classes > 2 else LOGISTIC) if classes else NUMBER


# What all networks have in common, and those on images besides.
_network = partial(Model, solver=None, link_for=network_link, has_penalty=False, is_network=True)
_of_images = partial(_network, outcome=CLASSES, of_images=True)

_ALL = (
    Model(
        LOGISTIC_MODEL,
        "Logistic model",
        "A logistic model (multinomial, if there were more than two classes) with a ridge penalty was "
        f"fitted by Newton's method to the standardised features of all cohorts, {_CHOSEN}",
        solver=None,
        outcome=CLASSES,
        link_for=lambda classes: SOFTMAX if classes > 2 else LOGISTIC,
        templates=(
            Template(
                "risk",
                "Risk model: logistic",
                "Predicts how likely each class of an outcome is, from columns of a table. Name them below.",
            ),
        ),
    ),
    Model(
        LINEAR,
        "Linear regression of an outcome",
        "A linear model was fitted by least squares to the features of all cohorts.",
        lambda plan, references: LeastSquares(references),
        outcome=A_NUMBER,
        has_penalty=False,
    ),
    Model(
        RIDGE,
        "Ridge regression",
        f"Ridge regression was fitted to the standardised features of all cohorts, {_CHOSEN}",
        lambda plan, references: Ridge(),
        is_wide=True,
        templates=(
            Template(
                "ridge",
                "Risk model: ridge regression",
                "Predicts a number, or classes, from columns of a table. Name them and the outcome below.",
            ),
        ),
    ),
    Model(
        PRIVATE_RIDGE,
        "Ridge regression with differential privacy",
        "Ridge regression was fitted with differential privacy to sums over cohorts of products of columns, "
        "cut off at their limits, with discrete Gaussian noise; the penalty was that of AdaSSP (Wang 2018).",
        solver=None,
        outcome=A_NUMBER,
        has_penalty=False,
    ),
    Model(
        LASSO,
        "Lasso",
        f"A lasso was fitted to the standardised features of all cohorts, {_CHOSEN}",
        lambda plan, references: ElasticNet(1.0),
    ),
    Model(
        ELASTIC_NET,
        "Elastic net",
        f"An elastic net was fitted to the standardised features of all cohorts, {_CHOSEN}",
        lambda plan, references: ElasticNet(L1_SHARE.of(plan)),
        options=(L1_SHARE,),
    ),
    Model(
        FEDHEONN,
        "FedHEONN: a one-layer network",
        "A one-layer network was fitted in closed form, as FedHEONN (Fontenla-Romero et al. 2023), to the "
        f"standardised features of all cohorts, {_CHOSEN}",
        lambda plan, references: OneLayer(OUTPUTS_OF[OUTPUTS.of(plan)]),
        outcome=CLASSES,
        is_wide=True,
        options=(OUTPUTS,),
    ),
    _network(
        NETWORK,
        "Network",
        "A multi-layer perceptron was trained on the standardised features of all cohorts, by gradients "
        "summed over cohorts; one fold was left out, to end the training and to test the network.",
        templates=(
            Template(
                "network",
                "Risk model: network",
                "Predicts a number, or how likely each class is, from columns of a table, with a small "
                "network. Name them and the outcome below.",
            ),
        ),
    ),
    _network(
        PRIVATE_NETWORK,
        "Network with differential privacy",
        "A multi-layer perceptron was trained on the features of all cohorts with differential privacy, by "
        "sums over cohorts of clipped gradients with discrete Gaussian noise (DP-SGD).",
    ),
    _network(
        LOCAL_UPDATES,
        "Network by local updates",
        "A multi-layer perceptron was trained on the standardised features of all cohorts: in each round "
        "every cohort took several steps on its own rows, and these were averaged by its number of rows; one "
        "fold was left out, to end the training and to test the network.",
    ),
    _of_images(
        IMAGE_NETWORK,
        "Network on images",
        "A network of kernel-normalized convolutions was trained on the images of all cohorts, by gradients "
        "summed over cohorts; one fold was left out, to end the training and to test the network.",
        templates=(
            Template(
                "images",
                "Images: network",
                "Predicts how likely each class is, from an image, with a small network. Say the size of the "
                "images and name the classes below.",
            ),
        ),
    ),
    _of_images(
        IMAGE_LOCAL_UPDATES,
        "Network on images by local updates",
        "A network of kernel-normalized convolutions was trained on the images of all cohorts: in each round "
        "every cohort took several steps on its own images, and these were averaged by its number of images; "
        "one fold was left out, to end the training and to test the network.",
    ),
    _of_images(
        PRIVATE_IMAGE_NETWORK,
        "Network on images with differential privacy",
        "A network of kernel-normalized convolutions was trained on the images of all cohorts with "
        "differential privacy, by sums over cohorts of clipped gradients of each person with discrete "
        "Gaussian noise (DP-SGD).",
    ),
)
MODELS: Mapping[str, Model] = {model.name: model for model in _ALL}
OF_CLASSES = tuple(model.name for model in MODELS.values() if model.outcome == CLASSES)
"""Methods whose outcome must have classes."""


def link_of(plan: Plan) -> str:
    """Return the kind of score of a plan's models, as named in the model file."""
    if outputs := outputs_of(plan):
        return outputs.link
    return MODELS[plan.test].link_for(len(class_names(plan)))


def outputs_of(plan: Plan) -> Outputs | None:
    """Return the outputs of a plan's one-layer network; None if it fits another model."""
    return OUTPUTS_OF[OUTPUTS.of(plan)] if plan.test == FEDHEONN else None


def is_by_class(plan: Plan) -> bool:
    """Tell whether a plan's fit needs the sums over the people of each class apart."""
    return bool((outputs := outputs_of(plan)) and outputs.of_others)
