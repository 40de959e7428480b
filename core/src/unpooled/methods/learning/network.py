"""Training a network on the pool: the optimizer is the procedure's, which every cohort runs.

A round asks for the gradient of the loss, summed over the rows of all cohorts. Of the pooled mean every
cohort finds the next weights by itself, so that no weights travel, and nobody chooses them: they are those
of training on the pooled table. One fold is left out. Its loss says when training ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from unpooled.asking.procedure import Asks, Finish, Go, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse
from unpooled.fitted.network import start
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.network_options import (
    DESCENT,
    IN_A_ROUND,
    LBFGS,
    MOMENTUM,
    MOST_WEIGHTS,
    OPTIMIZER,
    PATIENCE,
    RATE,
    ROUNDS,
    TAKING_PART,
    WEIGHTS_SEED,
)
from unpooled.methods.learning.network_questions import SumGradient, network_of
from unpooled.methods.learning.network_result import report
from unpooled.methods.learning.network_scores import (
    AverageNetworkScores,
    SiftNetworkScores,
    SumNetworkScores,
)
from unpooled.methods.learning.optimizers import Adam, Descent, Lbfgs, Optimizer
from unpooled.methods.learning.performance import edges, grid, joined, report_ranges
from unpooled.methods.learning.procedure import Described, describe_columns
from unpooled.plan.plan import Plan

About: TypeAlias = tuple[SumProducts, tuple[int, ...], str, np.ndarray, np.ndarray, int]


@dataclass(frozen=True, eq=False)
class Training:
    """State of a training between two rounds."""

    name: ClassVar[str] = "network/training"

    weights: np.ndarray
    """float64 (size,): those that the next round is about"""
    optimizer: Optimizer
    best: np.ndarray
    """float64 (size,): the weights of the least loss in the fold left out"""
    best_round: int
    curve: np.ndarray
    """float64 (rounds, 3): mean loss, that of the fold left out, and the share of its classes predicted"""

    @classmethod
    def begin(cls, plan: Plan, weights: np.ndarray) -> Training:
        return cls(weights, optimizer_of(plan, len(weights)), weights, 0, np.zeros((0, 3)))

    @property
    def round(self) -> int:
        """Number of rounds that there were."""
        return len(self.curve)

    def heard(self, sums: Arrays, held_out: int) -> Training:
        """The state once a round's sums are there; `held_out` rows are in the fold that is left out."""
        rows, right = max(1, int(sums["rows"][0])), sums["right"]
        share = float(right[0]) / held_out if len(right) else math.nan
        line = float(sums["loss"][0]) / rows, float(sums["held_out"][0]) / held_out, share
        after = replace(self, curve=np.vstack([self.curve, line]))
        if not self.round or line[1] < self.curve[self.best_round, 1]:
            after = replace(after, best=self.weights, best_round=self.round)
        weights, optimizer = self.optimizer.step(self.weights, sums["gradient"] / rows, line[0])
        return replace(after, weights=weights, optimizer=optimizer)

    def has_ended(self, plan: Plan) -> bool:
        """Tell whether this was the last round."""
        waited = self.round - 1 - self.best_round
        is_idle = PATIENCE.of(plan) and waited >= PATIENCE.of(plan)
        return bool(self.round > ROUNDS.of(plan) or is_idle or self.optimizer.has_ended)


def optimizer_of(plan: Plan, size: int) -> Optimizer:
    """The plan's optimizer, before its first step."""
    rate, zero = RATE.of(plan), np.zeros(size)
    if OPTIMIZER.of(plan) == DESCENT:
        return Descent(rate, MOMENTUM.of(plan), zero)
    return Lbfgs.begin(size) if OPTIMIZER.of(plan) == LBFGS else Adam(rate, zero, zero, 1.0, 1.0)


@procedure("network/fit")
def fit_network(study: Study) -> Asks[None]:
    """Describe the columns, and begin with the start values."""
    plan = study.plan
    described = yield from describe_columns(study)
    network = network_of(plan, described.question)
    refuse_many_weights(network.size)
    if not plan.alone:
        refuse_few(plan, described)
    begun = Training.begin(plan, start(network, WEIGHTS_SEED.of(plan)))
    yield from Go(train(study, described, begun))


