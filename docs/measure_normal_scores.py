"""Measures what the bins of normal scores lose, beside exact ranks; writes docs/measured/normal-scores.md.

    .venv/bin/python docs/measure_normal_scores.py

Three cohorts (1 : 2 : 4), two covariates, and 1,000 variants, of which 100 have effects.
"""

from __future__ import annotations

from collections.abc import Iterator

import measuring
import numpy as np
from scipy.stats import norm, rankdata

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

PEOPLE = (500, 1_000, 2_000, 5_000, 20_000)
SHARES = (1 / 7, 3 / 7)
"""Ends of the first two cohorts."""
VARIANTS, BEARING = 1_000, 100
KINDS = {"normal": lambda z: z, "skewed": lambda z: np.exp(1.5 * z), "long tails": lambda z: np.sinh(2 * z)}
COLUMNS = ("People", "Phenotype", "r of log₁₀ P", "χ² of exact ranks", "χ² without ranks")
WRITES = (measuring.Table("normal-scores", apart=0.02),)
NOTE = """
r is with the regression on the exact normal scores of the pool. Mean χ² of the variants with effects is in
percent of that of exact ranks, and of the phenotype as it is."""


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    measuring.write(given.out, WRITES[0].name, table(PEOPLE[:1] if given.small else PEOPLE))


def table(sizes: tuple[int, ...]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "| ---: | --- |" + " ---: |" * 3
    for people in sizes:
        for kind in KINDS:
            yield f"| {people:,} | {kind} | {' | '.join(measured(people, kind))} |"
    yield NOTE


def measured(people: int, kind: str) -> tuple[str, str, str]:
    random = np.random.default_rng(people)
    copies = random.binomial(2, random.uniform(0.05, 0.5, VARIANTS)[:, None], (VARIANTS, people))
    covariates = random.normal(size=(people, 2))
    effects = 3 / np.sqrt(people)
    z = effects * copies[:BEARING].sum(axis=0) + covariates.sum(axis=1) / 2 + random.normal(size=people)
    y = KINDS[kind]((z - z.mean()) / z.std())
    scores = norm.ppf((rankdata(y) - 0.5) / people)
    binned, exact, plain = (
        neg_log10_p(values, covariates, copies, rint=rint)
        for values, rint in ((y, True), (scores, False), (y, False))
    )
    chi = [np.mean(norm.isf(10 ** -p[:BEARING] / 2) ** 2) for p in (binned, exact, plain)]
    shares = (f"{100 * chi[0] / other:.1f} %" for other in chi[1:])
    return f"{np.corrcoef(binned, exact)[0, 1]:.4f}", *shares


def neg_log10_p(y: np.ndarray, covariates: np.ndarray, copies: np.ndarray, *, rint: bool) -> np.ndarray:
    everyone, none = np.ones(len(y), bool), np.zeros(len(copies), bool)
    ends = [int(len(y) * share) for share in (0, *SHARES, 1)]
    cohorts = [
        ArrayCohort(
            Samples(y[k], everyone[k].astype(np.uint8), everyone[k], everyone[k], covariates[k]),
            copies[:, k].astype(np.int8),
            none,
        )
        for k in map(slice, ends, ends[1:])
    ]
    panel = Panel.of([(1, 1 + k, b"v%d" % k, b"A", b"G") for k in range(len(copies))])
    names = (Covariate("c0"), Covariate("c1"))
    plan = Plan("linear", "y", 3, NO_KEY, trait="quantitative", files=("assoc",), covariates=names, rint=rint)
    return np.asarray(run(plan, panel, cohorts)["variants"]["neg_log10_p"][:, 0])


if __name__ == "__main__":
    main()
