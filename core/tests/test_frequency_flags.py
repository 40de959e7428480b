"""Counts of cohorts whose frequencies are far from the pool's: the sum of what each finds by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from tests.people import people
from unpooled import run
from unpooled.asking.cohort import FEMALE, MALE, ArrayCohort
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods import ALGORITHMS
from unpooled.methods.frequencies import CountFar, scores
from unpooled.methods.shared.options import FAR
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan, PlanError

PEOPLE, VARIANTS, OFF = 150, 700, 240
CHROMOSOMES = (1, 2, 23, 25, 26)  # XY and MT are no autosomes, nor is X


def plan_of(test: str, **changes: Any) -> Plan:
    return Plan(
        **{
            "test": test,
            "phenotype": "y",
            "cohorts": 3,
            "compensator_key": NO_KEY,
            "trait": ALGORITHMS[test].traits[0],
            "files": ("glm",) if changes.get("dosages") else ("assoc",),
            "frequency_flags": True,
            "chunk_size": 97,
        }
        | changes
    )


def panel_of() -> Panel:
    each = VARIANTS // len(CHROMOSOMES)
    return Panel.of([(c, 1 + k, b"rs%d_%d" % (c, k), b"A", b"G") for c in CHROMOSOMES for k in range(each)])


def cohorts_of(seed: int, off: Sequence[int] = ()) -> tuple[list[ArrayCohort], list[np.ndarray]]:
    """Cohorts, and copies of the first allele; of those `off` the alleles of `OFF` variants are mixed up."""
    random = np.random.default_rng(seed)
    minor = random.uniform(0.02, 0.5, (VARIANTS, 1))
    found, copies_of = [], []
    for k in range(3):
        n = PEOPLE + 31 * k
        copies = random.binomial(2, np.where(np.arange(VARIANTS)[:, None] < OFF, 1 - minor, minor)
                                 if k in off else minor, (VARIANTS, n)).astype(np.int8)  # fmt: skip
        copies[random.random(copies.shape) < 0.02] = -1
        samples = people(
            random.integers(0, 2, n),
            sex=random.choice([MALE, FEMALE], n).astype(np.uint8),
            founder=random.random(n) < 0.9,
            kept=random.random(n) < 0.95,
        )
        found.append(ArrayCohort(samples, copies, random.random(VARIANTS) < 0.5, None))
        copies_of.append(copies)
    return found, copies_of


def own_numbers(
    cohorts: Sequence[ArrayCohort], copies_of: Sequence[np.ndarray], nonfounders: bool, kept: np.ndarray
) -> list[int]:
    """Count what each cohort finds by itself next to the pool's frequencies, the slow way."""
    firsts, alleles = [], []
    for cohort, copies in zip(cohorts, copies_of, strict=True):
        who = cohort.samples.kept & (cohort.samples.founder | nonfounders)
        known = copies[:, who] >= 0
        firsts.append(np.where(known, copies[:, who], 0).sum(axis=1))
        alleles.append(2 * known.sum(axis=1))
    pool, of_pool = sum(firsts), sum(alleles)
    return [
        int((np.abs(scores(first / of_own, of_own, pool / of_pool, of_pool)) > FAR)[kept].sum())
        for first, of_own in zip(firsts, alleles, strict=True)
    ]


def total(plan: Plan, panel: Panel, cohorts: Sequence[ArrayCohort]) -> int:
    found = ALGORITHMS[plan.test].summarise(run.run(plan, panel, cohorts))
    assert found is not None
    return int(found["frequencies_far"])  # type: ignore[arg-type]


@pytest.mark.parametrize("nonfounders", [False, True])
@pytest.mark.parametrize("test", ["chi-square", "linear", "logistic"])
def test_the_total_is_the_sum_of_what_each_cohort_finds(test: str, nonfounders: bool) -> None:
    panel, autosomal = panel_of(), panel_of().chromosome <= 22
    cohorts, copies = cohorts_of(5, off=(1,))
    wanted = own_numbers(cohorts, copies, nonfounders, autosomal)
    assert wanted[1] > 100 and wanted[0] > 20
    assert total(plan_of(test, nonfounders=nonfounders), panel, cohorts) == sum(wanted)


def test_like_cohorts_have_none() -> None:
    cohorts, copies = cohorts_of(6)
    assert own_numbers(cohorts, copies, False, np.ones(VARIANTS, bool)) == [0, 0, 0]
    assert total(plan_of("chi-square"), panel_of(), cohorts) == 0


def test_a_deviation_is_that_of_alleles_drawn_from_the_pool() -> None:
    own, pool = np.array([400]), np.array([1000])
    one = hypergeom(pool, pool // 2, own).std() / own
    assert scores(0.5 + one, own, np.array([0.5]), pool) == pytest.approx(1, rel=0.01)


def test_only_variants_that_pass_the_filters_are_compared() -> None:
    cohorts, copies = cohorts_of(7, off=(0,))
    pooled = np.concatenate([part[:, one.samples.kept & one.samples.founder]
                             for one, part in zip(cohorts, copies, strict=True)], axis=1)  # fmt: skip
    frequency = np.ma.masked_less(pooled, 0).mean(axis=1) / 2
    passing = np.minimum(frequency, 1 - frequency) >= 0.4
    wanted = own_numbers(cohorts, copies, False, (panel_of().chromosome <= 22) & passing)
    assert 0 < sum(wanted) < sum(own_numbers(cohorts, copies, False, panel_of().chromosome <= 22))
    assert total(plan_of("chi-square", maf=0.4), panel_of(), cohorts) == sum(wanted)


def test_of_dosages_the_people_of_the_regression_are_compared() -> None:
    cohorts, copies = cohorts_of(8, off=(2,))
    everyone = [replace(one.samples, founder=np.ones(len(one.samples), bool)) for one in cohorts]
    whole = [ArrayCohort(samples, part, one.swapped,
                         np.where(part < 0, NO_DOSAGE, part.astype(int) * COPY).astype(np.uint16))
             for one, samples, part in zip(cohorts, everyone, copies, strict=True)]  # fmt: skip
    wanted = own_numbers(whole, copies, False, panel_of().chromosome <= 22)
    assert total(plan_of("linear", dosages=True), panel_of(), whole) == sum(wanted) > 50


def test_without_the_option_nothing_is_asked() -> None:
    cohorts, _ = cohorts_of(9)
    plan = plan_of("chi-square", frequency_flags=False)
    found = ALGORITHMS["chi-square"].summarise(run.run(plan, panel_of(), cohorts))
    assert found is not None and found["frequencies_far"] is None
    assert not CountFar.sends_under(plan)


def test_noise_would_be_larger_than_the_number() -> None:
    with pytest.raises(PlanError, match="frequency_flags: goes with modular masks"):
        plan_of("chi-square", masking="gaussian")
