"""Mean and deviation of features with differential privacy: sums with noise, in one round.

Limits in the plan bound what a person adds. With x from -1 at the lowest to 1 at the highest value, a row
adds (1, x, x^2) of each of m features that it has, whose length is at most sqrt(3 m): so much of one person
the noise hides, over all features together. A row counts as a person.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Rows, Study
from unpooled.asking.question import Arrays, Condition, Foreseen, Real, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse, listed
from unpooled.methods.shared.privacy import FARTHEST, Promise, noise_of
from unpooled.methods.shared.privacy_options import DELTA, EPSILON, is_exact
from unpooled.methods.tables.table import FEATURES, table_values, titles_of
from unpooled.plan.plan import Plan

PARTS = 3
"""Numbers that a value adds: 1, itself, and its square."""
NOISES = ("noise_of_mean", "noise_of_deviation")
"""Result columns that say how large the noise of a feature's numbers is."""


class WithNoise(UnderPlan, ring_bits=64):
    """About features within the plan's limits, from -1 at the lowest to 1 at the highest value."""

    units: ClassVar[int]
    """Each number is rounded to a whole number of so many units in 1: little beside any noise."""

    @property
    def size(self) -> int:
        """Number of sums."""
        raise NotImplementedError

    @property
    def order(self) -> list[int]:
        """The places of the features in a table; the outcome, if there is one, comes last."""
        features = self.plan.features
        return sorted(range(len(features)), key=lambda k: features[k].is_outcome)

    @property
    def middle(self) -> np.ndarray:
        low, high = self._limits
        return low / 2 + high / 2

    @property
    def half(self) -> np.ndarray:
        low, high = self._limits
        return high / 2 - low / 2

    @property
    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest value of each feature: float64 (features,)."""
        features = [self.plan.features[k] for k in self.order]
        return np.array([c.low for c in features], float), np.array([c.high for c in features], float)

    @property
    def promise(self) -> Promise:
        return promise_of(self.plan)

    @property
    def draws(self) -> bool:
        return True

    @property
    def noise(self) -> int:
        """The standard deviation of one cohort's noise in a sum, in units."""
        return self.promise.deviation(self.size, self.units)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of all cohorts in a sum of numbers from -1 to 1."""
        return self.noise * math.sqrt(self.promise.cohorts) / self.units


@dataclass(frozen=True, eq=False)
class SumWithNoise(WithNoise, name="normalization/noisy", title="Sum features with noise"):
    """Number, sum and sum of squares of each feature's values, within limits and with noise."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "sums",
            (PARTS, "features"),
            FARTHEST,
            "per feature: the number of its values, their sum and that of their squares, cut off at the "
            "limits, with noise",
            "mean and deviation of each feature, no more exactly than epsilon and delta allow",
            fraction_bits=0,
        ),
    )
    each: ClassVar[dict[str, str]] = {"features": "feature"}
    asked_if: ClassVar[Condition] = lambda plan: not is_exact(plan)

    units: ClassVar[int] = 1 << 16

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan)] if cls.asked_if(plan) else [])

    @property
    def features(self) -> int:
        return len(self.plan.features)

    @property
    def size(self) -> int:
        return PARTS * self.features

    def local(self, table: Table) -> Arrays:
        noise = noise_of(table, self, self.noise, self.size)
        x = np.clip((table_values(table, self.features) - self.middle) / self.half, -1, 1)
        total = noise.reshape(PARTS, -1).astype(float)
        for power in range(PARTS):
            total[power] += np.nansum(np.rint(x**power * np.where(np.isnan(x), np.nan, self.units)), axis=0)
        return {"sums": np.clip(total, -FARTHEST, FARTHEST)}


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Mean and deviation of each feature, and of their noise: all float64 (features,), in its units."""

    n: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    noise_of_mean: np.ndarray
    """Standard deviation of the noise in the mean, to first order."""
    noise_of_deviation: np.ndarray
    lost: np.ndarray
    """bool (features,): the noise may be all of what looks like a spread"""

    @classmethod
    def of(cls, question: SumWithNoise, sums: np.ndarray) -> NoisyMoments:
        """The moments by noisy sums: a mean outside of the limits is taken for the nearer one."""
        (n, of_x, of_squares), noise = sums / question.units, question.deviation
        each = np.maximum(n, 1)
        mean, square = np.clip(of_x / each, -1, 1), np.clip(of_squares / each, 0, 1)
        variance = square - mean**2
        in_mean = noise / each * np.sqrt(1 + mean**2)
        in_variance = noise / each * np.sqrt(1 + 4 * mean**2 + (2 * mean**2 - square) ** 2)
        lost = (n <= noise) | (variance <= in_variance)
        deviation = np.sqrt(np.where(lost, 1, variance))
        half = question.half
        in_deviation = in_variance / (2 * deviation)
        spread, of_mean, of_deviation = (half * part for part in (deviation, in_mean, in_deviation))
        return cls(n, question.middle + half * mean, spread, of_mean, of_deviation, lost)


def measure_with_noise(study: Study) -> Asks[None]:
    """Report mean and deviation of each feature, with noise, and how large the noise is."""
    plan = study.plan
    question = SumWithNoise(plan)
    refuse_too_little_noise(plan, question.size)
    found = NoisyMoments.of(question, (yield question)["sums"])
    refuse_lost(titles_of(plan), found.lost)
    yield Rows(
        FEATURES,
        {
            "feature": np.arange(question.features),
            "n": np.rint(found.n).astype(np.int64),
            "mean": found.mean,
            "deviation": found.deviation,
            "noise_of_mean": found.noise_of_mean,
            "noise_of_deviation": found.noise_of_deviation,
            "noisy": np.ones(question.features, bool),
        },
    )


def promise_of(plan: Plan) -> Promise:
    """The privacy that a plan promises: of one sum, in which everyone is."""
    return Promise(EPSILON.of(plan), DELTA.of(plan), 1.0, 1, plan.cohorts)


def rules_of_noise(plan: Plan) -> Mapping[str, str]:
    """Say what is wrong with a plan whose sums have noise, by its field."""
    if not EPSILON.of(plan):
        return {}
    found = {}
    for column in plan.features:
        if column.low is None or column.high is None or column.low >= column.high:
            found["schema"] = (
                f"{column.title}: want its lowest and highest value, which bound what one person adds to a "
                "sum: without them no noise hides anybody"
            )
    if any(column.is_patient for column in plan.schema):
        found["epsilon"] = "0 of a table with patients, for each row counts as a person: have one row of each"
    if not DELTA.of(plan):
        found["delta"] = "want a number above 0, such as 1e-05: it is a part of the promise"
    if plan.masking != "modular":
        found["masking"] = "modular only: noise is measured out by epsilon, and no more of it belongs there"
    return found


def refuse_too_little_noise(plan: Plan, size: int) -> None:
    """Refuse what no noise can promise."""
    if not promise_of(plan).is_kept(size, SumWithNoise.units):
        raise Refuse(
            "epsilon",
            "for so small an epsilon sums over so many columns need more noise than they can bear",
            "Choose a larger epsilon, or fewer columns.",
        )


def refuse_lost(titles: tuple[str, ...], lost: np.ndarray) -> None:
    """Refuse if the noise hides how far the values of a column spread: bool (features,)."""
    if names := [titles[k] for k in np.flatnonzero(lost).tolist()]:
        raise Refuse(
            "epsilon",
            f"the values of {listed(names)} spread no farther than the noise of this epsilon",
            "Choose a larger epsilon, or closer limits for these columns; or invite more people.",
        )
