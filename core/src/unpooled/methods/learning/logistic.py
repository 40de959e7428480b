"""Logistic and multinomial models with a ridge penalty, by Newton's method on the likelihood of the pool.

Of n rows, features in units of their deviations, coefficients w and intercepts b have the least

    -1/n sum of log likelihoods + penalty w'w / 2

as in scikit-learn's LogisticRegression with C = 1 / (n penalty). For each penalty a model is fitted without
each fold, all side by side; the penalty that does best on what its models have not seen is then fitted to
all rows. With the one penalty 0 that is maximum likelihood, with the standard errors of the inverse
Hessian.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Go, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import orthonormal, product, settled, step_of, total
from unpooled.methods.learning.fit import refuse_determined
from unpooled.methods.learning.logistic_questions import MOST_NUMBERS, Differentiate, penalties_of, triangle
from unpooled.methods.learning.models import Errors, Path, solved
from unpooled.methods.learning.options import MOST_TURNS
from unpooled.methods.learning.performance import measure_path
from unpooled.methods.learning.pool import Folds
from unpooled.methods.learning.procedure import Sums, describe_columns, sum_products
from unpooled.methods.learning.result import report

_NEAR = 1e-8
"""Length of a step, in standard errors, at which it is the last: the error left is about its square."""
_SETTLED = 1e-3
"""Largest relative change of the coefficients in the last step: where a likelihood has no maximum, it
flattens out while they keep growing.
"""
_MOST_HALVINGS = 30
_NOISE = 1e-10
"""Relative fall of a likelihood that rounding can explain."""
_GRID_BITS = 30
"""Trials lie on a grid of 2^-30 in standard errors: no last bit shows in them."""


@dataclass(frozen=True, eq=False)
class Newton:
    """State of several models during the fit; `taken` holds coefficients per deviation, float64 (models,
    scores, m + 1).
    """

    name: ClassVar[str] = "model/climb"

    penalty: np.ndarray
    """float64 (models,)"""
    without: np.ndarray
    """int64 (models,): the fold that each leaves out; -1 for none"""
    taken: np.ndarray
    step: np.ndarray
    """Change of the coefficients, from `taken` to the next trial."""
    height: np.ndarray
    """float64 (models,): the penalised log likelihood where a model is; -inf before the first turn"""
    halvings: np.ndarray
    """int64 (models,): of the step, since it was made"""
    ended: np.ndarray
    """bool (models,)"""
    held_out: np.ndarray
    """float64 (models,): the log likelihood of the fold left out, where a model is"""
    hessian: np.ndarray
    """float64 (models, width, width), where a model is; (0, 0, 0) where it is not kept"""
    iteration: int

    @classmethod
    def begin(cls, penalty: np.ndarray, without: np.ndarray, start: np.ndarray, *, keeps: bool) -> Newton:
        models, width = len(penalty), start[0].size if len(start) else 0
        return cls(
            penalty,
            without,
            start,
            np.zeros_like(start),
            np.full(models, -np.inf),
            np.zeros(models, np.int64),
            np.zeros(models, bool),
            np.zeros(models),
            np.zeros((models, width, width) if keeps else (0, 0, 0)),
            1,
        )

    def tried(self, grid: float) -> np.ndarray:
        """The trials of all models."""
        return settled(self.taken + self.step, grid)

    @property
    def running(self) -> np.ndarray:
        """int64: the models that have not ended."""
        return np.flatnonzero(~self.ended)


@procedure("model/logistic")
def fit_logistic(study: Study) -> Asks[None]:
    """Sum products, for the scale of the columns; then fit every penalty without each fold."""
    base = yield from sum_products(study, (yield from describe_columns(study)))
    penalties, folds = penalties_of(study.plan), np.flatnonzero(base.rows)
    if not penalties.any() and not study.plan.alone:
        refuse_determined(base, base.folds())
    models = np.repeat(penalties, len(folds)), np.tile(folds, len(penalties)).astype(np.int64)
    scores, columns = base.question.targets, base.question.columns - base.question.targets
    refuse_much(len(models[0]) * triangle(scores * (columns + 1)))
    start = np.zeros((len(models[0]), scores, columns + 1))
    nothing = Newton.begin(np.zeros(0), np.zeros(0, np.int64), start[:0], keeps=False)
    yield from Go(iterate(study, base, nothing, Newton.begin(*models, start, keeps=False)))


@procedure("model/climb")
def iterate(study: Study, base: Sums, tested: Newton, at: Newton) -> Asks[None]:
    """Try the next step of all models that have not ended.

    `tested` are the models without a fold once they have ended; none before that.
    """
    some = at.running
    design = base.folds()
    beta = product(at.tried(_grid(base))[some], _to_standard(design))
    question = Differentiate(base.question, beta, at.without[some], at.iteration)
    # Each cohort rounds each of two likelihoods by half of the last bit at most.
    rounding = study.plan.cohorts / (1 << question.digits_of_likelihood)
    following = advance(base, design, at, (yield question), rounding)
    if len(following.running) and following.iteration <= MOST_TURNS:
        yield from Go(iterate(study, base, tested, following))
    if len(following.running) and not study.plan.alone:
        refuse_unfinished(following)
    if not len(tested.penalty):
        yield from Go(iterate(study, base, following, best(following)))
    yield from Go(tell(study, base, tested, following))


def best(tested: Newton) -> Newton:
    """The model of all rows with the penalty that does best, from the mean of those without a fold."""
    penalty = tested.penalty[np.argmax(total(_by_penalty(tested))) * _folds(tested)]
    start = total(tested.taken[tested.penalty == penalty], 0)[None] / _folds(tested)
    return Newton.begin(np.array([penalty]), np.array([-1]), start, keeps=True)


def _folds(tested: Newton) -> int:
    return int(np.count_nonzero(tested.penalty == tested.penalty[0]))


def _by_penalty(tested: Newton) -> np.ndarray:
    """Return the log likelihood of the fold left out, by penalty and fold: float64 (penalties, folds)."""
    return tested.held_out.reshape(-1, _folds(tested))


def _grid(base: Sums) -> float:
    """The step on which trials lie."""
    return step_of(_GRID_BITS, int(base.rows.sum(dtype=int)))


def _to_standard(folds: Folds) -> np.ndarray:
    """The matrix that takes (1, z), as columns are sent, to (1, x), x in deviations from the mean."""
    m = len(folds.mean)
    shift, scale = folds.standard.shift[:m], folds.standard.scale[:m]
    found = np.diag(np.append(1.0, scale))
    found[1:, 0] = -shift * scale
    return found


def advance(base: Sums, folds: Folds, at: Newton, sums: Arrays, rounding: float) -> Newton:
    """Take the steps that were tried, or halve them where a likelihood falls by more than rounding; go on."""
    new = replace(
        at,
        **{
            name: getattr(at, name).copy()
            for name in ("taken", "step", "height", "halvings", "ended", "held_out", "hessian")
        },
        iteration=at.iteration + 1,
    )
    to, trials = _to_standard(folds), at.tried(_grid(base))
    for place, k in enumerate(at.running.tolist()):
        rows = base.rows.sum(dtype=int) - (base.rows[at.without[k]] if at.without[k] >= 0 else 0)
        tried, weight = trials[k], at.penalty[k] * float(rows)
        height = float(sums["likelihood"][place]) - weight * float(total(tried[:, 1:].ravel() ** 2)) / 2
        least = at.height[k] - _NOISE * (1 + abs(height)) - rounding
        # After so many halvings the step is below the grid, and is taken as it is.
        if height < least and at.halvings[k] < _MOST_HALVINGS:
            new.step[k] /= 2
            new.halvings[k] += 1
            continue
        gradient, hessian = _standardised(sums, place, to, tried.shape[0])
        # The intercept has no penalty.
        penalised = np.tile(np.append(0.0, np.full(tried.shape[1] - 1, weight)), len(tried))
        free = _free(base, folds, at.penalty[k])
        slope = gradient - penalised * tried.ravel()
        step = _solved(hessian + np.diag(penalised), slope, free, len(tried))
        new.taken[k], new.height[k], new.held_out[k] = tried, height, sums["held_out"][place]
        new.step[k], new.halvings[k] = step.reshape(tried.shape), 0
        if len(new.hessian):
            new.hessian[k] = hessian
        # The square of the step in standard errors, by which the likelihood still grows.
        is_near = abs(float(product(step, slope))) <= _NEAR**2
        if is_near and np.abs(step).max() <= _SETTLED * (1 + np.abs(tried).max()):
            estimate = tried + new.step[k]
            common = total(estimate, 0) / len(estimate) if len(estimate) > 1 else 0.0  # of the grid alone
            new.taken[k], new.ended[k] = estimate - common, True
    return new


def _standardised(sums: Arrays, place: int, to: np.ndarray, scores: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradient, float64 (width,), and Hessian, (width, width), of a model by coefficients per deviation."""
    size, width = len(to), scores * len(to)
    full = np.zeros((width, width))
    full[np.triu_indices(width)] = sums["hessian"][place]
    full += np.triu(full, 1).T
    blocks = full.reshape(scores, size, scores, size)
    half = np.moveaxis(product(blocks, to.T), 1, 0)  # by the second of two columns
    hessian = np.swapaxes(product(to, half), 0, 1).reshape(width, width)
    return product(sums["gradient"][place].reshape(scores, size), to.T).ravel(), hessian


