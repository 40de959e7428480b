"""Templates: values that the options of their algorithm take, and that differ from the usual."""

from __future__ import annotations

import pytest

from unpooled.algorithms import ALGORITHMS, FITS, METHODS, check, usual
from unpooled.algorithms.algorithm import Algorithm
from unpooled.algorithms.learning.names import OF_CLASSES
from unpooled.facts import plan_facts
from unpooled.plan import Plan
from unpooled.schema import CATEGORY
from unpooled.templates import Template

OFFERED = [(template, method) for method in ALGORITHMS.values() for template in method.templates]
NAMES = [template.name for template, _ in OFFERED]


def plan_of(template: Template, method: Algorithm) -> Plan:
    """The plan of somebody who chooses the template, and types nothing but what is asked about."""
    words = {"name": "ward", "type": "category", "encoding": "one-hot", "levels": ["a", "b"]}
    column = words if method.column_type == CATEGORY else "glucose"
    classes = {"type": "category", "levels": ["no", "yes"]} if method.name in OF_CLASSES else {}
    outcome = [{"name": "died", "role": "outcome", **classes}] if method.name in FITS else []
    about = {"schema": [column, *outcome]} if method.name in METHODS else {"phenotype": "asthma"}
    said = {"test": method.name, "cohorts": 3, "compensator_key": bytes(32).hex()}
    return Plan.from_json({"phenotype": "", **usual(method.name), **said, **about, **template.plan})


@pytest.mark.parametrize(("template", "method"), OFFERED, ids=NAMES)
def test_a_template_is_a_plan_of_its_algorithm(template: Template, method: Algorithm) -> None:
    plan = plan_of(template, method)
    assert check(plan) is method
    assert plan.files == (template.files or method.usual_files)


@pytest.mark.parametrize(("template", "method"), OFFERED, ids=NAMES)
def test_it_sets_only_what_is_not_so_anyway(template: Template, method: Algorithm) -> None:
    assert {option.name for option, value in template.options.items() if value == option.default} == set()
    assert set(template.options) <= set(method.options)
    assert template.files != method.usual_files


def test_each_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {"chi-square-qc", "logistic-components", "linear-components", "z-score"} <= set(NAMES)


def test_ten_components_are_what_the_cohorts_read_in_the_plan() -> None:
    ((template, method),) = [each for each in OFFERED if each[0].name == "logistic-components"]
    said = str(plan_facts(plan_of(template, method)).model)
    assert template.covariates == tuple(f"PC{number}" for number in range(1, 11))
    assert ", ".join(template.covariates) in said
