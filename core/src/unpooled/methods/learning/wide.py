"""Ridge regression, and one-layer networks, of very many columns: by conjugate gradients.

The equations are those of `unpooled.methods.learning.models`, but the matrix of all products is never formed:
a turn asks for its product with one direction of each fit. One Krylov space serves all penalties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Go, Rows, Study, procedure
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import geometric, product, total
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.models import FEDHEONN, OUTPUTS_OF, Outputs, Path
from unpooled.methods.learning.options import (
    LOGISTIC_OUTPUTS,
    MODEL_PENALTIES,
    MOST_DIRECTIONS,
    OTHERS_A_PROJECTION,
    OUTPUTS,
    PEOPLE_A_PROJECTION,
    WIDE_PENALTIES,
)
from unpooled.methods.learning.performance import measure_path
from unpooled.methods.learning.pool import Folds, standardised
from unpooled.methods.learning.procedure import Described
from unpooled.methods.learning.result import report
from unpooled.methods.learning.wide_questions import ProjectColumns, SumResiduals, SumWithOutcome
from unpooled.methods.shared.gradients import Gradients, dot
from unpooled.plan.plan import Plan
from unpooled.protocol.codec import CAME_LATER

TOLERANCE = 1e-12
"""Largest relative residual left: coefficients then agree with a direct solution to nine digits and more."""


@dataclass(frozen=True, eq=False)
class Base:
    """Sums by fold that the fits are built on: of all columns, and of their products with the outcome."""

    name: ClassVar[str] = "model/wide-ground"

    question: SumProducts
    people: np.ndarray
    rows: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    crossed: np.ndarray
    one_layer: bool
    others: int
    """So many people there are at least without any one cohort."""
    outputs_named: str = field(default=LOGISTIC_OUTPUTS, metadata=CAME_LATER)

    @property
    def outputs(self) -> Outputs | None:
        """The outputs of a one-layer network; None of ridge regression."""
        return OUTPUTS_OF[self.outputs_named] if self.one_layer else None

    @property
    def folds(self) -> Folds:
        """Standardisation of the columns, by fold."""
        sums = {"rows": self.rows, "sums": self.sums, "squares": self.squares}
        times = self.outputs.score if self.outputs else 1.0
        asked = self.question
        return standardised(sums, asked.centre, asked.exponent, asked.targets, times, asked.units)

    @property
    def left_out(self) -> list[int]:
        """The fold that each fit leaves out, and none, -1, last."""
        return [*np.flatnonzero(self.rows).tolist(), -1]

    def part(self, left_out: int) -> Part:
        """The rows without those of a fold."""
        # Of a single fold nothing is left out, for nothing else is there.
        inside = np.arange(len(self.rows)) != left_out
        if left_out >= 0 and not self.rows[inside].any():
            inside[:] = True
        standard, m = self.folds.standard, self.question.columns - self.question.targets
        n, sums_of, crossed = (total(each[inside], 0) for each in (self.rows, self.sums, self.crossed))
        crossed = crossed.reshape(-1, self.question.targets)
        moved = crossed - np.outer(standard.shift, sums_of[m:])
        scaled = moved * standard.scale[:, None] * standard.scale[m:]
        sums = (sums_of - n * standard.shift) * standard.scale
        return Part(
            float(n),
            sums_of[:m],
            sums,
            scaled,
            standard.shift[:m],
            standard.scale[:m],
            self.outputs,
        )

    def penalties(self, plan: Plan) -> np.ndarray:
        """Return the penalties to try, ascending: float64."""
        if MODEL_PENALTIES.of(plan):
            return np.array(sorted(set(MODEL_PENALTIES.of(plan))))
        usual = geometric(1e-4, 1e2, WIDE_PENALTIES)
        return usual * float(self.rows.sum(dtype=int)) * self.outputs.slope**2 if self.outputs else usual


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one fit, m features and t targets in units of their deviation."""

    rows: float
    totals: np.ndarray
    """float64 (m,): of the features as they were asked for"""
    sums: np.ndarray
    """float64 (m + t,)"""
    crossed: np.ndarray
    """float64 (m + t, t)"""
    shift: np.ndarray
    scale: np.ndarray
    """float64 (m,): from a column as it was asked for to its deviations"""
    outputs: Outputs | None
    """Ridge regression has none."""

    @property
    def features(self) -> int:
        return len(self.shift)

    def shifts(self, penalties: np.ndarray) -> np.ndarray:
        return penalties / self.outputs.slope**2 if self.outputs else penalties

    def right(self, target: int) -> np.ndarray:
        """The right side of the equations: float64 (m,); of a one-layer network (1 + m,)."""
        m, xy, y = self.features, self.crossed[: self.features, target], self.sums[self.features + target]
        if self.outputs:
            return np.append(y, xy)
        return np.asarray((xy - self.sums[:m] * y / self.rows) / self.rows)

    def asked(self, direction: np.ndarray) -> np.ndarray:
        """The direction of the features as they are asked for: float64 (m,)."""
        return np.asarray((direction[1:] if self.outputs else direction) * self.scale)

    def product(self, direction: np.ndarray, projection: np.ndarray) -> np.ndarray:
        """The matrix times a direction, from Z'(Z q) of the features as they are asked for, q `asked`."""
        q, s = self.asked(direction), self.sums[: self.features]
        at, along = dot(self.shift, q), dot(self.totals, q)
        moved = projection - self.shift * along - at * self.totals + self.rows * at * self.shift
        scaled, sum_of = moved * self.scale, along - self.rows * at
        if self.outputs:
            return np.append(self.rows * direction[0] + sum_of, s * direction[0] + scaled)
        return np.asarray((scaled - s * sum_of / self.rows) / self.rows)

    def solution(self, found: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (models, m) and intercepts (models,) of a target, from solutions."""
        if self.outputs:
            return found[:, 1:], found[:, 0]
        m = self.features
        return found, (self.sums[m + target] - product(found, self.sums[:m])) / self.rows


def fit_wide(study: Study, described: Described) -> Asks[None]:
    """Sum what the equations have on their right sides; report it; then solve them."""
    question, plan = described.question, study.plan
    sums = yield SumWithOutcome(question)
    yield Rows.later(partial(described.report, plan, {}))
    found = {name: np.asarray(part) for name, part in (described.counted | sums).items()}
    base = Base(
        question,
        **found,
        one_layer=plan.test == FEDHEONN,
        others=described.others,
        outputs_named=OUTPUTS.of(plan),
    )
    parts = [base.part(k) for k in base.left_out]
    penalties = base.penalties(plan)
    refuse_zero(penalties)
    systems = tuple(
        Gradients.begin(part.shifts(penalties), part.right(target), TOLERANCE)
        for part in parts
        for target in range(question.targets)
    )
    yield from Go(iterate_wide(study, base, systems, 1))


def most_turns(plan: Plan, base: Base, systems: int) -> int:
    """Return the largest number of directions in which each of the given number of systems may be asked
    about.
    """
    of_all = int(base.people.sum(dtype=int)) // (PEOPLE_A_PROJECTION * systems)
    of_others = base.others // (OTHERS_A_PROJECTION * systems)
    return MOST_DIRECTIONS if plan.alone else min(MOST_DIRECTIONS, of_all, of_others)


@procedure("model/wide-climb")
def iterate_wide(study: Study, base: Base, systems: tuple[Gradients, ...], turn: int) -> Asks[None]:
    """One turn of all systems that are not solved."""
    running = [k for k, system in enumerate(systems) if not system.has_ended]
    if not running or turn > most_turns(study.plan, base, len(systems)):
        yield from Go(choose_wide(study, base, systems, turn - 1))
    targets, left_out = base.question.targets, base.left_out
    fits = [left_out[k // targets] for k in running]
    parts = {fit: base.part(fit) for fit in set(fits)}
    directions = [parts[fit].asked(systems[k].direction) for k, fit in zip(running, fits, strict=True)]
    # A direction along constant columns alone has no length, and its product is 0.
    lengths = [np.sqrt(dot(each, each)) or 1.0 for each in directions]
    units = np.array([each / length for each, length in zip(directions, lengths, strict=True)])
    found = (yield ProjectColumns(base.question, units, np.array(fits), turn))["projections"]
    following = list(systems)
    for k, fit, length, projection in zip(running, fits, lengths, found, strict=True):
        following[k] = systems[k].advance(parts[fit].product(systems[k].direction, length * projection))
    yield from Go(iterate_wide(study, base, tuple(following), turn + 1))


@procedure("model/wide-choose")
def choose_wide(study: Study, base: Base, systems: tuple[Gradients, ...], turns: int) -> Asks[None]:
    """Test each penalty on the folds left out; report the model of the one with the least error."""
    refuse_unsolved(study.plan, base, systems, turns)
    folds, targets = base.folds, base.question.targets
    # Falling, as everywhere: of penalties that do as well the first, and largest, is taken.
    solved = np.flatnonzero(np.all([system.solved for system in systems], axis=0))[::-1]
    *tested, whole = (
        _models(base.part(k), systems[targets * place : targets * (place + 1)], solved)
        for place, k in enumerate(base.left_out)
    )
    question = _residuals(base, folds, tested)
    sums = yield question
    some, scale = base.rows > 0, folds.standard.scale[-targets:]
    residuals, predictions = (sums[name].reshape(len(some), len(solved), -1) for name in sums)
    errors = (residuals[some, :, 0] / base.rows[some, None]).T * scale[0] ** 2
    chosen = int(np.argmin(total(errors)))
    held_out = tuple(np.stack([model[part][chosen] for model in tested]) for part in (0, 1))
    w, b = (each[chosen] for each in whole)
    path = Path(base.penalties(study.plan)[solved], errors, chosen, w, b, (held_out[0], held_out[1]))
    yield Rows.later(partial(_rows, base, folds, path))
    squares = total(predictions[:, chosen], 0) * scale**2
    moments = _moments(base, folds, path, squares)
    yield from measure_path(study, base.question, folds, path, base.rows, moments)


Models = tuple[np.ndarray, np.ndarray]
"""Coefficients, (models, m, t), and intercepts, (models, t), of one model for each penalty."""


def _models(part: Part, systems: Sequence[Gradients], solved: np.ndarray) -> Models:
    of = [part.solution(system.solutions[solved], target) for target, system in enumerate(systems)]
    w, b = zip(*of, strict=True)
    return np.stack(w, axis=-1), np.stack(b, axis=-1)


def _residuals(base: Base, folds: Folds, tested: Sequence[Models]) -> SumResiduals:
    """The question about the models that were fitted without each fold."""
    m = base.question.columns - base.question.targets
    shift, scale, unit = folds.standard.shift[:m], folds.standard.scale[:m], folds.standard.scale[m:]
    models, targets = tested[0][1].shape
    weights = np.zeros((base.question.folds, models, m, targets))
    intercepts = np.zeros((base.question.folds, models, targets))
    for fold, (w, b) in zip(base.left_out, tested, strict=False):
        weights[fold] = w * scale[:, None] / unit
        intercepts[fold] = (b - product(shift * scale, np.swapaxes(w, 0, 1))) / unit
    return SumResiduals(base.question, weights, intercepts)


def _rows(base: Base, folds: Folds, path: Path) -> Iterator[Rows]:
    part, targets = base.part(-1), base.question.targets
    mean = part.sums[-targets:] / part.rows
    of_none = float(np.trace(part.crossed[-targets:]) / part.rows - mean @ mean)
    yield from report(folds, path, {"people": base.people, "rows": base.rows}, None, of_none)


def _moments(base: Base, folds: Folds, path: Path, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each score over all rows, each scored without its fold: float64 (t,)."""
    standard, m = folds.standard, base.question.columns - base.question.targets
    sums = np.zeros(base.question.targets)
    for fold, w, b in zip(base.left_out, *path.held_out, strict=False):
        own = (base.sums[fold, :m] - base.rows[fold] * standard.shift[:m]) * standard.scale[:m]
        sums += base.rows[fold] * b + product(own, w)
    mean = sums / base.rows.sum(dtype=int)
    return folds.origin + mean, np.sqrt(np.maximum(squares / base.rows.sum(dtype=int) - mean**2, 0))


def refuse_zero(penalties: np.ndarray) -> None:
    """Refuse a penalty of 0: without one a solution of so many columns may never be reached."""
    if not (penalties > 0).all():
        raise Refuse(
            MODEL_PENALTIES.name,
            "with so many columns a penalty of 0 may not be solved in any number of rounds",
            "Name penalties above 0, such as 0.001, or leave the field empty.",
        )


def refuse_unsolved(plan: Plan, base: Base, systems: Sequence[Gradients], turns: int) -> None:
    """Refuse if a penalty of the plan could not be solved; or, of usual ones, none."""
    solved = np.all([system.solved for system in systems], axis=0)
    if solved.all() or (solved.any() and not MODEL_PENALTIES.of(plan)):
        return
    least = float(base.penalties(plan)[~solved].max())
    raise Refuse(
        MODEL_PENALTIES.name,
        f"the penalty {least:g} is not solved in {turns:,} rounds, and as each tells a sum over the people, "
        "there may be no more",
        "Name larger penalties, choose fewer folds, or invite further cohorts.",
    )
