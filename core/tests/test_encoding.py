"""Encodings by given levels beside scikit-learn on the pooled table, its rare words replaced."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from asking import followed
from encoding_studies import Cells, fit, folded_in, plan_of, table_of
from normalizing import NOBODY
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import PredefinedSplit
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

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
from unpooled.words import REST, Words, normal

ODD = [
    "ü",
    "u\u0308",
    " x ",
    "x",
    "X",
    "a b",
    "a  b",
    'say "hi"',
    "1,5",
    "1|5",
    "=1+1",
    "ß",
    "ss",
    "İ",
    "0",
    "\u00a0y",
]
"""Words that are easily confused; some are the same in normal form."""


class Pool:
    """A random federation, and what plain counting makes of its pooled table."""

    def __init__(self, seed: int, **changes: Any) -> None:
        random = np.random.default_rng(seed)
        self.random, cohorts = random, int(random.integers(3, 21))
        self.words = [*ODD, *(f"word {k}" for k in range(int(random.integers(1, 30))))]
        listed = sorted({normal(word) for word in self.words}, key=lambda _: random.random())
        if random.random() < 0.5:
            listed = [*listed[: max(1, len(listed) // 2)], "nobody has this"]
        if changes.get("ignore_case"):
            folded: dict[str, str] = {}
            for word in listed:
                folded.setdefault(normal(word, ignore_case=True), word)
            listed = list(folded.values())
        encodings = ("one-hot", "ordinal", "frequency", "target:y", "target:z")
        columns = [
            Column(f"c{k}", "category", "", encoding, tuple(listed)) for k, encoding in enumerate(encodings)
        ]
        numbers = [Column("y", "integer"), Column("z")]
        self.plan = plan_of([*columns, *numbers], cohorts, **changes)
        self.cells, self.values = zip(*(self._cohort(k) for k in range(cohorts)), strict=True)
        self.tables = [table_of(c, v, self.plan) for c, v in zip(self.cells, self.values, strict=True)]

    def _cohort(self, k: int) -> tuple[Cells, np.ndarray]:
        random, n = self.random, int(self.random.integers(15, 120))
        share = random.dirichlet(np.full(len(self.words), 0.3))
        cells = {
            column.title: [
                None if random.random() < 0.1 else str(w) for w in random.choice(self.words, n, p=share)
            ]
            for column in self.plan.categories
        }
        y = random.integers(0, 2, n).astype(float)
        z = 10.0 ** random.integers(-6, 6) * random.normal(size=n) + 1e3
        values = np.column_stack([y, z])
        values[random.random(values.shape) < 0.05] = np.nan
        return cells, values

    def rows(self, column: Column) -> tuple[list[str], np.ndarray, np.ndarray]:
        """What counts in a column: words in normal form, targets, folds."""
        target = {"y": 0, "z": 1}.get(column.encoded.target)
        found = [
            (
                normal(word or "", ignore_case=self.plan.ignore_case),
                y[target] if target is not None else 0.0,
                fold,
            )
            for cells, values, table in zip(self.cells, self.values, self.tables, strict=True)
            for word, y, fold in zip(cells[column.title], values, table.categories.folds, strict=True)
        ]
        kept = [one for one in found if one[0] and not np.isnan(one[1])]
        return [w for w, _, _ in kept], np.array([y for _, y, _ in kept]), np.array([f for *_, f in kept])

    def kept(self, column: Column) -> list[str]:
        """The dictionary, by plain counting."""
        words, _, folds = self.rows(column)
        by_target = column.encoded.target and self.plan.folds
        within = range(self.plan.folds) if by_target else [0]
        counts = Counter(zip(words, folds.tolist() if by_target else [0] * len(words), strict=True))
        holders: Counter[tuple[str, int]] = Counter()
        others: Counter[int] = Counter()
        listed = {normal(v, ignore_case=self.plan.ignore_case): v for v in column.levels}
        per_cohort = []
        for cells, values, table in zip(self.cells, self.values, self.tables, strict=True):
            target = {"y": 0, "z": 1}.get(column.encoded.target)
            mine = {
                (normal(w, ignore_case=self.plan.ignore_case), int(f) if by_target else 0)
                for w, y, f in zip(cells[column.title], values, table.categories.folds, strict=True)
                if w and (target is None or not np.isnan(y[target]))
            }
            per_cohort.append(mine)
            holders.update(mine)
        floor = self.plan.people
        kept = [
            key
            for key in listed
            if all(counts[key, f] >= floor and holders[key, f] >= self.plan.holders for f in within)
        ]
        for f in within:
            others[f] = sum(any(w not in kept and g == f for w, g in mine) for mine in per_cohort)
        rest = {f: sum(n for (w, g), n in counts.items() if g == f and w not in kept) for f in within}
        below = [rest[f] > 0 and (rest[f] < floor or others[f] < self.plan.holders) for f in within]
        of_kept = [[counts[key, f] for f in within] for key in kept]
        folded = folded_in(of_kept, list(rest.values()), below, floor)
        return [listed[key] for k, key in enumerate(kept) if k not in folded]


def replaced(pool: Pool, column: Column, kept: list[str]) -> np.ndarray:
    fold = pool.plan.ignore_case
    form = {normal(value, ignore_case=fold): value for value in kept}
    return np.array([[form.get(word, REST)] for word in pool.rows(column)[0]], object)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("changes", [{}, {"folds": 5}, {"smooth": "7.5", "folds": 3, "ignore_case": True}])
def test_random_federations_equal_scikit_learn_on_the_pool(seed: int, changes: dict[str, Any]) -> None:
    pool = Pool(seed, **changes)
    found = fit(pool.plan, pool.tables)
    for column, said in zip(pool.plan.categories, found["columns"], strict=True):
        kept = pool.kept(column)
        assert said["values"] == kept, column
        assert set(said["folded"]) | set(kept) == set(column.levels)
        words = replaced(pool, column, kept)
        counts = Counter(words[:, 0].tolist())
        assert [*said["counts"], said["rest"]] == [counts[word] for word in (*kept, REST)]
        encoder = Encoder({**found, "columns": [said]})
        given = np.array([[word] for word in pool.rows(column)[0]], object)
        made = encoder.transform(given)
        _compare(pool, column, said, words, made.toarray() if hasattr(made, "toarray") else made)


def _compare(pool: Pool, column: Column, said: dict[str, Any], words: np.ndarray, made: np.ndarray) -> None:
    categories = [np.array([*said["values"], REST], object)]
    if column.encoding == "one-hot":
        assert np.array_equal(
            made, OneHotEncoder(categories=categories, sparse_output=False).fit_transform(words)
        )
    elif column.encoding == "ordinal":
        assert np.array_equal(made, OrdinalEncoder(categories=categories).fit_transform(words))
    elif column.encoding == "frequency":
        counts = Counter(words[:, 0].tolist())
        assert np.array_equal(made[:, 0], [counts[word] / len(words) for word in words[:, 0]])
    else:
        _compare_targets(pool, column, said, words, made)


def _compare_targets(
    pool: Pool, column: Column, said: dict[str, Any], words: np.ndarray, made: np.ndarray
) -> None:
    _, y, folds = pool.rows(column)
    smooth = pool.plan.smooth if pool.plan.smooth == "auto" else float(pool.plan.smooth)
    kind = "continuous"  # of 0 and 1, too: the mean is the share of ones
    categories = [np.array([*said["values"], REST], object)]
    own = TargetEncoder(categories=categories, target_type=kind, smooth=smooth).fit(words, y)
    scale = max(1.0, float(np.abs(y).max()))
    np.testing.assert_allclose(made, own.transform(words), rtol=1e-12, atol=1e-12 * scale)
    for fold, by_others in enumerate(said["folds"]):
        left = folds != fold
        numbers = np.array([*by_others["encoded"], by_others["rest_encoded"]])
        if not said["values"]:  # of nobody but the rest no sums are asked for
            np.testing.assert_allclose(numbers, [y.mean()], rtol=1e-12)
            continue
        some = TargetEncoder(categories=categories, target_type=kind, smooth=smooth).fit(words[left], y[left])
        np.testing.assert_allclose(numbers, some.encodings_[0], rtol=1e-12, atol=1e-12 * scale)
    assert len(said["folds"]) == pool.plan.folds


def test_rows_of_a_fold_are_encoded_by_the_others_as_with_a_predefined_split() -> None:
    pool = Pool(3, folds=5)
    column = pool.plan.categories[3]
    found = fit(pool.plan, pool.tables)
    said = found["columns"][3]
    words, y, folds = pool.rows(column)
    encoder = Encoder({**found, "columns": [said]})
    (coded,) = encoder.coded([Words.of(words)], folds)
    wanted = np.empty(len(y))
    kept = replaced(pool, column, said["values"])
    for left, out in PredefinedSplit(folds).split():
        categories = [np.array([*said["values"], REST], object)]
        some = TargetEncoder(categories=categories, target_type="continuous").fit(kept[left], y[left])
        wanted[out] = some.transform(kept[out])[:, 0]
    np.testing.assert_allclose(coded.dense()[:, 0], wanted, rtol=1e-12, atol=1e-12)


def test_hashes_and_ngrams_are_those_of_scikit_learn() -> None:
    words = [*ODD, "Pneumonia", "pneumonie", "a" * 50, "x y z", "日本語", "  two  words "]
    columns = [{"name": "h", "encoding": "hash:13"}, {"name": "g", "encoding": "ngrams:29"}]
    found = {
        "format": "unpooled/encoding", "version": 1, "missing_words": "missing", "ignore_case": False,
        "columns": columns,
    }  # fmt: skip
    made = Encoder(found).transform(np.array([[word, word] for word in words], object))
    plain = [normal(word) for word in words]
    hashed = FeatureHasher(13, input_type="string").transform([[word] for word in plain]).toarray()
    grams = (
        HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=29).transform(plain).toarray()
    )
    assert np.array_equal(made[:, :13], hashed)
    np.testing.assert_allclose(made[:, 13:], grams, rtol=1e-15, atol=1e-16)


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
