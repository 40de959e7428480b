"""A small study of every algorithm, in which each kind of its questions is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from normalizing import NOBODY, plan_of

from unpooled.algorithms import ALGORITHMS, METHODS, with_chunks
from unpooled.algorithms.algorithm import Algorithm
from unpooled.cohort import FEMALE, MALE, ArrayCohort, ArrayTable, Samples
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan

COHORTS, PEOPLE = 3, 60
CHROMOSOMES = (1, 22, 23, 24, 26)
EACH = 7
COVARIATES = (Covariate("age"), Covariate("smoker", ("never", "once", "now")))


@dataclass(frozen=True, eq=False)
class Small:
    """A study with its data."""

    plan: Plan
    panel: Panel
    cohorts: Sequence[Any]

    @property
    def test(self) -> Algorithm:
        return ALGORITHMS[self.plan.test]


def of_variants(test: str, **changes: Any) -> Small:
    """Chunks of four variants, some of them ties: two that are fitted, and two that only filters see."""
    plan = Plan(
        **{
            "test": test,
            "phenotype": "y",
            "cohorts": COHORTS,
            "compensator_key": bytes(32),
            "trait": ALGORITHMS[test].traits[0],
            "covariates": () if test == "chi-square" else COVARIATES,
            "files": tuple(ALGORITHMS[test].files),
            "chunk_size": 4,
            "hwe": 1e-20,
        }
        | changes
    )
    panel = Panel.of([(c, 1 + k, b"rs%d_%d" % (c, k), b"A", b"G") for c in CHROMOSOMES for k in range(EACH)])
    return Small(with_chunks(plan), panel, _cohorts(plan, panel))


def _cohorts(plan: Plan, panel: Panel) -> list[ArrayCohort]:
    random = np.random.default_rng(7)
    n, m = COHORTS * PEOPLE, len(panel)
    copies = random.binomial(2, random.uniform(0.2, 0.5, m)[:, None], (m, n)).astype(np.int8)
    copies[4:, ::17] = -1
    copies[:2] = 1
    copies[2:4] = np.arange(n) % 3
    risk = 0.6 * copies[3] + random.normal(size=n)
    phenotype = risk if plan.trait == "quantitative" else (risk > np.median(risk)).astype(float)
    phenotype[::29] = np.nan
    age, smoker = random.normal(50, 9, n), random.integers(0, 3, n)
    covariates = np.column_stack([age, smoker == 1, smoker == 2])[:, : len(plan.covariate_columns)]
    sex = random.choice([MALE, FEMALE], n).astype(np.uint8)
    everyone = np.ones(n, bool)
    samples = [phenotype, sex, everyone, everyone, covariates.astype(float)]
    return [
        ArrayCohort(
            Samples(*(part[k : k + PEOPLE] for part in samples)),
            copies[:, k : k + PEOPLE],
            random.random(m) < 0.5,
        )
        for k in range(0, n, PEOPLE)
    ]


def of_tables(method: str) -> Small:
    """A table of three features, one of them skewed."""
    changes: dict[str, Any] = {"quantiles": (0.3,), "elements": (1, -2)} if method == "quantiles" else {}
    values = np.random.default_rng(8).lognormal(size=(COHORTS, 40, 3))
    values[:, :, 0] -= 300.0
    values[:, ::11, 1] = np.nan
    return Small(plan_of(method, 3, COHORTS, **changes), NOBODY, [ArrayTable(part) for part in values])


STUDIES: dict[str, Callable[[], Small]] = {
    "chi-square": lambda: of_variants("chi-square"),
    "linear, exact": lambda: of_variants("linear", missing="exact"),
    "linear, mean": lambda: of_variants("linear", missing="mean"),
    "logistic, exact": lambda: of_variants("logistic", missing="exact"),
    "logistic, mean": lambda: of_variants("logistic", missing="mean"),
    **{method: lambda method=method: of_tables(method) for method in METHODS},  # type: ignore[misc]
}
