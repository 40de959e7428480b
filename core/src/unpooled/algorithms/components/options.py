"""What a study of principal components can be asked for."""

from __future__ import annotations

from unpooled.options import Number, Place, Whole

MOST_COMPONENTS = 40
MOST_ROUNDS = 20
"""In each of which the server reads one product of the genotypes for each direction of a block."""
USUAL_ROUNDS = 8
LEAST_ROUNDS = 3
BEYOND = 10
"""Directions of a block beside one for each component: with them fewer rounds are needed."""
PEOPLE_PER_DIRECTION = 10
"""People of the pool for each direction of all blocks, at the least: each tells a sum over them."""
STANDS_OUT = 1.2
"""How many times the next eigenvalue one is that is found to the plan's tolerance."""

COMPONENTS = Whole(
    name="components",
    label="Principal components",
    flag="--pca",
    hint="How many. Their scores stay at the cohorts.",
    default=0,
    usual=10,
    least=0,
    most=MOST_COMPONENTS,
    place=Place.MODEL,
    fact="{}: each cohort keeps its people's scores",
    methods="{} principal components of all cohorts' genotypes were computed without pooling them, by block "
    "Krylov iteration on sums over the cohorts.",
    came_later=True,
)
COMPONENT_TOLERANCE = Number(
    name="component_tolerance",
    label="Tolerance of a component",
    hint="Of the angle, as 1 - |cos|, for each component whose eigenvalue is at least "
    f"{STANDS_OUT} times the next.",
    default=1e-9,
    least=1e-14,
    most=1e-3,
    fact="{}, as 1 - |cos|, for components that stand out",
    needs=COMPONENTS.name,
    came_later=True,
)


def block_of(components: int, variants: int, people: int, *, alone: bool = False) -> tuple[int, int]:
    """How many directions a block has, and how many rounds there can be; none if the people are too few."""
    most = people // PEOPLE_PER_DIRECTION if not alone else MOST_ROUNDS * (components + BEYOND)
    block = min(components + BEYOND, max(components, most // USUAL_ROUNDS), variants)
    rounds = min(MOST_ROUNDS, most // block) if block else 0
    return block, rounds if rounds >= LEAST_ROUNDS else 0
