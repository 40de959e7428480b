"""Measures how often tests of interactions are wrong, with usual and with robust errors; writes
docs/measured/robust.md.

    .venv/bin/python docs/measure_robust.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import measuring
import numpy as np

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.kernels.statistics import chi_squares_neg_log10_p
from unpooled.panel.panel import Panel
from unpooled.plan.options import Covariate
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.run import run

PEOPLE, COHORTS, LEVEL = 3000, 3, 0.01
FREQUENCIES = (0.3, 0.05, 0.01)
COLUMNS = (
    "Phenotype",
    "Frequency",
    "`ADDxE`, usual",
    "`ADDxE`, robust",
    "Joint test, usual",
    "Joint test, robust",
)
WRITES = (measuring.Table("robust", apart=0.02),)
Floats = np.ndarray
PHENOTYPES: dict[str, tuple[str, Callable[[Floats, Floats], Floats]]] = {
    "as the model has it": ("linear", lambda e, noise: 0.5 * e + noise),
    "the exposure's effect is a curve": ("linear", lambda e, noise: 0.5 * e * e + noise),
    "varies more with the exposure": ("linear", lambda e, noise: 0.5 * e + noise * np.exp(e / 2)),
    "varies less with the exposure's size": ("linear", lambda e, noise: 0.5 * e + noise / (1 + np.abs(e))),
    "cases; the exposure's effect is a curve": ("logistic", lambda e, noise: (noise + e * e > 1.5) * 1.0),
}


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    variants, repeats = (40, 1) if given.small else (1000, 10)
    measuring.write(given.out, WRITES[0].name, table(variants, repeats))


def table(variants: int, repeats: int) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "| --- |" + " ---: |" * (len(COLUMNS) - 1)
    for name, (test, phenotype) in PHENOTYPES.items():
        for frequency in FREQUENCIES:
            found = [shares(test, phenotype, frequency, variants, seed) for seed in range(repeats)]
            percent = [f"{100 * share:.1f} %" for share in np.mean(found, axis=0).T.ravel()]
            yield f"| {name} | {100 * frequency:g} % | {' | '.join(percent)} |"
    yield ""
    yield (
        f"Share of variants without any effect that have P < {LEVEL}: {variants * repeats:,} a line, of "
        f"{PEOPLE:,} people in {COHORTS} cohorts, with another phenotype every {variants:,}."
    )


def shares(
    test: str, phenotype: Callable[[Floats, Floats], Floats], frequency: float, variants: int, seed: int
) -> Floats:
    """Shares of variants below the level, (2, 2): by the usual errors and by robust ones, of both tests."""
    random = np.random.default_rng(seed)
    exposure = random.normal(size=PEOPLE)
    y = phenotype(exposure, random.normal(size=PEOPLE))
    copies = random.binomial(2, frequency, (variants, PEOPLE)).astype(np.int8)
    same = np.ones(PEOPLE, bool)
    cohorts = [
        ArrayCohort(
            Samples(y[k], same[k].astype(np.uint8), same[k], same[k], exposure[k, None]),
            copies[:, k],
            np.zeros(variants, bool),
        )
        for k in (slice(first, None, COHORTS) for first in range(COHORTS))
    ]
    panel = Panel.of([(1, 1 + k, b"rs%d" % k, b"A", b"C") for k in range(variants)])
    trait = "quantitative" if test == "linear" else "case/control"
    found = []
    for robust in (False, True):
        plan = Plan(test, "y", COHORTS, NO_KEY, trait=trait, covariates=(Covariate("E"),), interaction=("E",),
                    joint_test=True, robust=robust, missing="exact", files=("assoc",))  # fmt: skip
        rows = run(plan, panel, cohorts)["variants"]
        joint = chi_squares_neg_log10_p(rows["joint"], rows["joint_freedom"].astype(np.int64))
        each = rows["neg_log10_p"][:, -1], joint
        found.append([np.mean(p[~np.isnan(p)] > -np.log10(LEVEL)) for p in each])
    return np.array(found)


if __name__ == "__main__":
    main()
