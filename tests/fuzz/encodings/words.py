"""Odd words, how often each is there, and in how many ways people write it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import numpy as np

Random = np.random.Generator
Vocabulary = Callable[[Random], list[str]]
Spread = Callable[[Random, list[str], int, int], list[str]]

_LETTERS = (
    "ü Ü straße STRASSE ß ss İ i \u0131 \u017f s ŉ ǰ ΐ Σας ᾳ ﬁ fi Å \u212b ḍ̇ 각 日本語 🩺 e\u0301\u0327"
)
_OTHERS = '0 -0 1 1.0 01 1e5 True none NA N/A nan null NULL - ? ; " # \\ x X 1,5 1|5 =1+1 a\u200bb'
ODD = (
    *_LETTERS.split(),
    *_OTHERS.split(),
    *("a b", "a  b", "a\u00a0b", "two\nlines", "a\tb", 'say "hi"'),
    *("(rest)", "(missing)", "(Missing)", "code 0000000000"),
    *("l" * 48, "l" * 49, "é" * 24, "é" * 25, "L" * 200),
)
"""Words that are easily confused, with each other or with what is no word."""
MISSING = (None, None, "", " ", "\u00a0", "NA", "N/A", "NaN", "nan", "null", " NA ")
"""Contents of a cell without a word. In Parquet some of these are words."""
BLANKS = ("", " ", "  ", "\t", "\u00a0", "\u3000")
CASES = (str.upper, str.lower, str.title, str.swapcase)


def odd(random: Random) -> list[str]:
    return random.choice(ODD, int(random.integers(2, 20)), replace=False).tolist()


def plain(random: Random) -> list[str]:
    return [f"word {k}" for k in range(int(random.integers(1, 25)))]


def some_odd(random: Random) -> list[str]:
    return [*plain(random), *odd(random)[:4]]


def digits(random: Random) -> list[str]:
    """Codes that Parquet may hold as numbers."""
    return [str(k) for k in random.choice([3, 40, 10**9], 1)[0] + np.arange(random.integers(2, 30))]


def diagnoses(random: Random) -> list[str]:
    letters, numbers = random.choice(list("EIJe"), 30), random.integers(0, 20, (30, 2))
    codes = (f"{letter}{a:02}.{b}" for letter, (a, b) in zip(letters.tolist(), numbers.tolist(), strict=True))
    return list(dict.fromkeys(codes))


VOCABULARIES: tuple[Vocabulary, ...] = (odd, plain, some_odd, digits, diagnoses)


def skewed(random: Random, words: list[str], n: int, people: int) -> list[str]:
    """A few words are frequent, most are rare."""
    return random.choice(words, n, p=random.dirichlet(np.full(len(words), 0.3))).tolist()


def even(random: Random, words: list[str], n: int, people: int) -> list[str]:
    """All words are as frequent, or differ by one."""
    return random.permutation(np.resize(words, n)).tolist()


def near_the_floor(random: Random, words: list[str], n: int, people: int) -> list[str]:
    """About as many people have each word as a value must have; the first has what is left."""
    counts = people + random.integers(-1, 2, len(words))
    found = np.repeat(words[1:], counts[1:])[:n].tolist()
    return random.permutation([*found, *words[:1] * (n - len(found))]).tolist()


def one_rare(random: Random, words: list[str], n: int, people: int) -> list[str]:
    """All but a few people have the same words."""
    few = int(random.integers(0, people + 1))
    rare = random.choice(words, min(n, few))
    often = random.choice(words[: max(1, min(3, len(words) - 1))], n - len(rare))
    return random.permutation([*often, *rare]).tolist()


SPREADS: tuple[Spread, ...] = (skewed, even, near_the_floor, one_rare)


def written(random: Random, word: str, loosely: float, cases: float) -> str:
    """A word as somebody writes it, who may decompose letters, add blanks, or mistake cases."""
    if random.random() < loosely:
        word = unicodedata.normalize("NFD" if random.random() < 0.5 else "NFC", word)
        word = f"{random.choice(BLANKS)}{word}{random.choice(BLANKS)}"
    if random.random() < cases:
        word = CASES[random.integers(len(CASES))](word)
    return word
