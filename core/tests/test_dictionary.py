"""Dictionaries of words that nobody listed: those that plain counting over the pooled table would find."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

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
from unpooled.words import REST, normal

WORDS = [
    "ü",
    "ü",
    " aspirin ",
    "aspirin",
    "Aspirin",
    "a b",
    'say "hi"',
    "1,5",
    "=1+1",
    "ß",
    *map(str, range(40)),
]


class Pool:
    """Random cohorts with a searched column, another one beside a target, and one of given levels."""

    def __init__(self, seed: int, cohorts: int = 0, **changes: Any) -> None:
        random = np.random.default_rng(seed)
        self.cohorts = cohorts or int(random.integers(3, 9))
        self.plan = plan_of(
            [
                Column("drug", "category", "", "one-hot", most=64),
                Column("ward", "category", "", "target:y", most=50),
                Column("smokes", "category", "", "ordinal", ("never", "1", "2")),
                Column("y"),
            ],
            self.cohorts,
            **changes,
        )
        self.cells = [self._cells(random) for _ in range(self.cohorts)]
        self.values = [random.normal(size=(len(cells["drug"]), 1)) for cells in self.cells]
        self.tables = [table_of(c, v, self.plan) for c, v in zip(self.cells, self.values, strict=True)]

    def _cells(self, random: np.random.Generator) -> dict[str, list[str | None]]:
        n = int(random.integers(12, 150))
        share = random.dirichlet(np.full(len(WORDS), 0.2))
        return {
            title: [None if random.random() < 0.1 else str(word) for word in random.choice(WORDS, n, p=share)]
            for title in ("drug", "ward", "smokes")
        }

    def passing(self, title: str) -> list[str]:
        """The words that enough people in enough cohorts have, by brute force."""
        fold = self.plan.ignore_case
        counts = [
            Counter(normal(word, ignore_case=fold) for word in cells[title] if word) for cells in self.cells
        ]
        total, holders = sum(counts, Counter()), Counter(word for count in counts for word in count)
        return sorted(w for w in total if total[w] >= self.plan.people and holders[w] >= self.plan.holders)


@pytest.mark.parametrize("seed", range(12))
def test_the_dictionary_is_what_counting_the_pooled_table_finds(seed: int) -> None:
    changes = [
        {},
        {"ignore_case": True},
        {"holders": 3},
        {"missing_words": "value"},
        {"missing_words": "rest"},
    ]
    pool = Pool(seed, **changes[seed % len(changes)])
    found = fit(pool.plan, pool.tables)
    for column in found["columns"][:2]:
        words = [*column["values"], *column["folded"]]
        assert sorted(word for word in words if word != "(missing)") == pool.passing(column["name"])
        counted = sum(column["counts"]) + column["rest"]
        assert counted == column["known"]


@pytest.mark.parametrize("seed", range(4))
def test_a_searched_column_is_encoded_as_one_whose_words_were_listed(seed: int) -> None:
    pool = Pool(seed)
    found = fit(pool.plan, pool.tables)
    listed = [
        replace(column, levels=tuple(pool.passing(column.title)), most=0) if column.most else column
        for column in pool.plan.schema
    ]
    if not all(column.levels for column in listed if column.is_category):
        pytest.skip("nothing is kept")
    plan = plan_of(listed, pool.cohorts)
    want = fit(plan, [table_of(c, v, plan) for c, v in zip(pool.cells, pool.values, strict=True)])
    for one, other in zip(found["columns"], want["columns"], strict=True):
        assert one["values"] == other["values"] and one["counts"] == other["counts"]
        np.testing.assert_allclose(one.get("encoded", 0), other.get("encoded", 0), rtol=0, atol=1e-12)
    encoder = Encoder(found)
    assert REST in encoder.get_feature_names_out()[len(found["columns"][0]["values"])]


def test_words_that_are_spelled_to_nobody_stay_codes() -> None:
    pool = Pool(1, spelled="own")
    usual, found = fit(Pool(1).plan, pool.tables), fit(pool.plan, pool.tables)
    for one, other in zip(found["columns"][:2], usual["columns"][:2], strict=True):
        assert all(value.startswith("code ") for value in one["values"])
        assert sorted(one["counts"]) == sorted(other["counts"])


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


def test_rare_words_leave_no_dictionary() -> None:
    pool = Pool(2, people=1_000_000)
    found = fit(pool.plan, pool.tables)
    assert all(column["values"] == [] for column in found["columns"])


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
    found = [value for label, value in facts.plan_facts(Pool(1).plan).all if label == "Column"]
    assert found[0] == "drug (one-hot, of words that are looked for: at most 64 different ones in a cohort)"
    assert "ordinal, of never, 1, 2" in found[2]


def test_a_file_of_found_words_is_no_larger_than_is_said() -> None:
    given = plan_of([Column("drug", "category", "", "one-hot", ("a",)), Column("y")], 3)
    found = plan_of([Column("drug", "category", "", "one-hot", most=10_000), Column("y")], 3)
    name = report_name(ENCODING_FILE, found)
    assert most_bytes(name, found, {}) > most_bytes(name, given, {}) + 20_000 * 48


def test_parties_are_told_of_blinded_words() -> None:
    server, compensator, *_ = what_parties_get(Pool(1).plan)
    assert "blinded words" in server.gets and "blinded words" in compensator.gets
    assert "but what is masked" in compensator.reads
    listed = plan_of([Column("drug", "category", "", "one-hot", ("a",)), Column("y")], 3)
    assert not any("blinded" in party.gets for party in what_parties_get(listed))
