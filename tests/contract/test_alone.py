"""One cohort's own estimates: those of a study that nobody else is in, without the floors of a study."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unpooled.errors import Refuse
from unpooled.methods import METHODS
from unpooled.methods.ld.leads import LINKAGE
from unpooled.methods.learning.models import LOCAL_UPDATES
from unpooled.methods.learning.performance import PERFORMANCE, RANGES
from unpooled.methods.regression.credible_sets import TABLE as CREDIBLE_SETS
from unpooled.methods.regression.options import ROBUST
from unpooled.methods.regression.saddlepoint import TABLE as SADDLEPOINT
from unpooled.plan.plan import EXACT, OwnPlan, Plan, PlanError
from unpooled.run import run, run_alone

from .runs import small
from .studies import STUDIES, Small, rows_of


def beside_nobody(small: Small) -> list[Any]:
    """The first cohort, and two in which nobody is; a table is dealt out to three, no patient to two."""
    first = small.cohorts[0]
    if small.plan.of_tables:
        third = len(first.values) // 6 * 2 + 2
        return [rows_of(first, slice(k * third, (k + 1) * third)) for k in range(3)]
    nobody = replace(first.samples, kept=np.zeros(len(first.samples), bool))
    return [first, *[replace(first, samples=nobody)] * 2]


BY_FLOORS = (PERFORMANCE, RANGES, LINKAGE, CREDIBLE_SETS, SADDLEPOINT)
"""Result tables of ranges of scores, which are wider where few people are in one; of pairs of variants, among
which no rare ones are; and of loci, which take many people."""

AT_TRIALS = ("error", "error_deviation")
"""Result columns of a trial on the grid, of which a last bit of a sum may take the next point."""

_BY_CARRIERS = ("gene-tests", "polygenic", "prune", "ld-matrix", "pca")
_NOT_HERE = ("phenotypes", "components", "predictions", "normal scores", "private-", LOCAL_UPDATES)
"""Normal scores take people of others, too. The last two draw, and another question draws anew: noise, or the
rows of a step."""

_BY_NOISE = ("private-ridge",)
"""Methods whose one sum has noise, by which few people are kept as many are: it has no floor."""


def _has_any(name: str, *words: str) -> bool:
    return any(word in name for word in words)


@pytest.mark.parametrize(
    "name",  # of a polygenic score, of pruning and of components, floors decide which variants are in it
    [name for name in STUDIES if not _has_any(name, *_NOT_HERE) and not name.startswith(_BY_CARRIERS)],
)
def test_a_cohort_alone_is_a_study_that_nobody_else_is_in(name: str) -> None:
    one = small(name)
    has_floors = one.plan.test == "logistic" or ROBUST.of(one.plan)
    own = replace(one.plan, options=(*one.plan.options, *[("missing", EXACT)] * has_floors))
    with_sums = replace(own, options=(*own.options, SUMS))
    plan = OwnPlan(**vars(own)) if own.of_tables else with_sums  # without floors of values
    together = run(plan, one.panel, beside_nobody(one))
    alone = run_alone(own, one.panel, one.cohorts[0])
    assert alone.keys() == together.keys()
    for table, columns in together.items():
        if table in BY_FLOORS:
            continue
        for column, values in columns.items():
            rtol = 1e-7 if column in AT_TRIALS else 1e-9
            close = {"rtol": rtol, "atol": 1e-12} if values.dtype.kind == "f" else {"rtol": 0, "atol": 0}
            np.testing.assert_allclose(alone[table][column], values, err_msg=f"{table} {column}", **close)


SUMS = ("cohort_sums", True)
"""Else too few cohorts have people at a level."""


@pytest.mark.parametrize("name", ["linear, exact", "logistic, followed"])
def test_no_floor_of_levels_applies(name: str) -> None:
    one = small(name)
    with pytest.raises(Refuse, match="fewer than 3 cohorts"):
        run(one.plan, one.panel, beside_nobody(one))
    assert len(run_alone(one.plan, one.panel, one.cohorts[0])["variants"]["beta"])


@pytest.mark.parametrize("method", [method for method in METHODS if method not in _BY_NOISE])
def test_no_floor_of_values_applies(method: str) -> None:
    one = small(method)
    few = rows_of(one.cohorts[0], slice(5))
    with pytest.raises(Refuse, match=r"fewer than (3 cohorts|\d+ people)"):
        run(one.plan, one.panel, [few] * 3)
    for table in run_alone(one.plan, one.panel, few).values():
        assert "n" not in table or list(table["n"]) == [5, 4, 5, 5, 5, 5]


def test_only_a_cohorts_own_plan_is_of_one_cohort() -> None:
    plan = small("chi-square").plan
    own = OwnPlan(**{**vars(plan), "cohorts": 1})
    with pytest.raises(PlanError, match="3 to 1,000 cohorts, not 1"):
        Plan.from_json(own.to_json())
    assert own.hash() != plan.hash()
