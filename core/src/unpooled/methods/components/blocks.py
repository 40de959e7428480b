"""The blocks that a study of components multiplies with.

first       signs from a stream whose key is the plan
later       what products leave outside the blocks before, orthonormal
"""

from __future__ import annotations

import numpy as np

from unpooled.methods.components.krylov import start
from unpooled.plan.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS

_INFO = b"unpooled/principal-components/1"


def first_block(plan: Plan, block: int, variants: int) -> np.ndarray:
    """Draw the vectors that the first block is made from: float64 (block, variants)."""
    # However many variants a question is about, and cohorts there are: as in a cohort alone.
    fields = {**vars(plan), "chunk_size": 0, "cohorts": MIN_COHORTS}
    return start(_INFO + Plan(**fields).hash(), block, variants)
