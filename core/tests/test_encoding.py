"""Encodings: what is asked and told, how words are found, and that no small rest of them can be read."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from asking import Followed, followed
from encoding_studies import fit, plan_of, table_of
from hypothesis import given
from hypothesis import strategies as st
from normalizing import NOBODY
from scipy import stats

from unpooled.asking import blinded_words
from unpooled.asking.procedure import Asks
from unpooled.described import facts
from unpooled.described.file_list import most_bytes, report_name
from unpooled.described.parties import what_parties_get
from unpooled.methods.tables.encoding import procedure as encoding
from unpooled.methods.tables.encoding.options import EVERYONE, OWN, PEOPLE
from unpooled.methods.tables.encoding.questions import (
    CountLevels,
    CountRows,
    Sift,
    SumTargets,
    floors,
    merged,
    split,
)
from unpooled.methods.tables.encoding.rest import AddLevels, RankLevels, SiftRest
from unpooled.methods.tables.encoding.result import shown
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import ENCODING_FILE
from unpooled.plan.schema import Column
from unpooled.protocol.codes import Blinding
from unpooled.run import run


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
        assert all(((count == 0) | (count >= PEOPLE.of(plan))).all() for count in people)
        assert sums.target_cells == sum(count.size for count in people)


def test_of_a_rare_value_nobody_reads_the_count() -> None:
    """Sifting tells a bit for each value; counts are asked for only of what passes."""
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
    code = Blinding._code
    monkeypatch.setattr(
        Blinding, "_code", lambda own, word, of: 5 << 40 if word in "ab" else code(own, word, of)
    )
    plan = plan_of([Column("drug", "category", "", "one-hot", most=3), Column("y")], 3)
    tables = [table_of({"drug": [*words] * 20}, np.zeros((20 * len(words), 1)), plan) for words in cohorts]
    (said,) = fit(plan, tables)["columns"]
    others = sum(word != "c" for words in cohorts for word in words)
    assert (said["values"], said["counts"], said["rest"]) == (["c"], [60], 20 * others)


def test_the_plans_page_says_that_words_are_looked_for() -> None:
    found = [value for label, value in facts.plan_facts(LOOKED_FOR).all if label == "Column"]
    assert found[0] == "drug (one-hot, of words that are looked for: at most 64 different ones in a cohort)"
    assert "ordinal, of never, 1, 2" in found[2]


@pytest.mark.parametrize("spelled", [EVERYONE, OWN])
def test_the_report_says_of_words_that_were_spelled_who_can_verify_them(spelled: str) -> None:
    plan = plan_of([Column("drug", "category", "", "one-hot", most=3), Column("y")], 3, spelled=spelled)
    tables = [table_of({"drug": ["a", "b"] * 20}, np.zeros((40, 1)), plan)] * 3
    page = shown(run(plan, Panel.of([]), tables), plan)
    assert ("a cohort can verify those that it has" in page) == (spelled == EVERYONE)


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


COMMON = 90
"""People who have a value that is never folded."""


def plan_with(**changes: object) -> Plan:
    return plan_of([Column("c", "category", "", "one-hot", ("a", "b", "common"))], 3, **changes)


def study(a: int, b: int, rest: int) -> Followed:
    """Run a study of so many people with two values, and with none that is listed."""
    cells: list[list[str | None]] = [["common"] * (COMMON // 3) for _ in range(3)]
    for word, count in (("a", a), ("b", b), ("x", rest)):
        cells[0] += [word] * (count // 2)
        cells[1] += [word] * (count - count // 2)
    plan = plan_with()
    tables = [table_of({"c": words}, np.zeros((len(words), 0)), plan) for words in cells]
    return followed(plan, NOBODY, tables)


def rest_by_difference(seen: Followed) -> int:
    """All words of the column less those of the kept values."""
    sums = {type(question): told for question, told in seen.answers}
    return int(sums[CountRows]["known"][0] - sums[CountLevels]["rows"][:-1].sum())


def view(seen: Followed) -> bytes:
    """Everything that an honest server gets of a study, question by question."""
    return b"|".join(np.asarray(told[name]).tobytes() for _, told in seen.answers for name in sorted(told))


def without_the_rule(plan: Plan, about: object, kept: np.ndarray, *more: object) -> Asks[np.ndarray]:
    yield from ()
    return kept


@pytest.mark.parametrize("rest", [1, 5, 9])
def test_without_the_rule_the_difference_is_the_rest_and_with_it_it_is_not(
    rest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rest_by_difference(study(30, 50, rest)) == 30 + rest  # of which nobody knows the 30
    monkeypatch.setattr(encoding, "fold_rests", without_the_rule)
    assert rest_by_difference(study(30, 50, rest)) == rest


@pytest.mark.parametrize("b", [range(10, 20), range(20, 40)], ids=["both rare", "one rarer"])
def test_whatever_the_server_gets_many_a_small_rest_is_possible(b: range) -> None:
    """Four or more of nine are possible: by all pools that look the same, and by everything told of them."""
    possible: dict[bytes, set[int]] = defaultdict(set)
    for pool in itertools.product(range(10, 20), b, range(1, 10)):
        seen = study(*pool)
        if kept(seen)[-1]:  # else the common value can be any number, too
            possible[view(seen)].add(pool[-1])
    assert min(map(len, possible.values())) == 4 and max(map(len, possible.values())) == 9


def kept(seen: Followed) -> list[bool]:
    """Tell of each counted value whether it is kept."""
    return next(question.kept.tolist() for question in seen.questions if isinstance(question, CountLevels))


def test_one_value_is_added_where_it_hides_the_rest_and_two_where_it_does_not() -> None:
    assert kept(study(14, 30, 0)) == kept(study(14, 30, 10)) == [True, True, True]
    assert kept(study(14, 30, 3)) == [False, True, True]
    assert kept(study(10, 30, 1)) == [False, False, True]  # of 11 each number would be known
    assert kept(study(19, 60, 9)) == [False, False, True]  # nor of 28, as neither can be more
    assert kept(study(30, 14, 3)) == [True, False, True]


@pytest.mark.parametrize(("rest", "more"), [(0, False), (40, False), (3, True)])
def test_without_a_small_rest_nothing_more_is_asked(rest: int, more: bool) -> None:
    kinds = {type(question) for question in study(30, 50, rest).questions}
    assert SiftRest in kinds and ({RankLevels, AddLevels} <= kinds) == more


def of_targets(random: np.random.Generator, plan: Plan) -> Followed:
    tables = []
    for _ in range(plan.cohorts):
        n = int(random.integers(40, 160))
        words = {
            title: random.choice([*"abcdef", ""], n, p=random.dirichlet(np.ones(7))).tolist()
            for title in ("c", "d")
        }
        tables.append(table_of(words, random.normal(size=(n, 1)), plan))
    return followed(plan, NOBODY, tables)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("missing", ["missing", "rest", "value"])
def test_no_difference_of_counts_is_small(seed: int, missing: str) -> None:
    """All words less those kept, of each column and fold, are many in the sums that the server gets."""
    columns = [
        Column("c", "category", "", "target:y", ("a", "b", "c", "d", "e")),
        Column("d", "category", "", "frequency", ("a", "b", "c", "d", "e")),
        Column("y"),
    ]
    random = np.random.default_rng(seed)
    plan = plan_of(columns, 3, folds=seed % 3 + 1 if seed % 3 else 0, missing_words=missing)
    seen = of_targets(random, plan)
    sums = {type(question): told for question, told in seen.answers}
    (counted,) = (question for question in seen.questions if isinstance(question, CountLevels))
    known = split(sums[CountRows]["known"], np.ones_like(counted.folds), counted.folds)
    people, _ = floors(plan)
    for words, rows in zip(
        known, split(sums[CountLevels]["rows"], counted.lines, counted.folds), strict=True
    ):
        rest = words - rows[:-1].sum(axis=0)
        assert len(rows) == 1 or ((rest == 0) | (rest >= people)).all()


WORDS = st.text(min_size=1, max_size=16).filter(
    lambda word: blinded_words.fits(word) and not word.endswith("\0") and _is_text(word)
)


def _is_text(word: str) -> bool:
    return word.encode("utf-8", "surrogatepass").decode("utf-8", "ignore") == word


def sums(*cohorts: list[str]) -> np.ndarray:
    return np.sum([blinded_words.blinded(words) for words in cohorts], axis=0, dtype=np.uint64)


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(1, 20))
def test_the_sum_over_any_number_of_cohorts_spells_the_words(words: list[str], cohorts: int) -> None:
    assert blinded_words.read(sums(*[words] * cohorts)) == words


def test_factors_with_any_number_of_twos_are_divided_by() -> None:
    row = blinded_words.blinded(["dihydroergotamine"])
    while int(row[0, 0]) % 2 == 0:
        row = blinded_words.blinded(["dihydroergotamine"])
    for halvings in range(33):
        assert blinded_words.read(row << np.uint64(halvings)) == ["dihydroergotamine"]
    assert blinded_words.read(row << np.uint64(33)) == [None]


def test_what_is_no_word_is_none() -> None:
    assert blinded_words.read(np.zeros((1, blinded_words.NUMBERS), np.uint64)) == [None]
    assert blinded_words.read(sums(["aspirin"], ["warfarin"])) == [None]
    noise = np.random.default_rng(1).integers(0, 2**64, (500, blinded_words.NUMBERS), np.uint64)
    assert blinded_words.read(noise) == [None] * 500


def test_how_many_cohorts_have_the_word_does_not_show() -> None:
    """The factor's bits are as those of one cohort however many there are: all numbers follow from it."""
    for cohorts in (1, 2, 7):
        factor = np.array([sums(*[["aspirin"]] * cohorts)[0, 0] for _ in range(4000)])
        top = np.bincount((factor >> np.uint64(60)).astype(int), minlength=16)
        low = np.bincount((factor & np.uint64(15)).astype(int), minlength=16)
        assert min(stats.chisquare(top).pvalue, stats.chisquare(low).pvalue) > 1e-6


def test_a_word_that_is_too_long_is_none_to_spell() -> None:
    assert blinded_words.fits("é" * 24) and not blinded_words.fits("é" * 25) and not blinded_words.fits("")
    with pytest.raises(ValueError, match="a word of 50 bytes"):
        blinded_words.blinded(["é" * 25])
