"""The encodings that docs/measure_encodings.py measures: each is what the paper says it is."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .conftest import documentation_script

WORDS = ("I10", "I21"), ("I21", "J45", "J45"), ("I10", "K50")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return documentation_script("measure_encodings")


@pytest.fixture
def parts(script: ModuleType) -> list[Any]:
    """Three cohorts with a column of words; whoever has I21 is a case, and half of those with J45."""
    found = []
    for words in WORDS:
        column = np.array(words, object)[:, None]
        target = np.array([word == "I21" or (word == "J45" and k == 1) for k, word in enumerate(words)], int)
        found.append(script.Rows(column, np.zeros((len(words), 1)), target))
    return found


def encoded(encode: Callable[..., Any], parts: list[Any]) -> list[np.ndarray]:
    made = [own(part.words) for own, part in zip(encode(parts), parts, strict=True)]
    return [each.toarray() if hasattr(each, "toarray") else np.asarray(each) for each in made]


def test_the_table_is_whole(script: ModuleType) -> None:
    rows = script.titanic()
    assert rows.words.shape == (1309, 7) and rows.numbers.shape == (1309, 4)
    assert rows.target.sum() == 500 and set(rows.words[:, 1]) == {"female", "male"}
    assert len(set(rows.words[:, -1])) == 370


def test_pooled_a_word_has_one_column(script: ModuleType, parts: list[Any]) -> None:
    first, second, third = encoded(script.pooled_one_hot, parts)
    assert first.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert (second[0] == first[1]).all() and (third[0] == first[0]).all()


def test_alone_a_column_has_several_words(script: ModuleType, parts: list[Any]) -> None:
    first, second, third = encoded(script.local_one_hot, parts)
    assert first.tolist() == third.tolist() == [[1, 0], [0, 1]]
    assert second.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_in_a_ring_a_word_has_a_column_in_each_cohort(script: ModuleType, parts: list[Any]) -> None:
    used = [set(np.flatnonzero(each.any(axis=0))) for each in encoded(script.ring_one_hot, parts)]
    assert used == [{0, 1}, {2, 3}, {4, 5}]


def test_a_dictionary_has_what_enough_people_and_cohorts_have(
    script: ModuleType, parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PEOPLE", 2)
    first, second, third = encoded(script.dictionary, parts)
    assert first.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert second.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1]]  # J45 is one cohort's alone
    assert third.tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(("name", "modulus"), [("as_bytes", 2**24), ("modulo", 2 * 3 * 4)])
def test_bytes_are_a_number(script: ModuleType, name: str, modulus: int) -> None:
    words = [["I10"], ["I21"], ["J45"], ["K50"]] * 3  # four words in each of three cohorts
    parts = [script.Rows(np.array(words, object), np.zeros((12, 1)), np.zeros(12, int))] * 3
    numbers = np.array([int.from_bytes(word.encode()) % modulus for (word,) in words], float)
    wanted = (numbers - numbers.mean()) / numbers.std()
    for found in encoded(getattr(script, name), parts):
        np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-9)


def test_a_target_is_the_mean_at_the_word(
    script: ModuleType, parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "SMOOTH", 0.0)
    assert [each.ravel().tolist() for each in encoded(script.local_target, parts)][1] == [1, 0.5, 0.5]
    first, *_ = encoded(script.pooled_target, parts)
    assert first.ravel().tolist() == [0, 1]


def test_a_rolling_hash_knows_no_digits(script: ModuleType, parts: list[Any]) -> None:
    first, second, _ = encoded(script.rolling_hash, parts)
    assert (first[0] == first[1]).all() and not (second[0] == second[1]).all()
    assert first[0].argmax() == 9 * 31 % 5000  # I is the ninth letter
    other, *_ = encoded(script.feature_hash, parts)
    assert not (other[0] == other[1]).all()
