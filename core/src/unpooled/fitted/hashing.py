"""Words as points of a space of D columns, by hashing: without a dictionary, and so without a question.

Column and sign follow from MurmurHash3 as scikit-learn's FeatureHasher and HashingVectorizer take it: column
|h| mod D, and the sign of h, a signed number of 32 bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

SHORTEST, LONGEST = 3, 5
"""Letters of an n-gram, the marks of a word's ends counted."""

_MASK = 0xFFFF_FFFF
_BLANKS = re.compile(r"\s\s+")


def murmur3(data: bytes) -> int:
    """MurmurHash3_x86_32 of some bytes with seed 0, as a signed number (Appleby 2011, public domain)."""
    h, whole = 0, len(data) // 4 * 4
    for at in range(0, whole, 4):
        h = _rotated(h ^ _mixed(int.from_bytes(data[at : at + 4], "little")), 13)
        h = (h * 5 + 0xE654_6B64) & _MASK
    if data[whole:]:
        h ^= _mixed(int.from_bytes(data[whole:], "little"))
    # The finalizer, which spreads each bit over all 32.
    h ^= len(data)
    h = ((h ^ (h >> 16)) * 0x85EB_CA6B) & _MASK
    h = ((h ^ (h >> 13)) * 0xC2B2_AE35) & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _mixed(word: int) -> int:
    return (_rotated((word * 0xCC9E_2D51) & _MASK, 15) * 0x1B87_3593) & _MASK


def _rotated(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK


def hashed(word: str, columns: int) -> dict[int, float]:
    """The column of a word, with its sign: as FeatureHasher(columns, input_type="string") has it."""
    return _counted([word], columns)


def ngrams(word: str, columns: int) -> dict[int, float]:
    """The n-grams of a word in their columns, of length 1 together: words that are spelled alike lie near.

    As HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=columns) has it.
    """
    found = _counted(_ngrams(word), columns)
    length = math.sqrt(sum(number * number for number in found.values()))
    return {column: number / length for column, number in found.items() if number}


def _ngrams(text: str) -> Iterator[str]:
    for word in _BLANKS.sub(" ", text.lower()).split():
        marked = f" {word} "
        for length in range(SHORTEST, LONGEST + 1):
            yield marked[:length]
            if length >= len(marked):  # a short word counts once
                break
            yield from (marked[at : at + length] for at in range(1, len(marked) - length + 1))


def _counted(tokens: Iterable[str], columns: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for token in tokens:
        h = murmur3(token.encode())
        found[abs(h) % columns] = found.get(abs(h) % columns, 0.0) + (1.0 if h >= 0 else -1.0)
    return found
