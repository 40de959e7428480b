"""Clumping of associations by linkage disequilibrium: the result file that asks for it, and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unpooled.plan.options import Number, Place

if TYPE_CHECKING:
    from unpooled.plan.plan import Plan

CLUMPED = "clumped"
"""The result file, which is asked for like any other."""

P1 = Number(
    name="clump_p1",
    came_later=True,
    label="Largest P of a lead variant",
    flag="--clump-p1",
    default=1e-4,
    least=1e-300,
    most=0.05,
    place=Place.MODEL,
    file=CLUMPED,
    fact="of at most {}",
)
P2 = Number(
    name="clump_p2",
    came_later=True,
    label="P below which a variant of a clump is named",
    flag="--clump-p2",
    default=0.01,
    least=0,
    most=1,
    place=Place.MODEL,
    file=CLUMPED,
    fact="below {}",
)
R2 = Number(
    name="clump_r2",
    came_later=True,
    label="Linkage (r²) above which a variant is of a clump",
    flag="--clump-r2",
    default=0.5,
    least=0,
    most=1,
    is_below=True,
    place=Place.MODEL,
    file=CLUMPED,
    fact="above {}",
)
KB = Number(
    name="clump_kb",
    came_later=True,
    label="Kilobases to either side of a lead variant",
    flag="--clump-kb",
    default=250.0,
    least=1,
    most=10_000,
    place=Place.MODEL,
    file=CLUMPED,
    fact="{} kb to either side",
)
CLUMPING = (P1, P2, R2, KB)
"""The options of a study whose associations can be clumped."""


def is_clumped(plan: Plan) -> bool:
    return CLUMPED in plan.files
