"""Options are declared once; what a plan holds of them, and how it is hashed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from unpooled import options, shared_options
from unpooled.algorithms import ALGORITHMS, check
from unpooled.errors import CodecError, UnpooledError
from unpooled.facts import plan_facts
from unpooled.options import Switch
from unpooled.plan import Covariate, Plan, PlanError
from unpooled.protocol import codec
from unpooled.schema import Column

PLANS = json.loads((Path(__file__).parent / "plans-of-version-1.json").read_text("utf-8"))
"""Plans of a release before options were declared, with their hashes."""

SOUND: dict[str, Any] = {"test": "logistic", "phenotype": "y", "cohorts": 3, "compensator_key": bytes(32)}


@pytest.mark.parametrize("stored", PLANS, ids=lambda stored: stored["plan"]["test"])
def test_a_plan_of_version_1_opens_and_has_the_hash_that_it_had(stored: dict[str, Any]) -> None:
    plan = Plan.from_json(stored["plan"])
    check(plan)
    assert plan.hash().hex() == stored["hash"]
    assert codec.decode(codec.encode(plan), (Plan, Covariate, Column)) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.to_json().items() <= (stored["plan"] | {"file_stem": ""}).items()


def test_a_plan_of_version_2_encodes_the_options_of_its_test_by_name() -> None:
    plan = Plan(**SOUND, version=2, maf=0.01)
    names = [name for name, _ in plan.record_fields()]
    own = {option.name for option in ALGORITHMS["logistic"].options if not option.came_later}
    assert set(names) == {field.name for field in dataclasses.fields(Plan)} - {"options"} | own
    assert codec.decode(codec.encode(plan), (Plan, Covariate)) == plan
    assert plan.hash() != dataclasses.replace(plan, tolerance=1e-4).hash() != Plan(**SOUND, maf=0.01).hash()
    assert Plan(**SOUND, version=2, maf=0.01, geno=1).hash() == plan.hash()
    with pytest.raises(UnpooledError, match="everything"):
        dataclasses.replace(plan, test="everything").hash()


@pytest.mark.parametrize("version", [1, 2])
def test_bytes_that_no_plan_is_encoded_as_are_none(version: int) -> None:
    whole = codec.encode(Plan(**SOUND, version=version))
    for found, put in (
        (b"tolerance", b"tolerants"),
        (b"tolerance", b"elements "),
        (b"phenotype", b"phenotypf"),
    ):
        with pytest.raises(CodecError):
            codec.decode(whole.replace(found, put), (Plan, Covariate))


def test_a_plan_holds_what_is_not_at_its_default() -> None:
    plan = Plan(**SOUND, maf=0, geno=0.1, beta=False, covariates=(Covariate("age"),))
    assert dict(plan.options) == {"geno": 0.1, "covariates": (Covariate("age"),)}
    assert (plan.maf, plan.geno, plan.max_iterations, plan.elements) == (0.0, 0.1, 25, ())
    assert dataclasses.replace(plan, geno=1.0) == Plan(**SOUND, covariates=(Covariate("age"),))
    assert not hasattr(plan, "colour")
    with pytest.raises(TypeError, match="colour"):
        Plan(**SOUND, colour="red")


def test_a_plan_says_what_its_test_has_and_no_other_option() -> None:
    assert "tolerance" in Plan(**SOUND).to_json()
    assert "tolerance" not in Plan(**SOUND | {"test": "chi-square"}).to_json()
    with pytest.raises(PlanError, match="does not have this"):
        check(Plan(**SOUND | {"test": "chi-square"}, tolerance=1e-4))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("maf", 0.6, "a number from 0 to 0.5, not 0.6"),
        ("maf", float("nan"), "a number from 0 to 0.5, not NaN"),
        ("hwe", 1, "a number from 0 to below 1, not 1"),
        ("ci", 0.001, "0, or a number from 0.01 to below 1, not 0.001"),
        ("max_iterations", 0, "a whole number from 1 to 100, not 0"),
        ("tolerance", -1.0, "a number from 0 to 1, not -1"),
        ("tolerance", float("nan"), "a number from 0 to 1, not NaN"),
        ("max_iterations", 2.5, "a whole number from 1 to 100, not 2.5"),
        ("missing", "none", 'mean or exact, not "none"'),
        ("quantiles", (0.5, 0.5), "up to 100 different numbers from 0 to 1, not [0.5, 0.5]"),
        ("covariates", (Covariate("age"), Covariate("age")), "a covariate is listed twice"),
        ("glm_cols", ("p",), "test can only be left out with hide_covar"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_words(name: str, value: object, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan(**SOUND, **{name: value})
    assert caught.value.problems == {name: said}


def test_a_name_is_of_one_option() -> None:
    options.remember([shared_options.BETA])
    with pytest.raises(ValueError, match="beta"):
        options.remember([Switch(name="beta", label="Another")])


def test_facts_say_what_is_asked() -> None:
    plan = Plan(
        **SOUND, maf=0.01, covariates=(Covariate("age"), Covariate("diet", ("a", "b"))), tolerance=1e-4
    )
    found = dict(plan_facts(plan).all)
    assert found["Covariates"] == "age, diet (a, b)"
    assert found["Sums over one cohort"].startswith("refused")
    assert found["Most iterations of a fit"] == "25"
    assert found["Least frequency of the rarer allele (--maf)"].startswith("0.01")
    assert found["Tolerance of a fit"].endswith("by at most 0.0001")
    assert "Log odds ratios" not in found and "Least Hardy-Weinberg P (--hwe)" not in found
    assert "Sums over one cohort" not in dict(plan_facts(Plan(**SOUND)).all)
