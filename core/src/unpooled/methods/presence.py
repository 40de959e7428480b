"""Presence of a coordinator's listed variants in the cohorts: a masked 0 or 1 each, never a list in clear.

Asked before the first question of a study whose panel uses a list. Only how *many* cohorts can reconcile a
variant is ever unmasked; the panel keeps those that all can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Each, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question
from unpooled.asking.sizes import LISTED, Sizes
from unpooled.plan.plan import Plan

TABLE = "presence"


class Listed(Protocol):
    """A cohort that has looked for the variants of a list."""

    @property
    def present(self) -> np.ndarray:
        """bool (m,): the cohort can reconcile this variant of the list with its own."""


@dataclass(frozen=True)
class Presence(Question, name="panel/presence", title="Agree on variants"):
    """Asks about `count` variants of the list from the one at index `start` on."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "present",
            ("count",),
            1,
            "whether this cohort has the variant, 0 or 1",
            "how many cohorts have each variant of the list",
        ),
    )
    each: ClassVar[dict[str, str]] = {"count": "variant of the list"}
    only_server: ClassVar[Condition] = lambda plan: True

    start: int
    count: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        if not sizes or LISTED not in sizes:
            return None
        return Foreseen(list(first(sizes[LISTED], plan.chunk_size)))

    def is_within(self, listed: int) -> bool:
        """Tell whether a list of so many variants has all that it is about."""
        return self.start >= 0 and 0 <= self.count <= listed - self.start

    def local(self, cohort: Cohort) -> Arrays:
        present = cast(Listed, cohort).present[self.start : self.start + self.count]
        return {"present": present.astype(np.int64)}


def first(listed: int, chunk_size: int) -> Iterator[Presence]:
    """The questions about all `listed` variants."""
    for start in range(0, listed, chunk_size):
        yield Presence(start, min(chunk_size, listed - start))


@procedure("panel/presence")
def presence(study: Study, listed: int) -> Asks[None]:
    """Count the cohorts that have each of the `listed` variants."""
    yield Each(presence_of(study, asked.start, asked.count) for asked in first(listed, study.plan.chunk_size))


@procedure("panel/presence/chunk")
def presence_of(study: Study, start: int, count: int) -> Asks[None]:
    """Count the cohorts that have each of `count` variants from `start` on."""
    sums = yield Presence(start, count)
    yield Rows(TABLE, {"variant": np.arange(start, start + count), "cohorts": sums["present"]})
