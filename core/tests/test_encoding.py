"""Encodings: what is asked, and what people are told. tests/fuzz compares with counting and scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from asking import followed
from encoding_studies import fit, plan_of, table_of
from normalizing import NOBODY

from unpooled import facts
from unpooled.algorithms.result_files import most_bytes, report_name
from unpooled.algorithms.tables.encoding.questions import (
    CountLevels,
    Sift,
    SumTargets,
    at_most,
    floors,
    folds_of,
    merged,
)
from unpooled.errors import ProtocolError
from unpooled.parties import what_parties_get
from unpooled.plan import ENCODING_FILE
from unpooled.protocol import codes
from unpooled.schema import Column


def test_a_column_that_is_empty_everywhere_is_no_secret() -> None:
    plan = plan_of([Column("c", "category", "", "one-hot", ("a", "b", "c"))], 3)
    tables = [table_of({"c": [""] * 20}, np.zeros((20, 0)), plan)] * 3
    (said,) = fit(plan, tables)["columns"]
    assert said["note"] == "no cohort has a word: everything is the rest"


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


# Words that nobody listed


LOOKED_FOR = plan_of(
    [
        Column("drug", "category", "", "one-hot", most=64),
        Column("ward", "category", "", "target:y", most=50),
        Column("smokes", "category", "", "ordinal", ("never", "1", "2")),
        Column("y"),
    ],
    3,
)


@pytest.mark.parametrize(
    "cohorts",
    [
        pytest.param([["a", "b", "c"]] * 3, id="within each cohort"),
        pytest.param([["a", "c"], ["b", "c"], ["a", "c"]], id="across cohorts"),
        pytest.param([["a", "b", "c"], ["a", "c"], ["a", "c"]], id="within one cohort"),
    ],
)
def test_two_words_that_share_a_code_both_count_as_the_rest(
    cohorts: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = codes._code
    shared = code("drug", "a or b", b"")
    monkeypatch.setattr(codes, "_code", lambda *of: shared if of[1] in ("a", "b") else code(*of))
    plan = plan_of([Column("drug", "category", "", "one-hot", most=3), Column("y")], 3)
    tables = [table_of({"drug": [*words] * 20}, np.zeros((20 * len(words), 1)), plan) for words in cohorts]
    (said,) = fit(plan, tables)["columns"]
    others = sum(word != "c" for words in cohorts for word in words)
    assert (said["values"], said["counts"], said["rest"]) == (["c"], [60], 20 * others)


def test_the_plans_page_says_that_words_are_looked_for() -> None:
    found = [value for label, value in facts.plan_facts(LOOKED_FOR).all if label == "Column"]
    assert found[0] == "drug (one-hot, of words that are looked for: at most 64 different ones in a cohort)"
    assert "ordinal, of never, 1, 2" in found[2]


def test_a_file_of_found_words_is_no_larger_than_is_said() -> None:
    given = plan_of([Column("drug", "category", "", "one-hot", ("a",)), Column("y")], 3)
    found = plan_of([Column("drug", "category", "", "one-hot", most=10_000), Column("y")], 3)
    name = report_name(ENCODING_FILE, found)
    assert most_bytes(name, found, {}) > most_bytes(name, given, {}) + 20_000 * 48


def test_parties_are_told_of_blinded_words() -> None:
    server, compensator, *_ = what_parties_get(LOOKED_FOR)
    assert "blinded words" in server.gets and "blinded words" in compensator.gets
    assert "but what is masked" in compensator.reads
    listed = plan_of([Column("drug", "category", "", "one-hot", ("a",)), Column("y")], 3)
    assert not any("blinded" in party.gets for party in what_parties_get(listed))
