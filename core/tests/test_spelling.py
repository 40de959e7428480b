"""Words come out of sums as they went in, and sums of different words come out as none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unpooled import spelling

WORDS = st.text(min_size=1, max_size=16).filter(
    lambda word: spelling.fits(word) and not word.endswith("\0") and _is_text(word)
)


def _is_text(word: str) -> bool:
    return word.encode("utf-8", "surrogatepass").decode("utf-8", "ignore") == word


def sums(*cohorts: list[str]) -> np.ndarray:
    return np.sum([spelling.blinded(words) for words in cohorts], axis=0, dtype=np.uint64)


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(1, 20))
def test_the_sum_over_any_number_of_cohorts_spells_the_words(words: list[str], cohorts: int) -> None:
    assert spelling.read(sums(*[words] * cohorts)) == words


def test_factors_with_any_number_of_twos_are_divided_by() -> None:
    row = spelling.blinded(["dihydroergotamine"])
    while int(row[0, 0]) % 2 == 0:
        row = spelling.blinded(["dihydroergotamine"])
    for halvings in range(33):
        assert spelling.read(row << np.uint64(halvings)) == ["dihydroergotamine"]
    assert spelling.read(row << np.uint64(33)) == [None]


def test_what_is_no_word_is_none() -> None:
    assert spelling.read(np.zeros((1, spelling.NUMBERS), np.uint64)) == [None]
    assert spelling.read(sums(["aspirin"], ["warfarin"])) == [None]
    noise = np.random.default_rng(1).integers(0, 2**64, (500, spelling.NUMBERS), np.uint64)
    assert spelling.read(noise) == [None] * 500


def test_how_many_cohorts_have_the_word_does_not_show() -> None:
    """The factor's bits are as those of one cohort however many there are: all numbers follow from it."""
    for cohorts in (1, 2, 7):
        factor = np.array([sums(*[["aspirin"]] * cohorts)[0, 0] for _ in range(4000)])
        top = np.bincount((factor >> np.uint64(60)).astype(int), minlength=16)
        low = np.bincount((factor & np.uint64(15)).astype(int), minlength=16)
        assert min(stats.chisquare(top).pvalue, stats.chisquare(low).pvalue) > 1e-6


def test_a_word_that_is_too_long_is_none_to_spell() -> None:
    assert spelling.fits("é" * 24) and not spelling.fits("é" * 25) and not spelling.fits("")
    with pytest.raises(ValueError, match="a word of 50 bytes"):
        spelling.blinded(["é" * 25])
