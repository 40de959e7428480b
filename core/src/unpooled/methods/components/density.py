"""Density of the pool's people in the plane of the first two components, without cells of few people.

The plane is cut into cells. Of each, server and compensator compare how many people of the pool are in it
with 10, 20, 40 and so on, and nobody reads the numbers: what comes out is a density to a factor of two, and
nothing of a cell with fewer than 10 people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Rows, Study, procedure
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Count, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.methods.components.options import PCA_COUNT
from unpooled.methods.components.procedure import Components
from unpooled.methods.components.questions import OfPeople
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.plan.result_files import DENSITY_FILE

TABLE = "density"
"""A row for each cell with enough people: `index`, its place; `at_least`, how many; and its `edges`,
(cells, 4), from and to of both components."""

COMPONENTS = 2
SIDE = 32
"""Cells along a component."""
REACH = 4.0
"""Standard deviations to either side of 0; the outermost cells hold whoever is beyond."""
MOST_RUNGS = 20
"""Ten people, doubled so often, are more than five million."""


def is_asked_for(plan: Plan) -> bool:
    return DENSITY_FILE in plan.files and PCA_COUNT.of(plan) >= COMPONENTS


@dataclass(frozen=True, eq=False)
class RankCells(OfPeople, name="components/density", title="Rank the density of people", ring_bits=64):
    """Question that finds, to a factor of two, how many people of the pool are in each cell."""

    asked_if: ClassVar[Condition] = is_asked_for
    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            ("cells", "rungs"),
            MOST_PEOPLE,
            "per cell of the plane of the first two components, several times: number of people in it",
            UNREAD,
        ),
    )
    opens: ClassVar[Bits] = Bits(
        "reaches",
        ("cells", "rungs"),
        "at-least",
        f"how many people of the pool are in each cell, to a factor of two; of one with fewer than "
        f"{FEWEST_AT_A_LEVEL} nothing",
    )
    each: ClassVar[dict[str, str]] = {"cells": "cell", "rungs": "doubling of the floor"}
    cells: ClassVar[int] = SIDE**COMPONENTS

    kept: np.ndarray
    mean: np.ndarray
    weights: np.ndarray
    """float64 (2, kept): what a copy counts, so that scores are in standard deviations"""
    everyone: int
    """People of the pool: no cell has more."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        def of_all(kept: np.ndarray, mean: np.ndarray) -> RankCells:
            weights = np.zeros((COMPONENTS, len(mean)))
            return cls(plan, kept, mean, weights, MOST_PEOPLE)

        return cls.foreseen_widest(plan, sizes, of_all)

    @property
    def rungs(self) -> int:
        return min(MOST_RUNGS, (max(self.everyone, 1) // FEWEST_AT_A_LEVEL).bit_length())

    def thresholds(self) -> Arrays:
        return {"people": FEWEST_AT_A_LEVEL << np.arange(self.rungs)}

    def local(self, cohort: Cohort) -> Arrays:
        scores = self.scores(cohort, self.weights)[cohort.samples.kept]
        place = np.clip((scores + REACH) / (2 * REACH) * SIDE, 0, SIDE - 1).astype(np.int64)
        counts = np.bincount(place[:, 0] * SIDE + place[:, 1], minlength=self.cells)
        return {"people": np.repeat(counts[:, None], self.rungs, axis=1)}


@procedure("pca/rank-cells")
def density(study: Study, found: Components) -> Asks[None]:
    """Report the cells with enough people in them; edges are in the units of the cohorts' `.eigenvec`."""
    scaled = found.scaled
    unit = np.sqrt(found.values[:COMPONENTS] * len(scaled.variants) / found.people)
    weights = found.loadings[:COMPONENTS] * scaled.scale / unit[:, None]
    told = yield RankCells(study.plan, scaled.kept, scaled.mean, weights, found.people)
    reached = told["reaches"].sum(axis=1, dtype=int)
    index = np.flatnonzero(reached)
    low = np.stack([index // SIDE, index % SIDE], axis=1) * (2 * REACH / SIDE) - REACH
    edges = np.stack([low, low + 2 * REACH / SIDE], axis=2).reshape(len(index), 2 * COMPONENTS)
    yield Rows(
        TABLE,
        {
            "index": index,
            "at_least": FEWEST_AT_A_LEVEL << (reached[index] - 1),
            "edges": edges / np.sqrt(found.people),
        },
    )
