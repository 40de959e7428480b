"""Questions that train a network with differential privacy: how many people there are, and noisy gradients.

Features are scaled by the limits in the plan, so that nothing else has to be asked.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import Arrays, Count, Foreseen, Question, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.fitted.curves import transformed
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.network_options import ROUNDS
from unpooled.methods.learning.network_questions import OfNetwork, network_of
from unpooled.methods.learning.reading import Examples, examples
from unpooled.methods.private_network.options import CLIP, promise_of
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.privacy import FARTHEST, Promise, clipped, noise_of
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

_AT_ONCE = 1 << 21
"""Numbers of people's gradients at once."""


@dataclass(frozen=True)
class CountTrained(Question, name="private-network/people", title="Count people", ring_bits=64):
    """Asks for the number of people."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Count(
            "people",
            (1,),
            MOST_PEOPLE,
            "number of people whose outcome is known",
            "how many people the network is trained on: exactly, and outside what epsilon promises",
        ),
    )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls()])

    def local(self, table: Table) -> Arrays:
        return {"people": np.array([len(np.unique(people_of(examples(table))))])}


@dataclass(frozen=True, eq=False)
class SumClipped(OfNetwork, name="private-network/gradient", title="Train the network", ring_bits=64):
    """Gradients of the people who take part, each clipped, with noise.

    Neither their loss nor their number is sent, which would tell more than the plan promises.
    """

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "gradient",
            ("size",),
            FARTHEST,
            "per weight: the clipped derivatives of the people who take part, with noise",
            "in which direction the network fits better, no more exactly than epsilon and delta allow",
            fraction_bits=0,
        ),
    )
    each: ClassVar[dict[str, str]] = {"size": "weight"}
    held_out: ClassVar[int] = -1  # type: ignore[misc]  # all are trained on

    weights: np.ndarray
    iteration: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        weights = np.zeros(network_of(plan, SumProducts.widest(plan)).size)
        return Foreseen([cls(plan, weights, 1)], cls.most_turns(plan))

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return ROUNDS.of(plan)

    @functools.cached_property
    def design(self) -> SumProducts:  # type: ignore[override]
        return scaled_by_limits(self.plan)[0]

    @functools.cached_property
    def scale(self) -> np.ndarray:  # type: ignore[override]
        return scaled_by_limits(self.plan)[1]

    @property
    def clip(self) -> float:
        """Longest gradient of a person."""
        return CLIP.of(self.plan)

    @property
    def promise(self) -> Promise:
        return promise_of(self.plan)

    @property
    def draws(self) -> bool:
        return True

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        noise = noise_of(found, self, self.promise.deviation(self.size), self.size)
        total = sum((each.sum(axis=0) for each in self._of_people(found)), start=noise.astype(float))
        return {"gradient": np.clip(total, -FARTHEST, FARTHEST)}

    def _of_people(self, found: Examples) -> Iterator[np.ndarray]:
        """The clipped gradients of the people who take part, by blocks: whole float64 (people, size)."""
        rows, people = np.flatnonzero(self.taken(found)), people_of(found)
        rows = rows[np.argsort(people[rows], kind="stable")]
        _, first = np.unique(people[rows], return_index=True)
        ends, most = np.append(first[1:], len(rows)), max(1, _AT_ONCE // self.size)
        at = 0
        while at < len(first):
            # A person's rows stay together, however many they are.
            to = max(at + 1, int(np.searchsorted(ends, first[at] + most, side="right")))
            some = rows[first[at] : ends[to - 1]]
            z, classes = self.design.standardised(found, some), found.classes[some]

            def slope(scores: np.ndarray, z: np.ndarray = z, classes: np.ndarray = classes) -> np.ndarray:
                return self.slopes(scores, classes, z)

            with np.errstate(over="ignore", invalid="ignore"):
                each = self.network.gradients(self.weights, self.inputs(found, some, z), slope)
                yield clipped(np.add.reduceat(each, first[at:to] - first[at], axis=0), self.clip)
            at = to


def people_of(found: Examples) -> np.ndarray:
    """A number for the person of each row: int64 (n,)."""
    return np.arange(len(found.values)) if found.patients is None else found.patients


def scaled_by_limits(plan: Plan) -> tuple[SumProducts, np.ndarray]:
    """The design by the limits in the plan, and what its features are multiplied by: float64 (features,).

    The lowest value becomes -1, the highest 1, and a missing one is halfway: of a column whose logarithm
    is taken, among the logarithms.
    """
    widest = SumProducts.widest(plan)
    features = [_limits_of(column) for column in plan.features if not column.is_outcome]
    outcome = [_limits_of(column) for column in plan.features if column.is_outcome] or [(-1.0, 1.0)]
    others = [(-1.0, 1.0)] * (
        widest.columns - len(features) - len(outcome)
    )  # what categories and classes become
    low, high = np.array([*features, *others, *outcome]).T
    half = (high - low) / 2
    exponent = np.where(half > 0, np.frexp(half)[1], 0).astype(np.int64)
    scale = np.where(half > 0, np.ldexp(1.0, exponent.astype(np.int32)) / np.where(half > 0, half, 1.0), 0.0)
    design = replace(
        widest, part_of=np.zeros_like(widest.part_of), centre=(low + high) / 2, exponent=exponent
    )
    return design, scale[: widest.columns - widest.targets]


def _limits_of(column: Column) -> tuple[float, float]:
    """The lowest and the highest value of a column as it is scaled."""
    limits = np.array([column.low or 0.0, column.high or 0.0])
    low, high = transformed(limits, {"method": column.scaling}) if column.scaling else limits
    return float(low), float(high)
