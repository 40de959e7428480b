"""What differs between two plans, as people read it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unpooled.algorithms import ALGORITHMS
from unpooled.facts import NOT_SAID, Change, changes
from unpooled.options import Covariate, Number, Switch, Whole, called
from unpooled.plan import Plan
from unpooled.schema import Column

PLAN = Plan("linear", "BMI", 3, bytes(32), trait="quantitative", files=("assoc",))
TABLE = Plan(
    "z-score", "", 3, bytes(32), trait="none", panel_mode="none", files=("parameters",),
    schema=(Column("age"), Column("weight", unit="kg")),
)  # fmt: skip


LABELS = {option.name: option.name_and_flag for test in ALGORITHMS.values() for option in test.options}


def lines(old: Plan, **other: Any) -> tuple[Change, ...]:
    """Without the hash, which is the last."""
    *found, last = changes(old, replace(old, **other))
    assert last.label == "Plan hash" and last.before != last.after
    return tuple(found)


def test_equal_plans_differ_in_nothing() -> None:
    assert changes(PLAN, replace(PLAN)) == ()


def test_a_field_and_an_option_are_said_as_in_the_plan() -> None:
    floor = Change("Each cohort has at least", "50 people", "20 people")
    assert lines(PLAN, min_samples=20) == (floor,)
    [maf] = lines(PLAN, maf=0.05)
    assert (maf.label, maf.before) == (LABELS["maf"], NOT_SAID) and "0.05" in maf.after
    [gone] = lines(replace(PLAN, maf=0.05), maf=0.0)
    assert (gone.before, gone.after) == (maf.after, NOT_SAID)


def test_several_changes_come_in_the_order_of_the_plan() -> None:
    found = lines(PLAN, phenotype="height", cohorts=4, maf=0.05)
    assert [line.label for line in found] == ["Phenotype", "Cohorts", LABELS["maf"]]


def test_columns_of_a_table_are_compared_one_by_one() -> None:
    changed = (Column("age"), Column("weight", unit="lb"), Column("height"))
    assert lines(TABLE, schema=changed) == (
        Change("Column", "weight (number, kg)", "weight (number, lb)"),
        Change("Column", NOT_SAID, "height (number)"),
    )


def test_what_a_test_ignores_shows_in_the_hash_alone() -> None:
    assert lines(PLAN, min_per_class=3) == ()


def other(option: Any) -> Any:
    """Another value than the usual one, if that can be told from the declaration."""
    match option:
        case Switch():
            return not option.default
        case Number():
            return option.least if option.default == option.most else (option.least + 3 * option.most) / 4
        case Whole():
            return option.least if option.default != option.least else option.most
    return None


@pytest.mark.parametrize("option", [o for o in ALGORITHMS["linear"].options if other(o) is not None],
                         ids=lambda option: option.name)  # fmt: skip
def test_every_option_that_is_changed_is_named(option: Any) -> None:
    files = ("glm", *filter(None, [option.file]))
    needed = {"covariates": (Covariate("age"),), "phenotypes": ("height",)}
    if option.needs and isinstance(called(option.needs), Switch):
        needed[option.needs] = True
    before = replace(PLAN, **needed, files=files)
    value = other(option)
    assert option.name_and_flag in [line.label for line in lines(before, **{option.name: value})]
