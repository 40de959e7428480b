"""Options of a study of principal components."""

from __future__ import annotations

from unpooled.plan.common_options import COMPONENTS, COMPONENTS_METHODS, MOST_COMPONENTS
from unpooled.plan.options import Number, Place, Whole
from unpooled.plan.plan import Plan

MOST_ROUNDS = 20
"""Maximum number of rounds; each gives the server one product of the genotypes per direction of a block."""
USUAL_ROUNDS = 8
DIRECTIONS_PER_COMPONENT = 3
"""Directions that the people must allow for each component, at the least."""
BEYOND = 10
"""Directions of a block beside one for each component: with them fewer rounds are needed."""
PEOPLE_PER_DIRECTION = 5
"""People beside any one cohort for each direction of all blocks, at the least: each tells a sum over them."""
_ROUNDS_OF_FEW = 10
"""Rounds of few directions, at the least: 40 in blocks of 4 settle as much as 90 in blocks of 10."""
STANDS_OUT = 1.2
"""The last eigenvalue that is so many times the next, and those before it, are found to the plan's
tolerance."""
WORST_COVARIATE = 1e-3
"""The error, as 1 - |cos|, that a component may have with which a regression goes on."""

PCA_COUNT = Whole(
    name="pca",
    label="Number of components",
    flag="--pca",
    hint="Their scores stay at the cohorts.",
    default=10,
    least=1,
    most=MOST_COMPONENTS,
    place=Place.MODEL,
    fact="{}: each cohort keeps its people's scores",
    is_always_said=True,
    methods=f"{COMPONENTS_METHODS}.",
    came_later=True,
)


COMPONENT_TOLERANCE = Number(
    name="component_tolerance",
    label="Tolerance of a component",
    hint="The error of its angle, as 1 - |cos|, for each component up to the last whose "
    f"eigenvalue is at least {STANDS_OUT} times the next.",
    default=1e-9,
    least=1e-14,
    most=WORST_COVARIATE,
    fact="{}, as 1 - |cos|, for components that stand out",
    came_later=True,
)


def number_of(plan: Plan) -> int:
    """Return the number of components that a study finds."""
    return int(PCA_COUNT.of(plan) if plan.test == PCA_COUNT.name else COMPONENTS.of(plan))


def block_of(components: int, variants: int, people: int, *, alone: bool = False) -> tuple[int, int]:
    """Return the number of directions of a block, and of rounds, for `people` beside any one cohort."""
    most = people // PEOPLE_PER_DIRECTION if not alone else MOST_ROUNDS * (components + BEYOND)
    block = min(components + BEYOND, max(1, most // _ROUNDS_OF_FEW), variants)
    return block, min(MOST_ROUNDS, most // block)
