"""Random studies of phenotypes of the same people: together each has the results that it has alone."""

from __future__ import annotations

import numpy as np
import pytest
from test_phenotypes import together_and_alone

from unpooled.algorithms.phenotypes import required
from unpooled.cohort import ArrayCohort, Samples
from unpooled.genotype_model import ADDITIVE
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan

CHROMOSOMES = (1, 22, 23, 24, 26)
PANEL = Panel.of(
    [(code, 1 + k, b"rs%d_%d" % (code, k), b"A", b"G") for code in CHROMOSOMES for k in range(4)]
)


def drawn(random: np.random.Generator) -> tuple[Plan, list[ArrayCohort]]:
    """A plan, and three cohorts: phenotypes of any size, far from 0, some of them tied or rare."""
    phenotypes, covariates = random.integers(2, 6), random.integers(1, 10)
    plan = Plan(
        "linear",
        "p0",
        3,
        bytes(32),
        trait="quantitative",
        phenotypes=tuple(f"p{k}" for k in range(1, phenotypes)),
        require_pheno=True,
        covariates=tuple(Covariate(f"c{k}") for k in range(covariates)),
        genotype_model=str(random.choice([ADDITIVE, "dominant", "genotypic"])),
        missing=str(random.choice(["exact", "mean"])),
        files=("assoc", "glm", "frq", "lmiss", "hwe"),
        nonfounders=bool(random.integers(2)),
        geno=float(random.choice([1, 0.1])),
        maf=float(random.choice([0, 0.05])),
    )
    return plan, [cohort(random, phenotypes, covariates) for _ in range(3)]


def cohort(random: np.random.Generator, phenotypes: int, covariates: int) -> ArrayCohort:
    people, number = int(random.choice([20, 60])), np.arange(phenotypes)[:, None]
    values = random.normal(size=(phenotypes, people))
    values[1::3] = values[1::3] > 1  # rare
    values[2::3] = np.round(values[2::3])  # tied
    values = np.ldexp(values + 1e3 * number[::-1], 60 * (number - 1))
    values[random.random(values.shape) < 0.05] = np.nan
    copies = random.binomial(2, random.uniform(0, 0.6, len(PANEL))[:, None], (len(PANEL), people))
    copies[random.random(copies.shape) < 0.05] = -1
    known = random.normal(1e4, 1, (people, covariates))
    known[random.random(known.shape) < 0.01] = np.nan
    sex, founder = random.integers(0, 3, people).astype(np.uint8), random.random(people) < 0.9
    samples = Samples(values[0], sex, founder, np.ones(people, bool), known, further=tuple(values[1:]))
    return ArrayCohort(samples, copies.astype(np.int8), random.random(len(PANEL)) < 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_together_each_is_as_alone_to_the_last_bit(seed: int) -> None:
    plan, cohorts = drawn(np.random.default_rng(seed))
    whole = [required(each, plan) for each in cohorts]
    for column, own, alone in together_and_alone(plan, PANEL, whole):
        assert own.tobytes() == alone.tobytes(), column
