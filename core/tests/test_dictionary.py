"""Dictionaries of words that nobody listed. tests/fuzz compares them with what plain counting finds."""

from __future__ import annotations

import numpy as np
import pytest
from encoding_studies import fit, plan_of, table_of

from unpooled import facts
from unpooled.algorithms.result_files import most_bytes, report_name
from unpooled.parties import what_parties_get
from unpooled.plan import ENCODING_FILE
from unpooled.protocol import codes
from unpooled.schema import Column

PLAN = plan_of(
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
    found = [value for label, value in facts.plan_facts(PLAN).all if label == "Column"]
    assert found[0] == "drug (one-hot, of words that are looked for: at most 64 different ones in a cohort)"
    assert "ordinal, of never, 1, 2" in found[2]


def test_a_file_of_found_words_is_no_larger_than_is_said() -> None:
    given = plan_of([Column("drug", "category", "", "one-hot", ("a",)), Column("y")], 3)
    found = plan_of([Column("drug", "category", "", "one-hot", most=10_000), Column("y")], 3)
    name = report_name(ENCODING_FILE, found)
    assert most_bytes(name, found, {}) > most_bytes(name, given, {}) + 20_000 * 48


def test_parties_are_told_of_blinded_words() -> None:
    server, compensator, *_ = what_parties_get(PLAN)
    assert "blinded words" in server.gets and "blinded words" in compensator.gets
    assert "but what is masked" in compensator.reads
    listed = plan_of([Column("drug", "category", "", "one-hot", ("a",)), Column("y")], 3)
    assert not any("blinded" in party.gets for party in what_parties_get(listed))
