"""Local updates: the rows of each step, floors, and that everything says it is not the pooled result.

The weights are compared with torch's in networks/tests.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import models
import numpy as np
import pytest
from normalizing import NOBODY, written

from unpooled import run
from unpooled.described.facts import plan_facts
from unpooled.described.methods_section import Run, methods
from unpooled.described.report import About, report
from unpooled.errors import Refuse
from unpooled.methods import ALGORITHMS
from unpooled.methods.algorithm import NOT_POOLED
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.network_questions import network_of
from unpooled.methods.learning.reading import Examples
from unpooled.methods.local_updates.questions import SumUpdates
from unpooled.plan.plan import Plan

METHOD = "local-updates"


def study(rows: int = 300, **options: Any) -> tuple[Plan, list[Examples]]:
    """Three cohorts of so many rows, and an outcome that is nearly a sum of two features."""
    few = {"validation_folds": 2, "people_in_a_round": 10, "hidden": "3"}
    plan, random = (
        models.plan_of(METHOD, models.schema_of(3), 3, **{**few, **options}),
        np.random.default_rng(1),
    )
    tables: Any = []
    for _ in range(3):
        x = random.normal(size=(rows, 3))
        y = x[:, 0] - 2 * x[:, 1] + random.normal(0, 0.1, rows)
        tables.append(models.table_of(models.cells_of(x, y), plan))
    return plan, tables


def question(plan: Plan) -> SumUpdates:
    """A question about any weights, with the last fold left out."""
    design = SumProducts.widest(plan)
    network = network_of(plan, design)
    weights = np.random.default_rng(2).normal(size=network.size)
    return SumUpdates(plan, design, np.ones(network.widths[0]), weights, 1, 1)


def steps_of(plan: Plan, table: Examples) -> list[np.ndarray]:
    return list(question(plan).batches(replace(table, secret=bytes(32))))


def test_fedavg_goes_through_all_rows_but_those_left_out() -> None:
    plan, tables = study(local_algorithm="fedavg", local_passes=3, batch_rows=40)
    fitted = np.flatnonzero(tables[0].folds == 0)
    steps = steps_of(plan, tables[0])
    in_a_pass = len(fitted) // 40
    assert len(steps) == 3 * in_a_pass and {len(rows) for rows in steps} == {40}
    for first in range(0, len(steps), in_a_pass):
        rows = np.concatenate(steps[first : first + in_a_pass])
        assert len(set(rows)) == len(rows) and set(rows) <= set(fitted)
    assert (steps[0] != steps[in_a_pass]).any()


def test_fedcmb_takes_the_same_number_of_steps_whatever_the_rows() -> None:
    for rows in (100, 300):
        plan, tables = study(rows, local_steps=9, batch_rows=32)
        steps = steps_of(plan, tables[0])
        assert len(steps) == 9 and {len(each) for each in steps} == {32}
    plan, tables = study(100, local_steps=2, batch_rows=1000)  # more than there are
    fitted = np.flatnonzero(tables[0].folds == 0)
    assert [set(rows) for rows in steps_of(plan, tables[0])] == [set(fitted)] * 2


def test_a_retry_takes_the_same_rows_and_another_cohort_or_round_others() -> None:
    plan, tables = study(local_steps=3)
    own, other = (replace(tables[0], secret=secret * 32) for secret in (b"a", b"b"))
    asked = question(plan)
    first = asked.local(own)["gradient"]
    assert (first == asked.local(own)["gradient"]).all()
    assert (first != asked.local(other)["gradient"]).any()
    assert (first != replace(asked, iteration=2).local(own)["gradient"]).any()


def test_early_steps_count_more_and_one_on_average() -> None:
    plan, _ = study(local_algorithm="weighted", local_steps=5)
    counts = np.array([question(plan).share_of(step) for step in range(5)])
    np.testing.assert_allclose(counts / counts[-1], [5, 2.5, 2, 1.5, 1])
    assert counts.mean() == pytest.approx(1)
    for steps in (1, 2):
        plan, _ = study(local_algorithm="weighted", local_steps=steps)
        counts = np.array([question(plan).share_of(step) for step in range(steps)])
        np.testing.assert_allclose(counts, [1] if steps == 1 else [4 / 3, 2 / 3])


@pytest.mark.parametrize("options", [{"local_steps": 2, "batch_rows": 40}, {"local_algorithm": "fedavg"}])
def test_steps_on_few_rows_are_refused(options: dict[str, Any]) -> None:
    rows = 300 if "local_steps" in options else 150
    plan, tables = study(rows, people_in_a_round=256, **options)
    with pytest.raises(Refuse, match="gradients of so few say much") as refused:
        run.run(plan, NOBODY, tables)
    assert refused.value.field == "batch_rows"


def test_a_fit_that_diverges_says_so() -> None:
    plan, tables = study(learning_rate=10.0, local_steps=50, local_algorithm="fedcmb")
    with pytest.raises(Refuse, match="diverged"):
        run.run(plan, NOBODY, tables)


def test_everything_says_that_it_is_not_the_pooled_result() -> None:
    plan, tables = study(training_rounds=20, learning_rate=0.05)
    said = ALGORITHMS[METHOD].differs(plan)
    assert dict(plan_facts(plan).model)[NOT_POOLED] == said
    assert json.loads(written(plan, tables, "model"))["not_pooled"] == said
    assert f"**{NOT_POOLED}**: {said}." in written(plan, tables, "card")
    ended = Run(["Graz", "Tartu"], [], "0" * 64, None, False, "2024-12-31", "Unpooled 1")
    assert f"{NOT_POOLED}: {said}." in methods(plan, ended).replace("\n", " ")
    page = report(plan, About("Risk", "", ended, [], "", []), None, run.run(plan, NOBODY, tables))
    first = page.index(NOT_POOLED)
    assert said in page[first:] and first < page.index("What was asked")


def test_no_other_result_is_said_to_differ() -> None:
    assert [name for name, method in ALGORITHMS.items() if method.unlike_pool] == [
        METHOD,
        "image-local-updates",
    ]
