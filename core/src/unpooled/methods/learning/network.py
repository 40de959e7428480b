"""Training a network on the pool: the optimizer is the procedure's, which every cohort runs.

A round asks for the gradient of the loss, summed over the rows of all cohorts. Of the pooled mean every
cohort finds the next weights by itself, so that no weights travel, and nobody chooses them: they are those
of training on the pooled table. One fold is left out. Its loss says when training ends.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from unpooled.asking.procedure import Asks, Finish, Go, Procedure, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse
from unpooled.fitted.network import start
from unpooled.methods.learning.network_options import (
    IN_A_ROUND,
    MOST_WEIGHTS,
    PATIENCE,
    TAKING_PART,
    WEIGHTS_SEED,
)
from unpooled.methods.learning.network_questions import About, SumGradient, network_of
from unpooled.methods.learning.network_result import report
from unpooled.methods.learning.network_scores import (
    AverageNetworkScores,
    SiftNetworkScores,
    SumNetworkScores,
)
from unpooled.methods.learning.performance import edges, grid, joined, report_ranges
from unpooled.methods.learning.procedure import Described, describe_columns, describe_images
from unpooled.methods.learning.training import Training, optimizer_of
from unpooled.plan.plan import Plan

_OTHERS = 4
"""One in so many of the fewest people in a round must be there without any one cohort, as far as is known: of
these it is known only which of a half, a quarter and an eighth of all they are.
"""


@procedure("network/fit")
def fit_network(study: Study) -> Asks[None]:
    """Describe the columns, and begin with the start values."""
    plan = study.plan
    described, weights = yield from described_and_start(study)
    if not plan.alone:
        refuse_few(plan, *fitted_people(described))
    yield from Go(train(study, described, Training.begin(weights, optimizer_of(plan, len(weights)))))


def described_and_start(study: Study) -> Asks[tuple[Described, np.ndarray]]:
    """Describe the columns; return what they are, and the start values of the plan's network."""
    described = yield from (describe_columns if study.plan.images is None else describe_images)(study)
    network = network_of(study.plan, described.question)
    refuse_many_weights(study.plan, network.size)
    return described, start(network, WEIGHTS_SEED.of(study.plan))


def fitted_people(described: Described) -> tuple[float, float]:
    """Count the people that a network is fitted to, and those of them without any one cohort."""
    people = described.people.sum(dtype=int)
    fitted = float(people - described.people[fold_left_out(described)])
    return fitted, fitted * described.others / people


@procedure("network/train")
def train(study: Study, described: Described, at: Training) -> Asks[None]:
    """Take one round; then go on, or test the network."""
    plan = study.plan
    about = network_about(plan, described, at.weights)
    sums = yield SumGradient(*about, at.round + 1)
    yield from go_on(study, described, at, sums, train)


Train: TypeAlias = Procedure[[Described, Training], None]


def go_on(study: Study, described: Described, at: Training, sums: Arrays, train: Train) -> Asks[None]:
    """Take the step of a round; then `train` in the next one, or test the network."""
    plan = study.plan
    if sums["far"][0]:
        if not plan.alone:
            refuse_diverged(at.round)
        yield from Go(measure(study, described, at))
    # The last round only tests the last weights: no step is taken any more.
    following = at.heard(sums, int(described.rows[fold_left_out(described)]))
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
    scale = scale_of(described)[: question.columns - question.targets]
    return plan, question, scale, weights, fold_left_out(described)


def scale_of(described: Described) -> np.ndarray:
    """The unit of each column of the design in its own: float64 (columns,); 0 where nothing varies."""
    width, units = np.ldexp(1.0, described.question.exponent.astype(np.int32)), described.units
    return np.asarray(np.divide(width, units, out=np.zeros(len(units)), where=units > 0))


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


def refuse_many_weights(plan: Plan, size: int) -> None:
    """Refuse a network on tables that is too large for its model file; those on images are of a list."""
    if plan.images is None and size > MOST_WEIGHTS:
        raise Refuse(
            "hidden",
            f"the network has {size:,} weights, and {MOST_WEIGHTS:,} is the most",
            "Choose fewer units in the first hidden layers, or declare some features as ignored.",
        )


def refuse_few(plan: Plan, fitted: float, others: float, field: str = TAKING_PART.name) -> None:
    """Refuse if gradients would be sums over few of the `fitted` people, or over few without one cohort.

    `field`: the option that says how many take part.
    """
    fewest = IN_A_ROUND.of(plan)
    expected, without = (math.floor(TAKING_PART.of(plan) * people) for people in (fitted, others))
    if expected < fewest or _OTHERS * without < fewest:
        raise Refuse(
            field,
            f"fewer than {fewest:,} people are expected in a round ({expected:,}), or than "
            f"{math.ceil(fewest / _OTHERS):,} without one of the cohorts ({without:,}): gradients of so few "
            "say much about each one",
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
