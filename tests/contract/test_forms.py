"""What people choose from: every option says what it is; a template sets what is not so anyway."""

from __future__ import annotations

import pytest

from unpooled.algorithms import ALGORITHMS, check
from unpooled.algorithms.algorithm import Algorithm
from unpooled.facts import plan_facts
from unpooled.templates import Template

from ..one_more.one_more_test import ONE_MORE
from .studies import nothing_said

OFFERED = [(template, method) for method in ALGORITHMS.values() for template in method.templates]
NAMES = [template.name for template, _ in OFFERED]


@pytest.mark.parametrize("test", [*ALGORITHMS, ONE_MORE.name])
def test_every_option_has_words(test: str) -> None:
    plan = nothing_said(test)
    for option in ALGORITHMS[test].all_options:
        assert option.label and option.wanted and option.label[0].isupper()
        assert option.problem(option.default, plan) == ""


@pytest.mark.parametrize(("template", "method"), OFFERED, ids=NAMES)
def test_a_template_is_a_plan_of_its_algorithm(template: Template, method: Algorithm) -> None:
    plan = nothing_said(method.name, **template.plan)
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
    said = str(plan_facts(nothing_said(method.name, **template.plan)).model)
    assert template.covariates == tuple(f"PC{number}" for number in range(1, 11))
    assert ", ".join(template.covariates) in said
