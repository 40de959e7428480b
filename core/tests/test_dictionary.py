"""Dictionaries of words that nobody listed. tests/fuzz compares them with what plain counting finds."""

from __future__ import annotations

import numpy as np
import pytest
from encoding_studies import fit, plan_of, table_of

from unpooled import facts
from unpooled.algorithms.result_files import most_bytes, report_name
from unpooled.encoder import Encoder
from unpooled.errors import ProtocolError
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


@pytest.mark.parametrize("encoding", ["one-hot", "target:y"])
def test_where_no_word_is_found_everything_is_the_rest(encoding: str) -> None:
    """Also if no other column has values, so that there is nothing to compare."""
    plan = plan_of([Column("drug", "category", "", encoding, most=20), Column("y")], 3, folds=2)
    cells = [[f"word {k} of cohort {cohort}" for k in range(20)] for cohort in range(3)]
    tables = [table_of({"drug": words}, np.arange(20.0)[:, None], plan) for words in cells]
    (said,) = fit(plan, tables)["columns"]
    assert (said["values"], said["folded"], said["rest"]) == ([], [], 60)


@pytest.mark.parametrize(("rule", "missing"), [("missing", 0), ("rest", 0), ("value", 90)])
def test_a_word_called_like_the_rest_or_a_missing_one_is_not_found(rule: str, missing: int) -> None:
    """Else there would be two columns called drug=(rest), or two values called (missing)."""
    columns = [Column("drug", "category", "", "one-hot", most=3), Column("y")]
    plan = plan_of(columns, 3, missing_words=rule, ignore_case=True)
    cells = ["a"] * 20 + ["(rest)"] * 20 + ["(Missing)"] * 20 + [None] * 10
    found = fit(plan, [table_of({"drug": [*cells]}, np.zeros((70, 1)), plan)] * 3)
    (said,) = found["columns"]
    assert said["values"] == ["a", "(missing)"][: 1 + bool(missing)] and said["folded"] == []
    assert said["counts"] == [60, missing][: 1 + bool(missing)]
    assert said["rest"] == {"missing": 120, "rest": 150, "value": 60}[rule]
    names = Encoder(found).get_feature_names_out().tolist()
    assert len(set(names)) == len(names)


def test_more_different_words_than_allowed_are_refused() -> None:
    plan = plan_of([Column("drug", "category", "", "one-hot", most=2), Column("y")], 3)
    tables = [table_of({"drug": ["a", "b", "c"] * 10}, np.zeros((30, 1)), plan) for _ in range(3)]
    with pytest.raises(ProtocolError, match="3 different words; at most 2"):
        fit(plan, tables)


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
