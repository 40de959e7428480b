"""A curious cohort subtracts its own numbers from the sums that it is told: of whom it then reads.

By the rule `exact` these are single people, as its consent says; so the readings here work. By the rule
`mean` they have nothing to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unpooled.asking.cohort import ArrayCohort
from unpooled.asking.question import Arrays, Question, answer
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import pairs
from unpooled.methods.ld.leads import LINKAGE
from unpooled.methods.regression.apart import SumGenotypesApart
from unpooled.methods.regression.linear_questions import SumColumns, SumWithGenotypes
from unpooled.methods.shared.groups import complete
from unpooled.plan.plan import EXACT, MEAN
from unpooled.plan.result_files import CLUMPED

from ..contract.runs import Run, run_of
from ..contract.studies import Small, of_variants

RARE, CARRIERS = 5, 20
"""A variant that so many people of the curious cohort carry, and one person elsewhere: in its `VICTIM`."""
VICTIM = 1, 4
"""The cohort, and the person there."""
FILES = ("assoc", CLUMPED)


def study(rule: str, **options: Any) -> Small:
    return of_variants("linear", files=FILES, frequency_flags=False, missing=rule, **options)


def changed(cohort: ArrayCohort, variant: np.ndarray, **samples: np.ndarray) -> ArrayCohort:
    genotypes = cohort.genotypes.copy()
    genotypes[RARE] = variant
    return replace(cohort, genotypes=genotypes, samples=replace(cohort.samples, **samples))


def with_one_carrier_elsewhere(one: Small) -> Small:
    """Carriers have high phenotypes, so that the variant is a hit."""
    found = []
    for number, cohort in enumerate(one.cohorts):
        place = np.arange(len(cohort.samples))
        carries = place < CARRIERS if number == 0 else (place == VICTIM[1]) & (number == VICTIM[0])
        found.append(changed(cohort, carries, phenotype=cohort.samples.phenotype + 4 * carries))
    return replace(one, cohorts=found)


def of_others(run: Run, kinds: Sequence[type[Question]]) -> list[tuple[Any, Arrays]]:
    """Return what the first cohort learns of all others from questions of some kinds."""
    curious = run.small.cohorts[0]
    return [
        (question, {name: total - answer(question, curious)[name] for name, total in sums.items()})
        for question, sums in run.told
        if isinstance(question, tuple(kinds))
    ]


def read_phenotype(run: Run) -> float | None:
    """Read what the sum of genotype times phenotype tells of others: a single carrier's phenotype."""
    for question, others in of_others(run, (SumWithGenotypes, SumGenotypesApart)):
        if RARE in question.items:
            total = others["genotype"][question.items.tolist().index(RARE)].ravel()[-1]
            return float(np.ldexp(total, question.exponent[-1]) + question.centre[-1])
    return None


@pytest.mark.parametrize(
    "options",
    [{}, {"cohorts": 4, "cohorts_apart": True}, {"robust": True}],
    ids=["together", "apart", "robust"],
)
def test_no_cohort_reads_the_phenotype_of_a_single_carrier(options: dict[str, Any]) -> None:
    read = {}
    for rule in (EXACT, MEAN):
        run = run_of(with_one_carrier_elsewhere(study(rule, **options)))
        read[rule] = read_phenotype(run)
        # Only the server has its P; with robust errors of few carriers there is none.
        is_hit = rule == EXACT or "robust" not in options
        assert (RARE in run.tables[LINKAGE]["variant"]) == is_hit
        samples = run.small.cohorts[VICTIM[0]].samples
    phenotype = samples.phenotype[VICTIM[1]]
    mean = samples.phenotype[complete(samples)].mean() if "cohorts_apart" in options else 0
    assert read[EXACT] == pytest.approx(phenotype - mean, rel=1e-9)
    assert read[MEAN] is None


def with_one_who_stands_out(one: Small) -> Small:
    """Elsewhere all but the victim are of one age."""
    found = [one.cohorts[0]]
    for number, cohort in enumerate(one.cohorts[1:], start=1):
        covariates = cohort.samples.covariates.copy()
        is_victim = (np.arange(len(covariates)) == VICTIM[1]) & (number == VICTIM[0])
        covariates[:, 0] = np.where(is_victim, 1e3, 1.0)
        found.append(replace(cohort, samples=replace(cohort.samples, covariates=covariates)))
    return replace(one, cohorts=found)


def test_no_cohort_reads_the_phenotype_of_one_who_stands_out() -> None:
    run = run_of(with_one_who_stands_out(study(EXACT)))
    ((question, others),) = of_others(run, (SumColumns,))
    people = sum(np.count_nonzero(complete(each.samples)) for each in run.small.cohorts[1:])
    last = question.columns - 1
    of = dict(
        zip(
            zip(*(index.tolist() for index in pairs(question.columns)), strict=True),
            others["products"],
            strict=True,
        )
    )
    total = others["sums"][0]
    distance = np.sqrt((of[0, 0] - total**2 / people) * people / (people - 1))
    usual = (total - distance) / people
    phenotype = (of[0, last] - usual * others["sums"][last]) / distance
    read = np.ldexp(phenotype, question.exponent[last]) + question.centre[last]
    assert read == pytest.approx(run.small.cohorts[VICTIM[0]].samples.phenotype[VICTIM[1]], rel=1e-6)
    with pytest.raises(Refuse, match=r"age: fewer than 10 people .* are above the mean"):
        run_of(with_one_who_stands_out(study(MEAN)))
