"""Names of variants in a study that matches them by place: such as 1:12345:A:G.

Such names are worked out where they are read: stored, they would take more room than all else of a list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unpooled.kernels.compiled import compiled
from unpooled.panel.chromosomes import chromosome_name

BY_PLACE = "Match variants by place"
"""Label of the option under which a study finds variants by place."""

LONG_ALLELE = 20

_DIGITS = len(b"-2147483648")
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Words:
    """The words that the names of a list are made of: 256 chromosomes, then the alleles."""

    text: NDArray[np.uint8]
    end: NDArray[np.int64]
    """(256 + alleles,): where each word ends, and the next one begins."""
    width: int
    """Bytes of the longest name that they can make."""

    @classmethod
    def of(cls, alleles: Sequence[bytes], autosomes: int) -> Words:
        """A chromosome beyond all others is empty. Of an allele longer than LONG_ALLELE the digest stands
        there, so that one of them does not make all names wide."""
        codes = [b"0", *(chromosome_name(code, autosomes).encode() for code in range(1, autosomes + 5))]
        codes += [b""] * (256 - len(codes))
        short = [_short(allele) for allele in alleles]
        words = [*codes, *short]
        width = max(map(len, codes)) + _DIGITS + 2 * max(map(len, short), default=0) + 3
        end = np.cumsum([len(word) for word in words], dtype=np.int64)
        return cls(np.frombuffer(b"".join(words), np.uint8), end, width)


class NamesByPlace:
    """Stands for the array of the names of m variants, dtype S: those asked for are made.

    Chromosome, position and both alleles in alphabetical order; `first` and `second` are places of alleles
    among the words, sorted.
    """

    def __init__(
        self,
        words: Words,
        chromosome: np.ndarray,
        position: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
    ) -> None:
        self._words, self._columns = words, (chromosome, position, first, second)
        self.dtype = np.dtype(f"S{words.width}")

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, index: int | slice | np.ndarray) -> np.ndarray:
        chromosome, position, first, second = (np.atleast_1d(column[index]) for column in self._columns)
        out = np.zeros((len(position), self._words.width), np.uint8)
        codes = (chromosome.astype(np.int64), first.astype(np.int64), second.astype(np.int64))
        _fill(self._words.text, self._words.end, codes[0], position.astype(np.int64), *codes[1:], out)
        names = out.reshape(-1).view(self.dtype)
        return names if isinstance(index, slice) or np.ndim(index) else names[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:  # NumPy's
        names = self[:]
        return names if dtype is None else names.astype(dtype)

    def __eq__(self, other: object) -> np.ndarray:  # type: ignore[override]  # as an array: one by one
        """Compare with one name, or with an array of names one by one: bool (m,)."""
        those = np.broadcast_to(np.asarray(other), len(self))
        parts = [slice(start, start + _BLOCK_ROWS) for start in range(0, len(self), _BLOCK_ROWS)]
        return np.concatenate([np.zeros(0, bool), *(self[part] == those[part] for part in parts)])

    __hash__ = None  # type: ignore[assignment]

    def tolist(self) -> list[bytes]:
        names: list[bytes] = self[:].tolist()
        return names


def _short(allele: bytes) -> bytes:
    return allele if len(allele) <= LONG_ALLELE else hashlib.sha256(allele).hexdigest()[:LONG_ALLELE].encode()


@compiled
def _fill(text, end, chromosome, position, first, second, out):  # type: ignore[no-untyped-def]
    for k in range(len(position)):
        at = _copy(text, end, chromosome[k], out[k], 0)
        out[k, at] = 58  # :
        at = _number(position[k], out[k], at + 1)
        out[k, at] = 58
        at = _copy(text, end, 256 + first[k], out[k], at + 1)
        out[k, at] = 58
        _copy(text, end, 256 + second[k], out[k], at + 1)


@compiled
def _copy(text, end, word, row, at):  # type: ignore[no-untyped-def]
    """Write a word from `at`; where it ends."""
    for i in range(end[word - 1] if word else 0, end[word]):
        row[at] = text[i]
        at += 1
    return at


@compiled
def _number(value, row, at):  # type: ignore[no-untyped-def]
    """Write a whole number in decimal from `at`; where it ends."""
    if value < 0:
        row[at] = 45  # -
        at, value = at + 1, -value
    digits, rest = 1, value // 10
    while rest:
        digits, rest = digits + 1, rest // 10
    for i in range(at + digits - 1, at - 1, -1):
        row[i] = 48 + value % 10
        value //= 10
    return at + digits
