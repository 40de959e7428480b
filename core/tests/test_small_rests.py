"""A rest that few people have can be read from nothing that the server gets, nor as a difference of it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from asking import Followed, followed
from encoding_studies import plan_of, table_of
from normalizing import NOBODY

from unpooled.algorithms.tables.encoding import procedure as encoding
from unpooled.algorithms.tables.encoding.questions import CountLevels, CountRows, floors, split
from unpooled.algorithms.tables.encoding.rest import AddLevels, RankLevels, SiftRest
from unpooled.errors import ProtocolError
from unpooled.plan import Plan
from unpooled.procedure import Asks
from unpooled.schema import Column

COMMON = 90
"""People who have a value that is never folded."""


def plan_with(**changes: object) -> Plan:
    return plan_of([Column("c", "category", "", "one-hot", ("a", "b", "common"))], 3, **changes)


def study(a: int, b: int, rest: int) -> Followed:
    """Of so many people with two values, and with none that is listed."""
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
    """Of nine at least four: by all pools that can look the same, and by everything that is told of them."""
    possible: dict[bytes, set[int]] = defaultdict(set)
    for pool in itertools.product(range(10, 20), b, range(1, 10)):
        seen = study(*pool)
        if kept(seen)[-1]:  # else the common value can be any number, too
            possible[view(seen)].add(pool[-1])
    assert min(map(len, possible.values())) == 4 and max(map(len, possible.values())) == 9


def kept(seen: Followed) -> list[bool]:
    """Whether each value is, of those that were counted."""
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
    """Of each column and fold: all words less those that are kept, in the sums that the server gets."""
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


def test_a_cohort_answers_no_other_floors_and_no_more_doublings() -> None:
    plan, asked = plan_with(), {type(question): question for question in study(30, 50, 3).questions}
    assert all(question.agrees(plan) for question in asked.values())
    rest, rank = asked[SiftRest], asked[RankLevels]
    for forged in (replace(rest, people=11), replace(rest, holders=1), replace(rank, people=11)):
        assert not forged.agrees(plan)
    with pytest.raises(ProtocolError, match="fields that cannot be"):
        replace(rank, rungs=21)
    with pytest.raises(ProtocolError, match="fields that cannot be"):
        replace(asked[AddLevels], bounds=asked[AddLevels].bounds[1:])
