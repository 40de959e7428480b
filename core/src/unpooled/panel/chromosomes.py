"""Chromosome codes, as plink1.9 reads and orders them (tried with v1.90b6.26).

With `a` autosomes (22, or what `--chr-set` says) the codes are 0 for unplaced, 1 … a, then X = a+1, Y = a+2,
XY = a+3 and MT = a+4. A number has at most two digits; `chr` may stand before anything, in any case; M is MT.
PAR1 and PAR2, into which plink2 splits the pseudo-autosomal XY, are XY, as in its own --output-chr 26.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HUMAN = 22
MOST_AUTOSOMES = 95

_NUMBER = re.compile(r"[0-9]{1,2}")
_LETTERS = ("X", "Y", "XY", "MT")
_SAME = {"M": "MT", "PAR1": "XY", "PAR2": "XY", "0X": "X", "0Y": "Y", "0M": "MT"}
"""Other names that PLINK 1.9 and 2 write: with --output-chr 0M, a zero before a single letter."""


def chromosome_code(word: str, autosomes: int = HUMAN) -> int | None:
    """The code of a chromosome as it is written, or None where both PLINKs refuse it."""
    name = word.upper().removeprefix("CHR")
    name = _SAME.get(name, name)
    if name in _LETTERS:
        return autosomes + 1 + _LETTERS.index(name)
    if _NUMBER.fullmatch(name) and int(name) <= autosomes + len(_LETTERS):
        return int(name)
    return None


def chromosome_name(code: int, autosomes: int = HUMAN) -> str:
    """Return the name that people use for a chromosome: "7", "X", "unplaced"."""
    if code == 0:
        return "unplaced"
    return str(code) if code <= autosomes else _LETTERS[code - autosomes - 1]


def chromosome_codes(words: Iterable[str], autosomes: int = HUMAN) -> frozenset[int]:
    """The codes of some chromosomes, and of ranges such as `1-4`, as --chr takes them.

    Raises ValueError, which names the word that is neither.
    """
    found: set[int] = set()
    for word in words:
        ends = [chromosome_code(end, autosomes) for end in word.split("-")]
        first, last = ends[0], ends[-1]
        if len(ends) > 2 or first is None or last is None or first > last:
            raise ValueError(f"got {word!r}; want chromosomes and ranges such as 1-4, 22 and X")
        found.update(range(first, last + 1))
    return frozenset(found)


def problem_of(words: Iterable[str], autosomes: int) -> str:
    """Say which word is neither a chromosome nor a range; empty if none is."""
    try:
        chromosome_codes(words, autosomes)
    except ValueError as error:
        return str(error)
    return ""