@procedure("network/train")
def train(study: Study, described: Described, at: Training) -> Asks[None]:
    """Take one round; then go on, or test the network."""
    plan, held_out = study.plan, fold_left_out(described)
    about = network_about(plan, described, at.weights)
    sums = yield SumGradient(*about, TAKING_PART.of(plan), at.round + 1)
    if sums["far"][0]:
        if not plan.alone:
            refuse_diverged(at.round)
        yield from Go(measure(study, described, at))
    # The last round only tests the last weights: no step is taken any more.
    following = at.heard(sums, int(described.rows[held_out]))
    if not following.has_ended(plan):
        yield from Go(train(study, described, following))
    if not PATIENCE.of(plan):
        following = replace(following, best=at.weights, best_round=at.round)
    elif not following.best_round and not plan.alone:
        refuse_no_progress(following.round)
    yield from Go(measure(study, described, following))


def network_about(plan: Plan, described: Described, weights: np.ndarray) -> About:
    """The first fields of all questions about a network with these weights."""
    question = described.question
    network, features = network_of(plan, question), question.columns - question.targets
    scale, held_out = scale_of(described)[:features], fold_left_out(described)
    return question, network.widths, network.activation, scale, weights, held_out


def scale_of(described: Described) -> np.ndarray:
    """What makes deviations of the columns of the design: float64 (columns,); 0 of those that do not vary."""
    spread = described.spread
    unit = np.ldexp(1.0, described.question.exponent.astype(np.int32))
    return np.asarray(np.where(spread > 0, unit / np.where(spread > 0, spread, 1.0), 0.0))


def fold_left_out(described: Described) -> int:
    """The last fold that has rows."""
    return int(np.flatnonzero(described.rows)[-1])


@procedure("network/measure")
def measure(study: Study, described: Described, at: Training) -> Asks[None]:
    """Report the network, and how well it does in the fold that is left out."""
    plan, question = study.plan, described.question
    yield Rows.later(lambda: report(plan, described, at, scale_of(described), fold_left_out(described)))
    about = network_about(plan, described, at.best)
    rows = int(described.rows[fold_left_out(described)])
    scores = question.targets
    sums = yield AverageNetworkScores(*about, np.zeros(0), np.ones(scores, np.int64))
    mean = sums["sums"] / rows
    deviation = np.sqrt(np.maximum(sums["squares"] / rows - mean * mean, 0))
    if not question.classes:  # scores are in the outcome's units
        unit = math.ldexp(1.0, int(question.exponent[-1]))
        mean, deviation = question.centre[-1] + mean * unit, deviation * unit
    ends, sizes = edges(mean, deviation, rows, grid(question))
    if not plan.alone:
        sifted = SiftNetworkScores(*about, ends, sizes)
        ends, sizes = joined(sifted, (yield sifted)["enough"])
    yield Finish(report_network_scores(study, SumNetworkScores(*about, ends, sizes)))


@procedure("network/report-scores")
def report_network_scores(study: Study, question: SumNetworkScores) -> Asks[None]:
    """Count rows by range of score, and report how well the network does."""
    sums = yield question
    yield from report_ranges(question, sums)


def refuse_many_weights(size: int) -> None:
    """Refuse a network that is larger than a round should be."""
    if size > MOST_WEIGHTS:
        raise Refuse(
            "hidden",
            f"the network has {size:,} weights, and {MOST_WEIGHTS:,} is the most",
            "Choose fewer units in the first hidden layers, or declare some features as ignored.",
        )


def refuse_few(plan: Plan, described: Described) -> None:
    """Refuse if gradients would be sums over few people, perhaps those that one cohort does not know."""
    fitted = int(described.people.sum(dtype=int) - described.people[fold_left_out(described)])
    expected = math.floor(TAKING_PART.of(plan) * fitted)
    if expected < IN_A_ROUND.of(plan):
        raise Refuse(
            "taking_part",
            f"{expected:,} people are expected in a round, and {IN_A_ROUND.of(plan):,} is the fewest: "
            "gradients of fewer would say much about each one",
            "Let more people take part in a round, or invite more cohorts.",
        )


def refuse_diverged(rounds: int) -> None:
    """Refuse a fit whose weights grow without an end."""
    raise Refuse(
        "learning_rate",
        f"the fit has diverged: after {rounds:,} rounds the loss or its gradient is beyond any use",
        "Choose a smaller learning rate, such as a tenth of it, or the optimizer L-BFGS.",
    )


def refuse_no_progress(rounds: int) -> None:
    """Refuse a fit that is never better than its start values."""
    raise Refuse(
        "learning_rate",
        f"in {rounds:,} rounds the loss in the fold that is left out was never lower than at the start",
        "Choose a smaller learning rate, or fewer units; or these features do not tell of this outcome.",
    )
