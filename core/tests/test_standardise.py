"""Standardising: the scale covers the pool, and nothing that follows depends on who holds which person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from asking import follow, study_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.people import people
from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.asking.procedure import Procedure
from unpooled.asking.question import Arrays, Question
from unpooled.errors import BoundError, ProtocolError, Refuse
from unpooled.methods.shared import standardise
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.standardise import Columns, Magnitude, Mean, Spread, first_exponents
from unpooled.plan.common_options import COVARIATES
from unpooled.plan.plan import NO_KEY, Covariate, OwnPlan, Plan
from unpooled.protocol.masking import scheme

KINDS = (Magnitude, Mean, Spread)
STANDARDISE = Procedure("test/standardise", standardise.standardise)
PLAN = Plan("linear", "y", 3, NO_KEY, trait="quantitative", covariates=(Covariate("age"),))


def cohort(phenotype: np.ndarray, covariates: np.ndarray) -> ArrayCohort:
    return ArrayCohort(
        people(phenotype, covariates), np.zeros((0, len(phenotype)), np.int8), np.zeros(0, bool)
    )


def standardised(cohorts: list[ArrayCohort], plan: Plan = PLAN) -> Columns:
    """Through the real encodings, without masks."""
    number = sum(int(complete(c.samples).sum()) for c in cohorts)
    found = follow(STANDARDISE(study_of(of_all(cohorts, plan)), number), sums_of(cohorts), KINDS).value
    assert isinstance(found, Columns)
    return found


def of_all(cohorts: list[ArrayCohort], plan: Plan) -> Plan:
    """The plan with as many covariates as the cohorts have; c0, c1 and so on are added."""
    lacking = cohorts[0].samples.covariates.shape[1] - len(COVARIATES.of(plan))
    more = tuple(Covariate(f"c{k}") for k in range(lacking))
    return replace(plan, cohorts=len(cohorts), covariates=COVARIATES.of(plan) + more)


def sums_of(cohorts: list[ArrayCohort]) -> Callable[[Question], Arrays]:
    """The sums over cohorts, as a server has them that knows all masks."""

    def sums(question: Magnitude | Mean | Spread) -> Arrays:
        asked = questions.decode(questions.encode(question), KINDS, question.plan)
        ring = scheme(f"z{question.ring_bits}")
        total = ring.zeros(questions.words(question, ring))
        for one in cohorts:
            total = ring.add(total, questions.pack(asked, asked.local(one), ring, len(cohorts), bytes(32)))
        return questions.unpack(question, total, ring, len(cohorts), bytes(32))

    return sums


def deal(values: np.ndarray, cohorts: int) -> list[ArrayCohort]:
    parts = [values[k::cohorts] for k in range(cohorts)]
    return [cohort(part[:, 0], part[:, 1:]) for part in parts]


SCALES = (1.0, 1e-300, 1e-12, 1e9, 1e150, 1e300)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("mean", [0.0, 1.0, -1e6])
def test_columns_are_centred_and_of_unit_size(scale: float, mean: float) -> None:
    random = np.random.default_rng(1)
    values = (random.normal(size=(200, 3)) + mean) * scale
    columns = standardised(deal(values, 3))
    z = columns.apply(values[:, [1, 2, 0]])
    assert np.all(np.abs(z.mean(axis=0)) < 1e-9)
    assert np.all(z.std(axis=0) <= 1)
    assert np.all(z.std(axis=0) > 0.499)


@pytest.mark.parametrize("scale", [1.0, 1e-280, 1e280])
@pytest.mark.parametrize("outlier", [1e8, -1e9, 1e12, 1e18, 1e19, 1e30])
def test_a_value_beyond_all_others_is_refused(outlier: float, scale: float) -> None:
    values = np.random.default_rng(1).normal(size=(500, 2)) * scale
    with np.errstate(over="ignore"):
        values[7, 1] = np.clip(outlier * scale, -1e308, 1e308)
    with pytest.raises(Refuse, match=r"^age: .* 1,048,576 times as large") as caught:
        standardised(deal(values, 3))
    assert "write NA" in caught.value.remedy and caught.value.field == "covariates"


def test_columns_that_are_zero_for_nearly_everybody_are_not() -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=(500, 6))
    values[:, 1] = np.arange(500) == 3
    values[:, 2] = 1e7 * (np.arange(500) < 3)
    values[:, 3] = np.where(np.arange(500) < 50, 1e-30, 1e7)  # small for many: another unit, not an outlier
    values[:, 4] = 1e200 * (np.arange(500) < 450)
    values[:, 5] = np.exp(5 * values[:, 5])
    columns = standardised(deal(values, 3))
    assert np.isfinite(columns.centre).all()


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, -1234.567, 1e9 + 0.1, 1e-300, 7e200])
def test_constant_columns_become_exactly_zero(value: float) -> None:
    values = np.full((299, 2), value)
    values[:, 0] = np.arange(299)
    cohorts = deal(values, 3)
    with pytest.raises(Refuse, match="age: the same value for everybody in the pool") as caught:
        standardised(cohorts)
    assert caught.value.field == "covariates"
    columns = standardised(cohorts, OwnPlan(**vars(PLAN)))  # of one cohort's own data nothing is refused
    assert columns.centre[0] == value
    assert not columns.apply(values[:, [1, 0]])[:, 0].any()


def test_a_small_spread_about_a_large_mean_is_kept() -> None:
    random = np.random.default_rng(2)
    values = 1e9 + random.integers(-3, 4, (300, 2)).astype(float)
    z = standardised(deal(values, 3)).apply(values[:, [1, 0]])
    exact = [Fraction(v) - Fraction(sum(map(Fraction, values[:, 1])), 300) for v in values[:, 1].tolist()]
    ratio = z[:, 0] / np.array([float(e) for e in exact])
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


@pytest.mark.parametrize("mean", [50.0, 1.7e9])
@pytest.mark.parametrize("masking", ["modular", "gaussian"])
def test_gaussian_masks_refuse_the_columns_that_they_hide(mean: float, masking: str) -> None:
    plan = Plan(
        test="linear", phenotype="BMI", cohorts=3, compensator_key=NO_KEY, trait="quantitative",
        covariates=(Covariate("age"), Covariate("visit")), masking=masking,
    )  # fmt: skip
    values = np.random.default_rng(2).normal(size=(300, 3)) * 10 + [0, 0, mean]
    cohorts = deal(values, 3)
    if masking == "gaussian" and mean > 1e9:
        with pytest.raises(Refuse, match=r"the values of visit are so close .* modular masks"):
            standardised(cohorts, plan)
    else:
        assert standardised(cohorts, plan).exponent.tolist() == [4, 4, 4]


@settings(max_examples=60)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=3, max_size=9))
def test_the_magnitude_covers_any_numbers(numbers: list[float]) -> None:
    values = np.column_stack([numbers, numbers])
    cohorts = deal(values, 3)
    highest = first_exponents(2)
    for distance in (standardise.COARSE, standardise._WIDE):  # takes outliers, too
        asked = Magnitude(PLAN, len(numbers), highest, distance)
        within = sums_of(cohorts)(asked)["within"]
        highest = standardise.covering(within, len(numbers), standardise.exponents(highest, distance))
    largest = max(map(abs, numbers))
    exponent = int(highest[0])
    assert largest <= Fraction(2) ** exponent
    assert exponent == -1084 or largest == 0 or largest > Fraction(2) ** (exponent - 4)


def test_another_number_of_columns_is_refused() -> None:
    one = deal(np.zeros((9, 3)), 3)[0]
    with pytest.raises(ProtocolError):
        Magnitude(PLAN, 9, first_exponents(2), standardise.COARSE).local(one)


@pytest.mark.parametrize("quantitative", [False, True])
def test_each_column_of_a_question_has_its_name(quantitative: bool) -> None:
    """So that a person hears which of them no sum can hold."""
    covariates = (Covariate("age"), Covariate("site", ("Graz", "Munich")))
    trait = {"test": "linear", "trait": "quantitative"} if quantitative else {"test": "logistic"}
    plan = Plan(phenotype="BMI", cohorts=3, compensator_key=NO_KEY, covariates=covariates, **trait)  # type: ignore[arg-type]
    names = ("age", "site=Munich", "BMI")[: 2 + quantitative]
    question = Mean(plan, 9, np.zeros(len(names), np.int64))
    values = np.ones((9, 3))
    values[4, 1] = np.nan
    assert question.columns_under(plan) == names
    with pytest.raises(BoundError, match="sum of site=Munich is beyond"):
        ring = scheme(f"z{question.ring_bits}")
        sums = {"sum": values[:, : len(names)].sum(axis=0)}
        questions.pack(question, sums, ring, 3, bytes(32), question.columns_under(plan))
