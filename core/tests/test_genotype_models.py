"""Genotype models and interactions: what a plan may say of them, and what a cohort answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from asking import followed
from pooled import Quantities, quantities, statuses

from unpooled.algorithms.regression.linear import SumColumns, SumWithGenotypes
from unpooled.algorithms.regression.logistic_questions import Evaluate, FitCovariates
from unpooled.algorithms.regression.ordering import OrderBeforeFit
from unpooled.errors import ProtocolError, Refuse
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan, PlanError
from unpooled.run import run


def plan_with(**options: object) -> Plan:
    chosen = {"trait": "quantitative", "files": ("assoc",), "covariates": (Covariate("age"),), **options}
    return Plan("linear", "trait", 3, bytes(32), **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        ({"interaction": ("weight",)}, "interaction", "is called weight; there are age"),
        ({"interaction": ("weight",), "covariates": ()}, "interaction", "it has none"),
        ({"genotype_model": "codominant"}, "genotype_model", "dominant, recessive, hetonly or genotypic"),
        ({"genotype_model": "dominant", "files": ("ssf",)}, "genotype_model", "leave out the file ssf"),
        ({"interaction": ("age",), "files": ("ssf",)}, "interaction", "leave out the file ssf"),
    ],
)
def test_a_plan_says_what_is_wrong_with_it(options: dict[str, object], field: str, said: str) -> None:
    with pytest.raises(PlanError) as error:
        plan_with(**options)
    assert said in error.value.problems[field]


def refused(pooled: Quantities, **options: object) -> Refuse:
    names = tuple(map(Covariate, pooled.covariates))
    plan = plan_with(**{"covariates": names, "min_samples": 1, **options})
    with pytest.raises(Refuse) as error:
        run(plan, Panel.of(pooled.variants), pooled.cohorts((1, 1, 1), 0))
    return error.value


def test_too_few_people_for_the_columns_are_refused() -> None:
    pooled = quantities(1, n=7, each=2)
    error = refused(pooled, genotype_model="genotypic", interaction=("C1", "C2"))
    assert error.field == "interaction" and "8 columns" in str(error) and "additive" in str(error)
    assert refused(quantities(1, n=5, each=2), genotype_model="genotypic").field == "genotype_model"


def test_a_cohort_answers_no_other_model_than_the_plans() -> None:
    pooled = quantities(1, n=60, each=2, covariates=2)
    names = tuple(map(Covariate, pooled.covariates))
    plan = plan_with(covariates=names, genotype_model="dominant", interaction=("C1",))
    asked = followed(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 3), 0)).questions
    sums = next(question for question in asked if isinstance(question, SumWithGenotypes))
    assert sums.agrees(plan)
    for changes in ({"model": "recessive"}, {"interacting": ()}, {"interacting": (0, 1)}):
        assert not replace(sums, **changes).agrees(plan)
    for changes in ({"model": "codominant"}, {"interacting": (5,)}, {"chromosome": "X"}):
        with pytest.raises(ProtocolError):
            replace(sums, **changes)
    for plain in (plan_with(covariates=names), plan_with(covariates=names, interaction=("C2",))):
        assert not sums.agrees(plain)
    assert not OrderBeforeFit(np.arange(1), "diploid").agrees(plan_with(covariates=names))


def test_a_cohort_multiplies_with_sex_on_x_alone() -> None:
    pooled = statuses(1, n=200, each=3, covariates=1)
    plan = Plan(
        "logistic", "trait", 3, bytes(32), covariates=(Covariate("C1"),), interaction=("C1",), min_samples=1
    )
    cohorts = pooled.cohorts((1, 1, 1), cases_only=False)
    asked = followed(plan, Panel.of(pooled.variants), cohorts).questions
    fits = [question for question in asked if isinstance(question, Evaluate)]
    sizes = {question.chromosome: question.parameters for question in fits}
    assert sizes["diploid"] == 4 and sizes["X"] == 6
    for question in (fits[0], next(question for question in asked if isinstance(question, FitCovariates))):
        assert question.chromosome == "diploid"
        beta = np.zeros((*question.beta.shape[:-1], 6 if question is fits[0] else 3))
        with pytest.raises(ProtocolError):
            replace(question, with_sex=True, beta=beta)


@pytest.mark.parametrize("autosomes", [22, 30])
def test_men_are_apart_where_there_is_an_x_and_values_are_asked_for_by_the_rule_exact_alone(
    autosomes: int,
) -> None:
    """With 30 autosomes none of these variants is on X or Y, and no sum is about men."""
    pooled = replace(quantities(1, n=200, each=4), autosomes=autosomes)
    plan = pooled.plan()
    asked = followed(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4))).questions
    columns = [question for question in asked if isinstance(question, SumColumns)]
    sums = [question for question in asked if isinstance(question, SumWithGenotypes)]
    assert columns and all(question.men_apart == (autosomes == 22) for question in columns)
    assert sums and not any(question.agrees(replace(plan, missing="mean")) for question in sums)
