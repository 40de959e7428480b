"""Words of a category: in which form two of them are the same, and columns of them as numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

REST, MISSING = "(rest)", "(missing)"
"""Stand-ins for all words outside a dictionary, and for a missing word where that counts as a value."""

MARKERS = ("", "NA", "N/A", "NaN", "nan", "null")
"""Contents of a text cell that, beside blanks, hold no word and no number."""

_WHOLE = re.compile(r"([+-]?[0-9]+)\.0+")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.0+)?")
_MIDNIGHT = "00:00:00"


def normal(word: str, *, ignore_case: bool = False) -> str:
    """A word in the form in which words are compared: Unicode's NFC, without blanks around it.

    What programs write differently is one word: True and true, 1.0 and 1, a date and its midnight. With
    `ignore_case` words are also folded as Unicode has it, so that Straße and STRASSE are one.
    """
    found = unicodedata.normalize("NFC", word).strip()
    if whole := _WHOLE.fullmatch(found):
        return whole[1]
    if time := _TIME.fullmatch(found):
        return time[1] if time[2] == _MIDNIGHT else f"{time[1]} {time[2]}"
    if (folded := found.casefold()) in ("true", "false"):
        return folded
    return unicodedata.normalize("NFC", folded) if ignore_case else found


def is_missing(cell: object) -> bool:
    """Tell whether a cell holds no word: None, NaN and its like, one of `MARKERS`, or nothing but blanks."""
    if isinstance(cell, str):
        return cell.strip() in MARKERS
    return cell is None or str(cell) in ("nan", "NaT", "<NA>")  # pandas' NA has no truth value


def text_of(cell: object) -> str:
    """A cell that holds a word, as text; 1.0 is 1, for pandas makes floats of whole numbers."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


@dataclass(frozen=True, eq=False)
class Words:
    """A column of words, each different one once."""

    codes: np.ndarray
    """int64 (n,): for each row the place of its word among `values`; -1 where it is missing."""
    values: tuple[str, ...]
    """Different words as they stand in the table, blanks and all."""

    @classmethod
    def of(cls, cells: Iterable[object]) -> Words:
        """Take the words of cells in memory, some of which may be missing."""
        place: dict[str, int] = {}
        codes = [-1 if is_missing(cell) else place.setdefault(text_of(cell), len(place)) for cell in cells]
        return cls(np.array(codes, np.int64), tuple(place))

    def __len__(self) -> int:
        return len(self.codes)

    def counts(self) -> np.ndarray:
        """Count the rows that have each of the values: int64 (values,)."""
        return np.asarray(np.bincount(self.codes[self.codes >= 0], minlength=len(self.values)))

    def taken(self, numbers: Sequence[int] | np.ndarray, missing: int) -> np.ndarray:
        """Map each row to the number of its value, or to `missing`: int64 (n,)."""
        return np.asarray(np.append(np.asarray(numbers, np.int64), missing)[self.codes])
