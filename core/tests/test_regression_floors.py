"""Floors of regressions by the rule `mean`: no sum is told of few people; the estimates of others stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from asking import followed
from pooled import statuses

from tests.contract.runs import run_of
from tests.contract.studies import Small
from unpooled.asking.cohort import ArrayCohort
from unpooled.errors import Refuse
from unpooled.kernels import least_squares as codes
from unpooled.methods.regression.linear_questions import SumWithGenotypes
from unpooled.methods.regression.logistic_questions import OfModels
from unpooled.methods.shared.allele_coding import heterozygous_missing, sexes
from unpooled.methods.shared.groups import COMPLETE, MEN, members
from unpooled.panel.panel import Panel
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import EXACT, FEWEST_AT_A_LEVEL, MEAN, NO_KEY, Covariate, Plan
from unpooled.plan.result_files import CLUMPED
from unpooled.run import run

COVARIATES = (Covariate("C1"), Covariate("C2"))


def plan_of(test: str = "logistic", **options: Any) -> Plan:
    trait = {"trait": "quantitative"} if test == "linear" else {}
    given = {"cohorts": 3, "compensator_key": NO_KEY, "covariates": COVARIATES, "min_samples": 1}
    return Plan(test, "trait", **given | trait | options)


def study(
    seed: int, shares: Sequence[int] = (2, 3, 4), **options: Any
) -> tuple[Panel, Sequence[ArrayCohort]]:
    pooled = statuses(seed, **options)
    return Panel.of(pooled.variants), pooled.cohorts(shares, cases_only=False)


def of_kinds(cohort: ArrayCohort, variant: int, coding: str, by_genotype: bool) -> list[int]:
    """Count who of a cohort has each allele, or each genotype, of each sex that is apart."""
    found = []
    for sex in sexes(coding):
        some = members((COMPLETE, sex) if sex else (COMPLETE,), cohort.samples)
        copies = cohort.genotypes[variant][some]
        two, one, none = (int(np.count_nonzero(copies == n)) for n in (2, 1, 0))
        one = 0 if heterozygous_missing(coding, sex, exact=False) else one
        found += [two, one, none] if by_genotype else [two + one, one + none]
    return found


@pytest.mark.parametrize(
    "options", [{}, {"files": ("glm",), "firth": "firth"}, {"genotype_model": "genotypic"}]
)
@pytest.mark.parametrize("seed", range(4))
def test_whoever_is_in_a_sum_is_among_many_others_of_every_cohort(seed: int, options: dict[str, Any]) -> None:
    panel, cohorts = study(seed, rare=seed % 2 == 1, each=10)
    plan = plan_of(**{"files": ("glm",), **options})
    asked = [each for each in followed(plan, panel, cohorts).questions if isinstance(each, OfModels)]
    assert asked
    for question in asked:
        for variant in question.items.tolist():
            by_genotype = not terms_of(plan).is_plain
            own = np.array([of_kinds(each, variant, question.chromosome, by_genotype) for each in cohorts])
            others = own.sum(axis=0) - own
            assert not ((others > 0) & (others < FEWEST_AT_A_LEVEL)).any(), (question.title, variant)


@pytest.mark.parametrize("seed", range(3))
def test_variants_of_many_carriers_keep_their_estimates(seed: int) -> None:
    """Both rules are about the same people if no call is missing, as those of men on X may be."""
    panel, cohorts = study(seed, missing=0.0, rare=seed == 1)
    of_many, of_all = (run(plan_of(**rule), panel, cohorts)["variants"] for rule in ({}, {"missing": EXACT}))
    few = of_many["code"] == codes.FEW
    many = ~few & np.isin(panel.chromosome[of_many["variant"]], (1, 22))
    assert few.any() and many.any()
    for name in ("beta", "se", "neg_log10_p"):
        np.testing.assert_array_equal(of_many[name][many], of_all[name][many])
        assert np.isnan(of_many[name][few]).all()
    assert not np.isin(of_all["code"], codes.FEW).any()


def test_an_allele_that_one_cohort_alone_has_is_told_of_nobody_else() -> None:
    panel, cohorts = study(5, missing=0.0)
    copies = [each.genotypes.copy() for each in cohorts]
    for own in copies[1:]:
        own[0] = 0
    copies[0][0] = np.arange(copies[0].shape[1]) % 3
    others = [replace(each, genotypes=own) for each, own in zip(cohorts, copies, strict=True)]
    assert run(plan_of(), panel, others)["variants"]["code"][0] != codes.FEW


def test_dosages_count_as_the_nearest_genotype() -> None:
    panel, cohorts = study(2, missing=0.0, rare=True)
    plan = plan_of(files=("glm",))
    called = run(plan, panel, cohorts)["variants"]
    of_dosages = run(replace(plan, dosages=True), panel, cohorts)["variants"]
    on_autosomes = np.isin(panel.chromosome[called["variant"]], (1, 22))
    few = called["code"] == codes.FEW
    assert few[on_autosomes].any()
    of_same = np.isin(of_dosages["variant"], called["variant"][on_autosomes & few])
    assert of_same.any() and (of_dosages["code"][of_same] == codes.FEW).all()


def with_samples(cohort: ArrayCohort, **changes: Any) -> ArrayCohort:
    return replace(cohort, samples=replace(cohort.samples, **changes))


def test_few_cases_end_a_study() -> None:
    panel, cohorts = study(1)
    few = []
    for each in cohorts:
        status = np.zeros_like(each.samples.phenotype)
        status[:6] = 1
        few.append(with_samples(each, phenotype=status))
    with pytest.raises(Refuse, match=r"fewer than 10 people .* are cases"):
        run(plan_of(), panel, few)
    assert run(plan_of(missing=EXACT), panel, few)["variants"]


@pytest.mark.parametrize(
    ("people", "is_refused"),
    [
        ((3, 3, 3), True),
        ((7, 6, 6), True),  # ten and more beside any cohort; but what is capped cannot tell that
        ((7, 6, 7), False),
        ((30, 9, 0), True),
        ((30, 10, 0), False),
        ((30, 0, 0), False),  # nobody is left beside that cohort
    ],
)
@pytest.mark.parametrize("test", ["linear", "logistic"])
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_covariate_of_few_people_ends_a_study(
    people: tuple[int, ...], is_refused: bool, test: str, side: str
) -> None:
    panel, cohorts = study(1, n=600)
    lone = []
    for count, each in zip(people, cohorts, strict=True):
        covariates = each.samples.covariates.copy()
        some = np.flatnonzero(members((COMPLETE,), each.samples))[:count]
        covariates[:, 1] = np.isin(np.arange(len(covariates)), some) == (side == "above")
        lone.append(with_samples(each, covariates=covariates))
    assert run(plan_of(test, missing=EXACT), panel, lone)["variants"]
    if not is_refused:
        assert run(plan_of(test), panel, lone)["variants"]
        return
    with pytest.raises(Refuse, match=rf"C2: fewer than 10 people .* {side} the mean") as refused:
        run(plan_of(test), panel, lone)
    assert refused.value.field == "covariates"


def test_a_phenotype_of_few_people_ends_a_linear_regression() -> None:
    panel, cohorts = study(1)
    lone = [with_samples(each, phenotype=(np.arange(len(each.samples)) < 5) * 1.0) for each in cohorts]
    with pytest.raises(Refuse, match=r"trait: fewer than 10 people .* above the mean") as refused:
        run(plan_of("linear"), panel, lone)
    assert refused.value.field == "phenotype"


def few_men(cohorts: Sequence[ArrayCohort]) -> list[ArrayCohort]:
    return [
        with_samples(each, sex=np.where(np.arange(len(each.samples)) < 4, 1, 2).astype(np.uint8))
        for each in cohorts
    ]


def test_few_men_leave_variants_on_x_and_y_without_an_estimate() -> None:
    panel, cohorts = study(3, missing=0.0)
    found = run(plan_of(), panel, few_men(cohorts))["variants"]
    on_sexes = np.isin(panel.chromosome[found["variant"]], (23, 24))
    assert not np.isin(found["code"][on_sexes], codes.FITTED).any()
    assert (found["code"][~on_sexes] == codes.FITTED).any()


def test_a_covariate_of_few_men_leaves_variants_on_x_and_y_without_an_estimate() -> None:
    panel, cohorts = study(3, n=1200, missing=0.0)
    few = []
    for each in cohorts:
        covariates, men = each.samples.covariates.copy(), each.samples.sex == 1
        covariates[men, 1] = np.where(np.arange(np.count_nonzero(men)) < 2, 9.0, 1.0)
        few.append(with_samples(each, covariates=covariates))
    found, before = (run(plan_of(), panel, some)["variants"] for some in (few, cohorts))
    on_sexes = np.isin(panel.chromosome[found["variant"]], (23, 24))
    assert (before["code"][on_sexes] == codes.FITTED).any()
    assert not np.isin(found["code"][on_sexes], codes.FITTED).any()
    assert (found["code"][~on_sexes] == codes.FITTED).any()


TOLD: list[dict[str, Any]] = [{"files": ("assoc", CLUMPED)}, {"robust": True}]
"""Linear regressions of which cohorts are told sums of genotypes."""


@pytest.mark.parametrize("options", TOLD, ids=["clumps", "robust"])
@pytest.mark.parametrize("rule", [MEAN, EXACT])
def test_of_few_men_no_sums_are_told(rule: str, options: dict[str, Any]) -> None:
    panel, cohorts = study(3, missing=0.0)
    plan = plan_of("linear", **options, missing=rule, chunk_size=20)
    found = run_of(Small(plan, panel, few_men(cohorts)))
    asked, told = (
        {question.chromosome for question, _ in some if isinstance(question, SumWithGenotypes)}
        for some in (found.answers, found.told)
    )
    of_sexes = {coding for coding in asked if len(sexes(coding)) > 1 or MEN in sexes(coding)}
    assert of_sexes and told == (asked - of_sexes if rule == MEAN else asked)


def test_cohorts_are_not_kept_apart_with_sums_of_few_men() -> None:
    panel, cohorts = study(3, (1, 1, 1, 1), missing=0.0)
    plan = plan_of("linear", cohorts=len(cohorts), cohorts_apart=True)
    assert run(plan, panel, cohorts)["variants"]
    few = few_men(cohorts)
    with pytest.raises(Refuse, match="fewer than 10 men, or people who are not men") as refused:
        run(plan, panel, few)
    assert refused.value.field == "chromosomes"
    assert run(replace(plan, missing=EXACT), panel, few)["variants"]
    of_all = np.flatnonzero(panel.chromosome <= 22)
    autosomal = [
        replace(each, genotypes=each.genotypes[of_all], swapped=each.swapped[of_all]) for each in few
    ]
    assert run(plan, panel.take(of_all), autosomal)["variants"]