def _free(base: Sums, folds: Folds, penalty: float) -> np.ndarray:
    """Mark the coefficients that are fitted, bool (width,): without a penalty, those of the reference levels
    are not.
    """
    fitted = np.append(True, folds.varies)
    if penalty == 0:
        fitted[1 + np.array(base.references, np.int64)] = False
    return np.tile(fitted, base.question.targets)


def _solved(hessian: np.ndarray, gradient: np.ndarray, free: np.ndarray, scores: int) -> np.ndarray:
    """The Newton step; along directions in which nothing changes none.

    What several scores have in common changes no probability, so a column's steps add up to 0 over them: what
    the Hessian says of anything else is rounding.
    """
    used = np.flatnonzero(free)
    columns, across = len(used) // scores, np.ones((1, 1))
    if scores > 1:
        across = orthonormal(np.vstack([np.ones(scores), np.eye(scores)[1:]]))[1:]
    several = len(across) * columns
    blocks = hessian[np.ix_(used, used)].reshape(scores, columns, scores, columns)
    half = np.swapaxes(product(across, blocks), 2, 3)
    inside = np.swapaxes(product(half, across.T), 2, 3).reshape(several, several)
    along = solved(inside, product(across, gradient[used].reshape(scores, columns)).ravel())
    step = np.zeros(len(free))
    step[used] = product(across.T, along.reshape(-1, columns)).ravel()
    return step


