"""Plans that cannot be, and what is said of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from unpooled.chromosomes import chromosome_codes
from unpooled.plan import Covariate, Plan, PlanError


@pytest.mark.parametrize(
    "field",
    [
        {"phenotype": ""},
        {"phenotype": "x" * 201},
        {"phenotype": "BMI\x1b[2J"},
        {"phenotype": "BMI\nCompensator: somebody else"},
        {"phenotype": "\ud800"},
        {"build": "GRCh38\x00"},
        {"cohorts": 2},
        {"chunk_size": -1},
        {"panel_mode": "list"},
        {"panel_digest": bytes(32)},
        {"variance": float("nan")},
        {"ring_bits": 33},
        {"chromosomes": ("27",)},
        {"chromosomes": ("4-1",)},
        {"chromosomes": ("1-2-3",)},
        {"chromosomes": ("21",), "autosomes": 16},
        {"chromosomes": ("1",), "panel_mode": "list", "panel_digest": bytes(32)},
        {"by_place": True, "panel_mode": "list", "panel_digest": bytes(32)},
    ],
)
def test_a_plan_that_cannot_be_names_its_field(field: dict[str, Any]) -> None:
    """A text that would paint on a cohort's terminal is none of a plan either."""
    sound: dict[str, Any] = {
        "test": "chi-square",
        "phenotype": "BMI",
        "cohorts": 3,
        "compensator_key": bytes(32),
    }
    with pytest.raises(PlanError) as caught:
        Plan(**(sound | field))
    assert set(caught.value.problems) & {*field, "panel_digest"}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("elements", [1.5], "up to 100 different whole numbers other than 0, not [1.5]"),
        ("elements", 1, "up to 100 different whole numbers other than 0, not 1"),
        ("cohorts", 2.5, "a whole number, not 2.5"),
        ("maf", "little", 'a number from 0 to 0.5, not "little"'),
        ("beta", "yes", 'true or false, not "yes"'),
        ("quantiles", ["half"], 'up to 100 different numbers from 0 to 1, not ["half"]'),
        ("chromosomes", [1], "a list of texts, not [1]"),
        ("covariates", "age", 'a list of covariates, not "age"'),
        ("schema", {}, "a list of columns, not {}"),
        ("compensator_key", "key", 'hexadecimal digits, two for each byte, not "key"'),
    ],
)
def test_what_a_field_takes_is_said_in_words(field: str, value: object, said: str) -> None:
    sound = {"test": "chi-square", "phenotype": "BMI", "cohorts": 3, "compensator_key": "00" * 32}
    with pytest.raises(PlanError) as caught:
        Plan.from_json({**sound, field: value})
    assert caught.value.problems == {field: said}


def test_every_field_can_say_what_it_takes() -> None:
    for field in dataclasses.fields(Plan):
        with pytest.raises(PlanError) as caught:
            Plan.from_json({field.name: None})
        said = caught.value.problems[field.name]
        assert said.endswith(", not null") or field.name == "options"


def test_chromosomes_are_named_as_for_plink() -> None:
    assert chromosome_codes(["1-3", "X", "chr22", "26"]) == {1, 2, 3, 22, 23, 26}
    assert chromosome_codes(["Y-MT"], 19) == {21, 22, 23}


def test_conditions_are_columns_before_covariates() -> None:
    diet = Covariate("diet", ("chow", "fat", "sugar"))
    plan = Plan(
        "linear", "weight", 3, bytes(32), trait="quantitative", condition=("rs1",), covariates=(diet,)
    )
    assert plan.covariate_columns == ("rs1", "diet=fat", "diet=sugar")
    assert plan.dummies == ((1, 2),)
    assert (plan.field_of("rs1"), plan.field_of("diet")) == ("condition", "covariates")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (("rs1", "rs1"), "different words"),
        (("rs 1",), "different words"),
        (("rs2", "age"), "a covariate is called age, too"),
        (tuple(f"rs{k}" for k in range(60)), "at most 60 columns, those of covariates counted, not 61"),
    ],
)
def test_conditions_that_cannot_be(condition: tuple[str, ...], said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan("linear", "weight", 3, bytes(32), condition=condition, covariates=(Covariate("age"),))
    assert said in caught.value.problems["condition"]
