"""Reports read back: PLINK 1.9's and plink2's, with the titles that they were written with.

They may have many millions of lines: go through them, keep a few, and ask for columns of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unpooled.errors import UnpooledError
from unpooled.formats.titles import TEST, Title
from unpooled.plan.genotype_model import MODELS

Line: TypeAlias = list[bytes]
"""The words of a line."""

_OF_GENOTYPES = {coded[0].test.encode() for coded in MODELS.values()}
"""Tests of which a report has one, in a line for each variant: that of the genotype, by its model."""


class Report:
    """A report, of which only the header is held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            titles = file.readline().decode("utf-8", "replace").lstrip("#").split()
        self._places = {title: place for place, title in enumerate(titles)}

    def has(self, *titles: Title) -> bool:
        """Tell whether there is a column with one of these titles."""
        return any(name in self._places for title in titles for name in title)

    def place(self, *titles: Title) -> int:
        """Find the place in a line of the first of these titles that the file has; UnpooledError if none."""
        for name in (name for title in titles for name in title):
            if name in self._places:
                return self._places[name]
        raise UnpooledError(f"{self.path.name} has no column {' or '.join(dict.fromkeys(titles[0]))}")

    def lines(self) -> Iterator[Line]:
        """Line by line; of a regression those about the variants themselves, not those about covariates."""
        for _, words in self.placed_lines():
            yield words

    def placed_lines(self) -> Iterator[tuple[int, Line]]:
        """The same, each with the byte of the file at which it begins."""
        test, wanted = self.place(TEST) if self.has(TEST) else None, b""
        with self.path.open("rb") as file:
            start = len(file.readline())
            for line in file:
                if test is None:
                    yield start, line.split()
                elif not wanted or wanted in line:  # to split what is not wanted takes longer
                    words = line.split()
                    if not wanted and words[test] in _OF_GENOTYPES:
                        wanted = words[test]
                    if words[test] == wanted:
                        yield start, words
                start += len(line)

    def texts(self, lines: Sequence[Line], *titles: Title) -> list[str]:
        """Return some lines' column of the first of these titles; empty texts where there is none."""
        if not self.has(*titles):
            return [""] * len(lines)
        place = self.place(*titles)
        return [words[place].decode("utf-8", "replace") for words in lines]

    def numbers(self, lines: Sequence[Line], *titles: Title) -> NDArray[np.float64]:
        """Return such a column as numbers; NaN where there is none."""
        return np.array([number(text) for text in self.texts(lines, *titles)], float)


def number(word: str | bytes) -> float:
    """A number as printed; NaN for NA, and what else is none."""
    try:
        return float(word)
    except ValueError:
        return math.nan


def neg_log10(p: str) -> float:
    """-log10 of P as printed: 0.01, 1e-5, 1.2e-400; infinite where 0 is printed."""
    value = float(p)
    if value > 0:
        return abs(math.log10(value))
    mantissa, _, exponent = p.partition("e")
    return -math.log10(float(mantissa)) - int(exponent) if exponent else math.inf
