"""Encodings by given levels: what is the rest, and what is asked. tests/fuzz compares with scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from asking import followed
from encoding_studies import fit, plan_of, table_of
from normalizing import NOBODY

from unpooled.algorithms.tables.encoding.questions import (
    CountLevels,
    Sift,
    SumTargets,
    at_most,
    floors,
    folds_of,
    merged,
)
from unpooled.cohort import ArrayTable
from unpooled.encoder import Encoder
from unpooled.errors import ProtocolError, Refuse
from unpooled.plan import Plan
from unpooled.schema import Column


def _simple(cohorts: list[list[str]], **changes: Any) -> tuple[Plan, list[ArrayTable]]:
    plan = plan_of([Column("c", "category", "", "one-hot", ("a", "b", "c"))], len(cohorts), **changes)
    return plan, [table_of({"c": cells}, np.zeros((len(cells), 0)), plan) for cells in cohorts]


def test_all_rare_is_all_rest() -> None:
    plan, tables = _simple([["a", "b", "c"] * 3 + ["x"] * 10] * 3)
    (said,) = fit(plan, tables)["columns"]
    assert said["values"] == [] and said["rest"] == 57 and "note" in said
    assert Encoder(fit(plan, tables)).get_feature_names_out().tolist() == ["c=(rest)"]


def test_a_value_that_one_cohort_has_alone_is_the_rest() -> None:
    plan, tables = _simple([["a"] * 20 + ["b"] * 50, ["a"] * 20, ["a"] * 20])
    (said,) = fit(plan, tables)["columns"]
    # The rest would be one cohort's own: the rarest kept value, the only one, is folded in.
    assert said["values"] == [] and said["rest"] == 110


def test_a_rest_below_the_floor_takes_the_rarest_value_in() -> None:
    plan, tables = _simple([["a"] * 20 + ["b"] * 15 + ["x"]] * 3)
    (said,) = fit(plan, tables)["columns"]
    assert said["values"] == ["a"] and (said["counts"], said["rest"]) == ([60], 48)
    assert said["folded"] == ["b", "c"]


def test_a_column_that_too_few_cohorts_have_is_refused() -> None:
    plan, tables = _simple([["a"] * 20, ["a"] * 20, [""] * 20])
    with pytest.raises(Refuse, match="fewer than 3 cohorts have at least 10 values of c"):
        fit(plan, tables)


def test_a_column_that_is_empty_everywhere_is_no_secret() -> None:
    plan, tables = _simple([[""] * 20] * 3)
    (said,) = fit(plan, tables)["columns"]
    assert said["note"] == "no cohort has a word: everything is the rest"


@pytest.mark.parametrize(("rule", "values", "rest"), [("missing", 0, 0), ("rest", 0, 36), ("value", 1, 0)])
def test_missing_words(rule: str, values: int, rest: int) -> None:
    plan, tables = _simple([["a"] * 20 + ["b"] * 15 + [" "] * 12] * 3, missing_words=rule)
    found = fit(plan, tables)
    (said,) = found["columns"]
    assert said["values"] == ["a", "b", *["(missing)"] * values] and said["rest"] == rest
    made = Encoder(found).transform(np.array([["a"], [None]], object)).toarray()
    width = 3 + values
    wanted = np.zeros(width)
    if rule != "missing":
        wanted[2] = 1
    assert np.array_equal(made[1], wanted) and made.shape == (2, width)


def test_no_targets_are_summed_over_few_people() -> None:
    """Every sum that is opened is over as many people, and as many cohorts, as the floors ask for."""
    levels = ("a", "b", "c")
    columns = [Column("c", "category", "", "target:y", levels), Column("y")]
    for cells in (["a"] * 40 + ["b"] * 17 + ["x"], ["a"] * 12 + ["c"] * 5, ["x"] * 30, ["a", "b", "c"] * 6):
        plan = plan_of(columns, 3, folds=5)
        tables = [table_of({"c": cells}, np.arange(len(cells), dtype=float)[:, None], plan)] * 3
        asked = followed(plan, NOBODY, tables)
        (sums,) = [question for question in asked.questions if isinstance(question, SumTargets)]
        people = [merged(sum(each), kept) for each, kept in zip(
            zip(*(sums.counted(table) for table in tables), strict=True), sums.kept_of, strict=True
        )] if sums.target_cells else []  # fmt: skip
        assert all(((count == 0) | (count >= plan.people)).all() for count in people)
        assert sums.target_cells == sum(count.size for count in people)


def test_a_cohort_answers_only_what_its_plan_allows() -> None:
    """Lower floors, other columns, or folds that the plan does not have, are no questions of this study."""
    columns = [Column("c", "category", "", "target:y", ("a", "b")), Column("y")]
    plan = plan_of(columns, 3, people=20)
    honest = Sift(*at_most(plan, folds_of(plan)), *floors(plan))
    assert honest.agrees(plan) and (honest.people, honest.holders) == (20, 2)
    for forged in (
        replace(honest, people=10),
        replace(honest, holders=1),
        replace(honest, folds=honest.folds + 1),
        replace(honest, sizes=honest.sizes + 1),
    ):
        assert not forged.agrees(plan)
    with pytest.raises(ProtocolError, match="fields that cannot be"):
        replace(honest, people=0)
    with pytest.raises(ProtocolError, match="fields that cannot be"):
        CountLevels(honest.sizes, honest.folds, honest.codes, np.ones(3, bool))


def test_of_a_rare_value_nobody_reads_the_count() -> None:
    """What comes back of sifting is a bit for each value; counts are asked for only of what passes."""
    plan = plan_of([Column("c", "category", "", "one-hot", ("a", "b", "rare"))], 3)
    cells = ["a"] * 30 + ["b"] * 20 + ["rare"] + ["else"] * 9
    asked = followed(plan, NOBODY, [table_of({"c": cells}, np.zeros((60, 0)), plan)] * 3)
    by_kind = {type(question): told for question, told in asked.answers}
    sifted, counted = by_kind[Sift], by_kind[CountLevels]
    assert set(sifted) == {"kept"} and sifted["kept"].tolist() == [True, True, False]
    assert counted["rows"].tolist() == [90, 60, 30]
