"""Measures how often tests with few cases have a small P by chance; writes docs/measured/levels.md.

    .venv/bin/python docs/measure_levels.py

10,000 people, one in 200 a case, with two covariates that go with being one, and variants that do not. People
are dealt to three cohorts.
"""

from __future__ import annotations

from collections.abc import Iterator

import measuring
import numpy as np

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.methods.regression.options import ALWAYS, FALLBACK
from unpooled.methods.regression.results import columns_of
from unpooled.methods.regression.saddlepoint import TABLE
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

PEOPLE, CASES, EACH, DRAWS = 10_000, 50, 4_000, 5
RANGES = {"0.1 to 1 %": (0.001, 0.01), "1 to 50 %": (0.01, 0.5)}
"""Frequencies of the first allele."""
LEVELS = (1e-3, 1e-4, 5e-5)
TESTS = (
    "usual fit, and Firth's where that fails",
    "Firth's for every variant",
    "score test, normal (`P_SCORE`)",
    "score test, saddlepoint (`P_SPA`)",
)
WRITES = (measuring.Table("levels"),)


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    measuring.write(given.out, WRITES[0].name, table(*((60, 1) if given.small else (EACH, DRAWS))))


def table(variants: int, draws: int) -> Iterator[str]:
    yield f"| Frequency of A1 | Test | Variants with P | {' | '.join(f'P < {at:.0e}' for at in LEVELS)} |"
    yield "| --- | --- |" + " ---: |" * (1 + len(LEVELS))
    chances = " | ".join(f"{variants * draws * level:g}" for level in LEVELS)
    yield f"| | by chance | {variants * draws:,} | {chances} |"
    for name, frequencies in RANGES.items():
        found = [tested(variants, frequencies, seed) for seed in range(draws)]
        for k, test in enumerate(TESTS):
            p = np.concatenate([each[k] for each in found])
            p = p[~np.isnan(p)]
            below = " | ".join(str(np.count_nonzero(p < level)) for level in LEVELS)
            yield f"| {'' if k else name} | {test} | {len(p):,} | {below} |"


def tested(variants: int, frequencies: tuple[float, float], seed: int) -> list[np.ndarray]:
    """P of each test, by variant, among people of this seed."""
    random = np.random.default_rng(seed)
    copies = random.binomial(2, random.uniform(*frequencies, variants)[:, None], (variants, PEOPLE))
    covariates = random.normal(size=(PEOPLE, 2))
    risk = covariates.sum(axis=1) + random.logistic(size=PEOPLE)
    y = (risk > np.sort(risk)[-1 - CASES]).astype(float)
    panel = Panel.of([(1, 1 + k, b"v%d" % k, b"A", b"G") for k in range(variants)])
    everyone, none = np.ones(PEOPLE, bool), np.zeros(variants, bool)
    cohorts = [
        ArrayCohort(
            Samples(
                y[k::3], everyone[k::3].astype(np.uint8), everyone[k::3], everyone[k::3], covariates[k::3]
            ),
            copies[:, k::3].astype(np.int8),
            none,
        )
        for k in range(3)
    ]
    about = {"covariates": (Covariate("c0"), Covariate("c1"))}
    usual, firth = (
        run(Plan("logistic", "y", 3, NO_KEY, files=files, firth=choice, **about), panel, cohorts)
        for choice, files in ((FALLBACK, ("glm", "spa")), (ALWAYS, ("glm",)))
    )
    normal, tails = (10 ** -usual[TABLE][name][:] for name in ("score_neg_log10_p", "neg_log10_p"))
    fits = [10 ** -columns_of("glm", tables)["neg_log10_p"][:][:, 0] for tables in (usual, firth)]
    return [*fits, normal, np.where(np.isnan(tails), normal, tails)]


if __name__ == "__main__":
    main()
