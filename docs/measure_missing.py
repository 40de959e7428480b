"""Measures how far the two rules for missing calls lie apart; writes docs/measured/missing.md.

    .venv/bin/python docs/measure_missing.py

A linear and a logistic study of the same people are run in one process, once by each rule: three cohorts,
four covariates, and variants some of whose calls are missing at random.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass

import measuring
import numpy as np

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.panel.panel import Panel
from unpooled.plan.plan import EXACT, MEAN, NO_KEY, Covariate, Plan
from unpooled.run import run

WRITES = (measuring.Table("missing", apart=0.1),)
COHORTS, COVARIATES = 3, 4
RATES = (0.001, 0.005, 0.02, 0.05, 0.1)
SEED = 1

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Size:
    """Size of the study."""

    people: int = 1781  # of each cohort
    variants: int = 2_000  # for each rate


def study(test: str, size: Size) -> tuple[Panel, list[ArrayCohort]]:
    """Every hundredth variant has an effect, as have the covariates, which go with the variants a little."""
    random = np.random.default_rng(SEED)
    people, variants = COHORTS * size.people, size.variants * len(RATES)
    frequency = random.uniform(0.02, 0.5, (variants, 1))
    covariates = random.normal(size=(people, COVARIATES))
    odds = frequency / (1 - frequency) * np.exp(0.1 * covariates[:, 0])
    copies = random.binomial(2, odds / (1 + odds)).astype(np.int8)
    value = covariates.sum(axis=1) / 4 + 0.15 * (copies[::100] - 2 * frequency[::100]).sum(axis=0)
    if test == "linear":
        phenotype = value + random.normal(size=people)
    else:
        phenotype = (random.random(people) < 1 / (1 + np.exp(-value))).astype(float)
    copies[random.random(copies.shape) < np.repeat(RATES, size.variants)[:, None]] = -1
    yes = np.ones(people, bool)
    cohorts = []
    for part in np.split(np.arange(people), COHORTS):
        sex = np.full(len(part), 2, np.uint8)
        samples = Samples(phenotype[part], sex, yes[part], yes[part], covariates[part])
        cohorts.append(ArrayCohort(samples, copies[:, part], np.zeros(variants, bool)))
    panel = Panel.of((1, 1 + i, b"rs%d" % i, b"A", b"G") for i in range(variants))
    return panel, cohorts


def results(test: str, rule: str, panel: Panel, cohorts: list[ArrayCohort]) -> Arrays:
    plan = Plan(
        test=test,
        trait="quantitative" if test == "linear" else "case/control",
        phenotype="simulated",
        cohorts=COHORTS,
        compensator_key=NO_KEY,
        files=("assoc",),
        covariates=tuple(Covariate(f"C{k + 1}") for k in range(COVARIATES)),
        missing=rule,
        hide_covar=True,
    )
    return run(plan, panel, cohorts)["variants"]


def table(size: Size) -> Iterator[str]:
    yield (
        "| Test | Calls missing | Effect, in standard errors: median, largest "
        "| Standard error, relative: median, largest | -log10 P: median, largest |"
    )
    yield "| --- | --- | --- | --- | --- |"
    for test in ("linear", "logistic"):
        panel, cohorts = study(test, size)
        exact, mean = (results(test, rule, panel, cohorts) for rule in (EXACT, MEAN))
        for k, rate in enumerate(RATES):
            at = slice(k * size.variants, (k + 1) * size.variants)
            (beta, other_beta), (se, other_se), (p, other_p) = (
                (exact[name][at, 0], mean[name][at, 0]) for name in ("beta", "se", "neg_log10_p")
            )
            apart = (other_beta - beta) / se, other_se / se - 1, other_p - p
            cells = (f"{np.median(np.abs(d)):.2g}, {np.abs(d).max():.2g}" for d in apart)
            yield f"| {test} | {100 * rate:g} % | {' | '.join(cells)} |"
    yield ""
    yield (
        f"How far `mean` is from `exact`: {size.variants:,} variants a line, of frequency 2 to 50 %, "
        f"{COHORTS} cohorts of {size.people:,} people, {COVARIATES} covariates; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}."
    )


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    size = Size(people=200, variants=50) if given.small else Size()
    measuring.write(given.out, "missing", table(size))


if __name__ == "__main__":
    main()
