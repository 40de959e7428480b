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
from unpooled.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS

_INFO = b"unpooled/principal-components/1"
_ROUNDING = 1e-6
"""Rounding to `Directions` leaves about 1e-12, or 1e-11 of the first block's signs."""


_MANY = 50
"""Variants for each direction of a block, from which on that holds: few have hardly another place to be."""


def first_block(plan: Plan, block: int, variants: int) -> np.ndarray:
    """What the first block is made from: float64 (block, variants)."""
    # However many variants a question is about, and cohorts there are: as in a cohort alone.
    fields = {**vars(plan), "chunk_size": 0, "cohorts": MIN_COHORTS}
    return start(_INFO + Plan(**fields).hash(), block, variants)
