"""The blocks that an honest study multiplies with: the first is the plan's, and a cohort answers no others.

    first       signs from a stream whose key is the plan: the server chooses nothing
    later       what products leave outside the blocks before, orthonormal: the server's to compute, so a
                cohort can look only at what none of them is

A direction along one variant would read its covariances with all others. A variant that nothing goes
together with has an eigenvalue of at most 2 where that of others is about 1 or more. So from one round to the
next its share of a block grows at most fourfold, and no block has more than about three quarters of it.
Honest blocks come near that: of a variant that nobody carries once, or that is there twice, among 1,000 that
go with nothing, in 20,000 people, they had up to 0.56. So this finds a direction along one variant, and no
more: two variants have a half each, and what was added to hide one can be subtracted by another round.
"""

from __future__ import annotations

import numpy as np

from unpooled.algorithms.components.krylov import start
from unpooled.algorithms.components.options import block_of, number_of
from unpooled.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS

_INFO = b"unpooled/principal-components/1"
_ROUNDING = 1e-6
"""Rounding to `Directions` leaves about 1e-12, or 1e-11 of the first block's signs."""
_MOST_OF_ONE = 0.9
"""Share of a variant that a block may have."""
_MANY = 50
"""Variants for each direction of a block, from which on that holds: few have hardly another place to be."""


def first_block(plan: Plan, block: int, variants: int) -> np.ndarray:
    """What the first block is made from: float64 (block, variants)."""
    # However many variants a question is about, and cohorts there are: as in a cohort alone.
    fields = {**vars(plan), "chunk_size": 0, "cohorts": MIN_COHORTS}
    return start(_INFO + Plan(**fields).hash(), block, variants)


def is_honest(q: np.ndarray, mean: np.ndarray, people: int, turn: int, plan: Plan) -> bool:
    """Whether a study of so many people multiplies with q, float64 (b, m), in its round `turn`.

    `mean`, (m,), are the copies of each variant that a person of the pool has.
    """
    variants = len(mean)
    block, rounds = block_of(number_of(plan), variants, people)
    if len(q) > block or turn > rounds or not ((mean > 0) & (mean < 2)).all():
        return False
    if np.abs(q @ q.T - np.eye(len(q))).max(initial=0) > _ROUNDING:
        return False
    if turn == 1:
        signs = first_block(plan, block, variants)
        return bool(np.abs(signs - (signs @ q.T) @ q).max(initial=0) <= _ROUNDING)
    return variants < _MANY * block or bool(np.einsum("bm,bm->m", q, q).max() <= _MOST_OF_ONE)
