"""Measures how often sets of rare variants have a small P by chance; writes docs/measured/gene-cases.md.

    .venv/bin/python docs/measure_gene_cases.py

Sets of eight rare variants are generated with which nothing is associated, and a trait that goes with a
covariate: a number, and cases of shares down to 1 in 200. People are dealt to three cohorts.
"""

from __future__ import annotations

from collections.abc import Iterator

import measuring
import numpy as np

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.methods.genes.tests import TESTS
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

PEOPLE, SETS, EACH, DRAWS = 10_000, 1_000, 8, 5
CASES = (0, 1 / 10, 1 / 50, 1 / 200)
"""Shares of cases; 0 for a number."""
LEVELS = (0.05, 0.01, 0.001)
NAMES = ("burden", "SKAT", "SKAT-O", "ACAT-V")
WRITES = (measuring.Table("gene-cases", apart=0.02),)
NOTE = """
Shares of P below a level, divided by the level: 1 is as it should be."""


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    sizes = (6_000, 4, 1) if given.small else (PEOPLE, SETS, DRAWS)
    measuring.write(given.out, WRITES[0].name, table(*sizes))


def table(people: int, sets: int, draws: int) -> Iterator[str]:
    heads = [f"{name} {level:g}" for name in NAMES for level in LEVELS]
    yield f"| Cases | {' | '.join(heads)} |"
    yield "| --- |" + " ---: |" * len(heads)
    for share in CASES:
        p = np.concatenate([drawn(share, people, sets, seed) for seed in range(draws)])
        p = p[~np.isnan(p).any(axis=1)]
        ratios = [np.mean(p[:, k] < level) / level for k in range(len(TESTS)) for level in LEVELS]
        name = f"1 in {1 / share:.0f}" if share else "a number"
        yield f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |"
    yield NOTE


def drawn(share: float, people: int, sets: int, seed: int) -> np.ndarray:
    """P of each set and test, float64 (sets, tests), from people and traits of this seed."""
    random = np.random.default_rng(seed)
    m = sets * EACH
    copies = random.binomial(2, random.uniform(0.0005, 0.01, m)[:, None], (m, people)).astype(np.int8)
    covariate = random.normal(size=people)
    y = 0.5 * covariate + random.logistic(size=people)
    if share:
        y = (y > np.quantile(y, 1 - share)).astype(float)
    panel = Panel.of([(1, 1 + k, b"v%d" % k, b"A", b"G") for k in range(m)])
    lines = [f"G{k} 1 1 {','.join(f'v{v}' for v in range(EACH * k, EACH * (k + 1)))}" for k in range(sets)]
    about = {"trait": "case/control" if share else "quantitative", "covariates": (Covariate("age"),)}
    plan = Plan(
        "gene-tests", "y", 3, NO_KEY, files=("regenie",), set_list="\n".join(lines), max_maf=0.02, **about
    )
    everyone = np.ones(people, bool)
    cohorts = [
        ArrayCohort(
            Samples(
                y[k::3],
                everyone[k::3].astype(np.uint8),
                everyone[k::3],
                everyone[k::3],
                covariate[k::3, None],
            ),
            copies[:, k::3],
            np.zeros(m, bool),
        )
        for k in range(3)
    ]
    return np.asarray(10 ** -run(plan, panel, cohorts)["genes"]["neg_log10_p"][:])


if __name__ == "__main__":
    main()
