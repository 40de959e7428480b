"""Result files as lines of words, in which other processors and libraries may differ by their last digits.

A column of numbers that has a point anywhere may differ by one unit of the last digit that it shows, or by
`NEAR` of the value where it shows more digits than that. Whole numbers and words are to be the same.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

NEAR = 1e-9
"""Two sums of the same numbers in another order differ by less, in these small studies."""
NEAR_IN = dict.fromkeys(["coefficient", "coefficients"], 1e-7)
"""Tolerance by a column's title. Where a penalty is small and columns of words are nearly collinear, the
smallest coefficients keep fewer digits.
"""
NOTHING = 1e-12
"""Less than this is what is left where numbers cancel."""

_NUMBER = re.compile(r"(\W*?)(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\W*)")

Lines = list[str]


def lines_of(content: bytes) -> Lines:
    """The lines of a file, without what only aligns them; of JSON a line for each list or value."""
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    if content.startswith(b"PK"):
        arrays = np.load(BytesIO(content), allow_pickle=False)
        return [line for name in arrays for line in _flat(f"/{name}", arrays[name].tolist())]
    if content[8:9] == b"{":
        return list(_of_arrays(content))
    text = content.decode()
    if text.startswith("{"):
        return list(_flat("", json.loads(text)))
    return [line if "\t" in line else " ".join(line.split()) for line in text.splitlines()]


def _of_arrays(content: bytes) -> Iterator[str]:
    """Yield a line for each array of a safetensors file, and for what its header says of it."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    yield from _flat("", header)
    for name, about in header.items():
        if name != "__metadata__":
            first, last = (end + at for at in about["data_offsets"])
            yield from _flat(f"/{name}", np.frombuffer(content[first:last], "<f8").tolist())


def _flat(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(f"{path}/{key}", one)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for place, one in enumerate(value):
            yield from _flat(f"{path}/{place}", one)
    else:
        yield "\t".join([path, *map(_word, value if isinstance(value, list) else [value])])


def _word(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Difference:
    """Difference between a file and its earlier version."""

    line: int
    column: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.column}: {self.before} before, now {self.now}"


def differences(before: Lines, now: Lines, exactly: bool = False) -> Iterator[Difference]:
    """Find the differences that exceed the tolerance, or all of them if `exactly`."""
    titles, shown = {}, _digits(before)
    for number, (old, new) in enumerate(zip(before, now, strict=False), start=1):
        was, found = words(old), words(new)
        if len(was) != len(found):
            yield Difference(number, "as a whole", repr(old), repr(new))
            continue
        for k, (a, b) in enumerate(zip(was, found, strict=True)):
            title = _title(was, k, titles.setdefault(len(was), was))
            if a != b and (exactly or not _near(a, b, shown.get((len(was), k), 0), title)):
                yield Difference(number, title, a, b)
    if len(before) != len(now):
        yield Difference(min(len(before), len(now)) + 1, "number of lines", str(len(before)), str(len(now)))


def words(line: str) -> Sequence[str]:
    return line.split("\t") if "\t" in line else line.split(" ")


def _title(line: Sequence[str], k: int, first: Sequence[str]) -> str:
    """Return a word's name: its path in JSON, else its title in the first line with as many words."""
    return line[0].rpartition("/")[2] if line[0].startswith("/") else first[k]


def _digits(lines: Lines) -> dict[tuple[int, int], int]:
    """Count the digits of each column, by the number of words in a line and the column's place: the most that
    any number shows, as others end in 0. Columns without a decimal point are left out.
    """
    found: dict[tuple[int, int], int] = {}
    for line in map(words, lines):
        for k, word in enumerate(line):
            if (number := _NUMBER.fullmatch(word)) and not number[2].lstrip("-").isdigit():
                digits = len(number[2].partition("e")[0].lstrip("-0.").replace(".", ""))
                found[len(line), k] = max(digits, found.get((len(line), k), 0))
    return found


def _near(before: str, now: str, digits: int, title: str) -> bool:
    one, other = _NUMBER.fullmatch(before), _NUMBER.fullmatch(now)
    if not (one and other and digits) or (one[1], one[3]) != (other[1], other[3]):
        return False
    a, b = float(one[2]), float(other[2])
    largest = max(abs(a), abs(b))
    if largest < NOTHING:
        return True
    smaller = min(abs(a), abs(b)) or largest  # just below 1 a last digit is less than just above
    unit = 10.0 ** (math.floor(math.log10(smaller)) + 1 - digits)
    return abs(a - b) <= max(1.001 * unit, NEAR_IN.get(title, NEAR) * largest)
