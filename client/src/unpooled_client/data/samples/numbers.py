"""Reading a column of numbers with its missing codes.

PLINK takes anything that does not begin like a number for a missing value, and the number at the
beginning of anything else (`1,5` is 1). Both hide mistakes, so only the usual codes are missing here, and
the rest is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.memory import tokenizer
from unpooled.memory.tokenizer import Tokens
from unpooled_client.data.findings.report import EXAMPLES, at

MISSING = frozenset({b"na", b"nan", b"n/a", b"#n/a", b"<na>", b".", b"-", b"null", b"none", b"missing"})
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of some rows, as numbers."""

    tokens: Tokens
    index: int
    """Index of the word of a row, from 0."""
    values: np.ndarray
    """float64 (rows,); NaN where the word is no finite number."""
    text: np.ndarray
    """bool (rows,): neither a finite number nor a missing code."""
    place: int
    """Number of the column in the file, from 1."""

    def words(self, rows: np.ndarray) -> list[bytes]:
        return [self.tokens.word(int(row), self.index) for row in rows]

    def at(self, path: Path, rows: np.ndarray) -> dict[str, Any]:
        """Return details of a finding about these rows, of the file at `path`."""
        return at(path, self.tokens.line[rows], self.words(rows[:EXAMPLES]), self.place)


def read_numbers(tokens: Tokens, index: int, place: int | None = None) -> Column:
    """Read word `index` of every row; every row must have it. In the file it is column `place`, if not so."""
    start, end = tokens.column(index)
    code, words = tokenizer.distinct(tokens.text, start, end)
    values = np.array([number(word) for word in words], float)
    strange = np.array([np.isnan(v) and not is_missing(w) for v, w in zip(values, words, strict=True)], bool)
    return Column(tokens, index, values[code], strange[code], index + 1 if place is None else place)


def mean(values: np.ndarray) -> float:
    """The mean, also where the sum is beyond any number."""
    with np.errstate(over="ignore", invalid="ignore"):
        usual = float(values.mean())
    return usual if np.isfinite(usual) else float((values / len(values)).sum())


def is_missing(word: bytes) -> bool:
    return word.lower() in MISSING


def number(word: bytes) -> float:
    """The number that a word is; NaN if it is none, or not finite."""
    if not _NUMBER.fullmatch(word):
        return np.nan
    value = float(word)
    return value if np.isfinite(value) else np.nan