@procedure("model/tell")
def tell(study: Study, base: Sums, tested: Newton, fitted: Newton) -> Asks[None]:
    """Report the model of all rows; and how well those without a fold do."""
    folds = base.folds()
    path = path_of(base, tested, fitted)
    yield Rows.later(partial(_rows, base, folds, path, fitted))
    yield from measure_path(study, base.question, folds, path, base.rows)


def _rows(base: Sums, folds: Folds, path: Path, fitted: Newton) -> Iterator[Rows]:
    of_one = len(path.penalties) == 1 and path.penalties[0] == 0 and base.question.targets == 1
    errors = errors_of(base, folds, fitted) if of_one else None
    yield from report(folds, path, base.counted, errors, _null(folds))


def path_of(base: Sums, tested: Newton, fitted: Newton) -> Path:
    """The fit as one from products would be told; the error is the mean negative log likelihood."""
    errors = -_by_penalty(tested) / base.rows[base.rows > 0]
    chosen = int(np.argmax(total(_by_penalty(tested))))
    own = tested.taken[tested.penalty == fitted.penalty[0]]
    held_out = own[:, :, 1:].swapaxes(1, 2), own[:, :, 0]
    w = fitted.taken[0]
    return Path(tested.penalty[:: _folds(tested)], errors, chosen, w[:, 1:].T, w[:, 0], held_out)


def errors_of(base: Sums, folds: Folds, fitted: Newton) -> Errors:
    """Standard errors of maximum likelihood: roots of the diagonal of the inverse Hessian."""
    free = _free(base, folds, 0.0)
    hessian = fitted.hessian[0][np.ix_(free, free)]
    inverse = np.linalg.pinv(hessian, hermitian=True, rcond=1e-15)
    found = np.full(len(free), np.nan)
    found[free] = np.sqrt(np.maximum(np.diagonal(inverse), 0))
    zero = np.append(1.0, -folds.mean / folds.unit)[free]
    of_intercept = float(np.sqrt(zero @ inverse @ zero))
    return Errors(found[1:], of_intercept, np.inf)


def _null(folds: Folds) -> float:
    """The mean negative log likelihood of a model without features."""
    pool = folds.but()
    shares = (1 + pool.mean[-pool.targets :]) / 2
    shares = np.array([1 - shares[0], shares[0]]) if len(shares) == 1 else shares
    return float(-np.sum(shares * np.log(np.where(shares > 0, shares, 1.0))))


def refuse_much(numbers: int) -> None:
    """Refuse what no share can hold."""
    if numbers > MOST_NUMBERS:
        raise Refuse(
            "penalties",
            f"so many columns, folds and penalties make shares of {numbers:,} numbers, and "
            f"{MOST_NUMBERS:,} is the most",
            "Name fewer penalties, choose fewer folds, or declare some features as ignored.",
        )


def refuse_unfinished(at: Newton) -> None:
    """Refuse a likelihood whose maximum was not found: there is none, or there are many."""
    without = float(at.penalty[at.running].min())
    raise Refuse(
        "penalties",
        f"no maximum of the likelihood was found at the penalty {without:g}",
        "Name penalties above 0, such as 0.001, or leave the field empty. There is none where features tell "
        "the classes apart without an error, and there are many where one says what others say.",
    )
