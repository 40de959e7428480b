"""Counts before the sums of a polygenic score: people left out, and people on either side of the means."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, Samples
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.methods.polygenic.options import HELD_OUT
from unpooled.methods.regression.pool import at_each_level
from unpooled.methods.shared.beside_means import CountBeside
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.groups import CASE, CONTROL, complete
from unpooled.methods.shared.groups import members as members_of
from unpooled.methods.shared.standardise import column_names, is_number
from unpooled.methods.shared.without_any import ON_RUNGS, capped, capped_count, on_rungs
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.protocol.masking import keystream
from unpooled.protocol.messages import MIN_COHORTS

_INFO = b"unpooled/people-left-out/1"

FITTED, LEFT_OUT = 0, 1
"""The two groups of people, in the order of sums."""


def key_of(plan: Plan) -> bytes:
    """The key by which a cohort draws who is left out: its plan, which the server cannot choose for that.

    However many variants are in one question, and cohorts in the study: a plan may leave the one open, and a
    cohort that looks at its own data alone changes the other.
    """
    fields = {**vars(plan), "chunk_size": 0, "cohorts": MIN_COHORTS}
    return hashlib.sha256(_INFO + Plan(**fields).chance).digest()


def groups(samples: Samples, key: bytes, one_in: int) -> list[np.ndarray]:
    """Return the people fitted to, and those left out: bool (n,) each. Whoever lacks a value is in neither.

    The draw goes by the place in the file, so that it is always the same, and leaves out one in `one_in`.
    """
    stream = keystream(key).update(bytes(8 * len(samples)))
    left_out = np.zeros(len(samples), bool)
    left_out[np.argsort(np.frombuffer(stream, "<u8"), kind="stable")[::one_in]] = True
    inside = complete(samples)
    return [inside & ~left_out, inside & left_out]


GROUPS = 2
"""People that are fitted to, and people that are left out."""


class OfDrawn(UnderPlan):
    """About both groups of people. Who is in which is drawn by the plan's key, not as the server likes."""

    def members(self, cohort: Cohort) -> list[np.ndarray]:
        return groups(cohort.samples, key_of(self.plan), HELD_OUT.of(self.plan))


@dataclass(frozen=True)
class CountLeftOut(OfDrawn, name="polygenic/people", title="Count people left out", ring_bits=64):
    """Asks for the number of people fitted to and left out, also at each level of a categorical covariate."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            (GROUPS, "classes"),
            MOST_PEOPLE,
            "number of people with complete data that are fitted to, and that are left out; of case/control "
            "traits cases and controls apart",
            "how many people of the pool are fitted to, and how many are left out",
        ),
        capped_count(
            (GROUPS, "classes"),
            f"whether {FEWEST_AT_A_LEVEL} are in each group without any one cohort; fewer end the study",
        ),
        ON_RUNGS,
        Count(
            "levels",
            (GROUPS, "level_count"),
            MOST_PEOPLE,
            "number of people that are fitted to, and that are left out, at each level of a categorical "
            "covariate",
            f"how many people of the pool have each level; fewer than {FEWEST_AT_A_LEVEL} end the study",
        ),
        capped_count(
            (GROUPS, "level_count"),
            f"whether {FEWEST_AT_A_LEVEL} have each level without any one cohort; fewer end the study",
            name="capped_levels",
        ),
    )
    each: ClassVar[dict[str, str]] = {"classes": "outcome", "level_count": "level"}

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Count, ...]:
        return cls.sends if plan.dummies else cls.sends[:-2]

    @property
    def classes(self) -> int:
        return 1 if is_number(self.plan) else 2

    @property
    def level_count(self) -> int:
        return sum(1 + len(columns) for columns in self.plan.dummies)

    def local(self, cohort: Cohort) -> Arrays:
        words = [()] if is_number(self.plan) else [(CASE,), (CONTROL,)]
        apart = [members_of(word, cohort.samples) for word in words]
        parts = self.members(cohort)
        levels = [at_each_level(cohort.samples.covariates[part], self.plan.dummies) for part in parts]
        at_levels = np.array(levels).reshape(GROUPS, self.level_count)
        people = np.array([[np.count_nonzero(part & one) for one in apart] for part in parts])
        return {
            "people": people,
            "capped": capped(people),
            ON_RUNGS.name: on_rungs(int(people.sum())),
            "levels": at_levels,
            "capped_levels": capped(at_levels),
        }


@dataclass(frozen=True, eq=False)
class CountSides(OfDrawn, CountBeside, name="polygenic/sides"):
    """Counts the people beside the means in both groups."""

    sends: ClassVar[tuple[Count, ...]] = CountBeside.sends_of(
        "per covariate, and phenotype if it is a number: number of people that are fitted to, and that are "
        "left out, above the mean and below it"
    )
    asked_if: ClassVar[Condition] = column_names

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = len(column_names(plan))
        return Foreseen([cls(plan, np.zeros(columns))] if columns else ())

    @property
    def groups(self) -> int:
        return GROUPS
