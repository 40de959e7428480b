"""Measures what differential privacy costs a network, by where its noise is added.

    .venv/bin/python docs/measure_privacy.py

Writes docs/measured/privacy.md: the share of people left out whose digit is predicted, on the digits that
scikit-learn ships, by a network of three cohorts. Each is trained five times, with people dealt anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import measuring
import numpy as np
from sklearn.datasets import load_digits

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.network import start
from unpooled.methods import check, usual
from unpooled.methods.learning.training import optimizer_of
from unpooled.methods.private_network.questions import SumClipped
from unpooled.methods.shared.privacy import UNITS
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, OwnPlan, Plan
from unpooled.plan.schema import Column

WRITES = (measuring.Table("privacy", free=(3, 4, 5)),)
COHORTS, CLASSES, TIMES, EPSILONS = 3, tuple(map(str, range(10))), 5, (1.0, 3.0, 8.0)
IN_THE_MASKS = "by all cohorts together, inside the masks"
APART = "by each cohort as much as it needs alone"
TOGETHER_AT = 10
LOCAL = f"likewise, and weights are averaged after every {TOGETHER_AT} steps of each cohort alone"
ALONE = "one cohort trains alone"


def plan_of(epsilon: float, rounds: int) -> Plan:
    schema = (
        *(Column(f"pixel {k}", low=0.0, high=16.0) for k in range(64)),
        Column("digit", "category", levels=CLASSES, role="outcome"),
    )
    named = {"test": "private-network", "cohorts": COHORTS, "compensator_key": NO_KEY, "files": ("model",)}
    training = {"epsilon": epsilon, "taking_part": 0.2, "training_rounds": rounds, "hidden": "32"}
    return Plan(**{**usual("private-network"), **named, **training}, schema=schema, learning_rate=0.02)


def dealt(plan: Plan, seed: int) -> tuple[list[Any], tuple[np.ndarray, np.ndarray]]:
    """The tables of three cohorts, each with a secret; and pixels and digits of the people left out."""
    x, y = load_digits(return_X_y=True)
    order, method, found = np.random.default_rng(seed).permutation(len(y)), check(plan), []
    fitted, rest = np.split(order, [len(y) * 4 // 5])
    for k, rows in enumerate(np.array_split(fitted, COHORTS)):
        table = ArrayTable(x[rows], {"digit": Words.of([str(digit) for digit in y[rows]])})
        found.append(replace(method.prepared(table, plan), secret=bytes([seed, k]) * 16))
    return found, (x[rest], y[rest])


def share_right(
    plan: Plan, tables: list[Any], rest: tuple[np.ndarray, np.ndarray], cohorts: int, together_at: int = 1
) -> float:
    """Train on these tables; the share of the rest whose digit is predicted.

    The whole noise is there without one of `cohorts` cohorts: of two, each adds all of it. With `together_at`
    above 1 each cohort takes so many steps by its own sums, and then their weights are averaged by people.
    """
    # No study has two cohorts; a plan of one's own may say any number.
    first = SumClipped(OwnPlan(**vars(plan) | {"cohorts": cohorts}), np.zeros(0), 1)
    weights, (x, y) = start(first.network, 0), rest
    groups = [tables] if together_at == 1 else [[table] for table in tables]
    people = np.array([sum(len(table.values) for table in group) for group in groups])
    units = first.clip / (UNITS * math.sqrt(len(weights))) / (first.share * people)
    states = [(weights, optimizer_of(plan, len(weights))) for _ in groups]
    for turn in range(first.promise.rounds):
        for k, (own, optimizer) in enumerate(states):
            question = replace(first, weights=own, iteration=turn + 1)
            gradient = sum(question.local(table)["gradient"] for table in groups[k])
            states[k] = optimizer.step(own, gradient * units[k], math.nan)
        # One group's weights stay as they are: an average's rounding would draw other noise.
        if len(groups) > 1 and ((turn + 1) % together_at == 0 or turn + 1 == first.promise.rounds):
            weights = np.average([own for own, _ in states], axis=0, weights=people)
            states = [(weights, optimizer) for _, optimizer in states]
    weights = states[0][0]
    z = np.ldexp(x - first.design.centre[:64], -first.design.exponent[:64].astype(np.int32))
    return float(np.mean(first.network.scores(weights, z * first.scale).argmax(axis=1) == y))


WAYS = (
    (IN_THE_MASKS, COHORTS, COHORTS, 1),
    (APART, COHORTS, 2, 1),
    (LOCAL, COHORTS, 2, TOGETHER_AT),
    (ALONE, 1, 2, 1),
)
"""Ways to train: a name, how many cohorts do, of how many all but one have the noise, steps between sums."""


def lines(
    epsilons: tuple[float, ...], rounds: int, times: int, ways: tuple[Any, ...] = WAYS
) -> Iterator[str]:
    for what, of, cohorts, together_at in ways:
        cells = []
        for epsilon in epsilons:
            plan, found = plan_of(epsilon, rounds), []
            for seed in range(times):
                tables, rest = dealt(plan, seed)
                found.append(100 * share_right(plan, tables[:of], rest, cohorts, together_at))
            cells.append(f"{np.mean(found):.1f} ({min(found):.1f} to {max(found):.1f})")
        each = 8 * start(SumClipped(plan, np.zeros(0), 1).network, 0).size / 1000
        sent = f"{each:.0f} kB", f"{each * math.ceil(rounds / together_at) / 1000:.2f} MB"
        yield f"| {what} | {' | '.join(sent if of > 1 else ('nothing',) * 2)} | {' | '.join(cells)} |"


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    epsilons, rounds, times = (EPSILONS[:1] * 3, 2, 1) if given.small else (EPSILONS, 150, TIMES)
    head = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS)
    rows = [
        "| Noise | Up, a round | Up, in all | " + head + " |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    measuring.write(given.out, "privacy", [*rows, *lines(epsilons, rounds, times)])


if __name__ == "__main__":
    main()
