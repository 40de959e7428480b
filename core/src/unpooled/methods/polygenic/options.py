"""Options of a study of a polygenic score."""

from __future__ import annotations

from unpooled.plan.options import Numbers, Place, Whole

USUAL_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8)
MOST_ROUNDS = 70
"""Largest number of rounds; in each, the server reads one product of the genotypes for each fit not ended."""
ROUNDS_PER_PERSON = 10
"""People of the pool for each such product, at the least."""

TOLERANCE = 1e-6
"""Relative residual at which a variance share counts as solved: predictions then have 6 digits or more."""

HELD_OUT = Whole(
    name="held_out",
    label="People left out: one in",
    hint="The share of variance is chosen by how well it predicts these people, whom the fit has not seen.",
    default=5,
    least=2,
    most=20,
    place=Place.MODEL,
    fact="one person in {}: by them the share of variance is chosen, and the final score is fitted to all",
    is_always_said=True,
    methods="The share was chosen by the prediction of one person in {}, whom the fit had not seen.",
)
SHARES = Numbers(
    name="shares",
    label="Shares of variance to try",
    hint="How much of the phenotype's variance the variants explain: numbers between 0 and 1, between "
    f"commas. Left empty, {', '.join(map(str, USUAL_SHARES))}.",
    least=0.001,
    most=0.95,
    place=Place.MODEL,
    fact="{}: the one with the least error is taken",
)
