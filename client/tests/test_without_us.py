"""What the cohorts' estimates say without this one: the meta-analysis of the others, by statsmodels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects

from unpooled.plan import Covariate, Plan
from unpooled_client.compare.pool import strongest
from unpooled_client.compare.report import Place, Study, write_variants
from unpooled_client.compare.this_cohort import compare
from unpooled_client.compare.without_us import read_across
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.written import Written

from .test_own_against_pool import LINEAR, LOGISTIC, Federation, federation  # noqa: F401

META = {"files": ("assoc", "meta"), "few_studies": True, "covariates": (Covariate("age"),), "ci": 0.95}
PLANS = {"logistic": dataclasses.replace(LOGISTIC, options=(), **META),
         "betas": dataclasses.replace(LOGISTIC, options=(), beta=True, **META),
         "linear": dataclasses.replace(LINEAR, options=(), **META)}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_without_us_is_what_the_others_find(
    name: str,
    federation: Callable[[str], Federation],  # noqa: F811
    tmp_path: Path,
) -> None:
    plan = PLANS[name]
    odds = name == "logistic"
    made = federation(plan.trait)
    files = made.study(plan)
    pool = strongest(files, plan, 12)
    across = read_across(files, [variant for variant, _ in pool.leads], plan)
    each = [compare(pool, made.cohort(plan, number), plan, None, across) for number in (1, 2, 3)]
    checked = 0
    for ours in zip(*each, strict=True):
        own = [one.own for one in ours if one.own and one.own.is_known]
        if len(own) < 3:
            continue
        b = np.log([of.effect for of in own]) if odds else np.array([of.effect for of in own])
        se = np.array([of.se for of in own])
        for k, one in enumerate(ours):
            assert one.across is not None and one.across.studies == 3
            others = np.arange(3) != k
            said = combine_effects(b[others], se[others] ** 2, method_re="dl")
            found = math.log(one.across.without.effect) if odds else one.across.without.effect
            close = 1e-4 * one.across.without.se + 2e-5 * abs(found)
            assert abs(found - said.mean_effect_fe) <= close
            assert one.across.without.se == pytest.approx(math.sqrt(said.var_eff_w_fe), rel=1e-4)
            checked += 1
    assert checked > 15
    place = Place(tmp_path, Written(StateFolder(tmp_path)), plan)
    lines, page = write_variants(place, Study("s", "c", plan), each[0], odds=odds, left_out=())
    head, *rows = (line.split("\t") for line in lines.read_text().splitlines())
    assert {len(row) for row in rows} == {len(head)} and "WITHOUT_US_SE" in head
    assert "Without us is" in page.read_text() and 'aria-label="fixed effect' in page.read_text()


def test_a_study_without_the_file_has_no_such_columns(
    federation: Callable[[str], Federation],  # noqa: F811
    tmp_path: Path,
) -> None:
    plan = plan_without(PLANS["linear"])
    made = federation(plan.trait)
    files = made.study(plan)
    pool = strongest(files, plan, 3)
    assert read_across(files, [variant for variant, _ in pool.leads], plan) == {}
    found = compare(pool, made.cohort(plan, 1), plan)
    place = Place(tmp_path, Written(StateFolder(tmp_path)), plan)
    lines, page = write_variants(place, Study("s", "c", plan), found, odds=False, left_out=())
    assert "WITHOUT_US" not in lines.read_text() and "without us" not in page.read_text()


def plan_without(plan: Plan) -> Plan:
    return dataclasses.replace(plan, files=("assoc",))
