"""Words as numbers whose sum over the cohorts that have them spells the word, and not how many have it.

    a cohort with the word    u, u·e₁, …, u·e₁₂, u·d  mod 2⁶⁴     u random, e the word by fours, d its digest
    the sum over cohorts      U, U·e₁, …              for U = Σu

Dividing by U gives the word again: U is uniform, so it tells nothing of how many cohorts were added up.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np

from unpooled.plan.categories import MISSING, REST

WORD_BYTES = 48
"""The longest word, in UTF-8."""
PIECE_BYTES = 4
PIECES = WORD_BYTES // PIECE_BYTES
NUMBERS = 1 + PIECES + 1
"""Numbers of each word: its factor, its pieces, its digest."""
_MOST_HALVINGS = 64 - 8 * PIECE_BYTES
"""A U that 2 divides more often leaves fewer bits than a piece has: for one word in four thousand million."""


def fits(word: str) -> bool:
    """Tell whether a word is short enough to be spelled."""
    return 0 < len(word.encode()) <= WORD_BYTES


def is_looked_for(word: str) -> bool:
    """Tell whether a word may be found: it can be spelled, and stands for nothing else in a dictionary."""
    return fits(word) and word not in (REST, MISSING)


def blinded(words: Sequence[str]) -> np.ndarray:
    """Return what a cohort adds for words that it has: uint64 (words, NUMBERS), drawn anew each time."""
    plain = np.ones((len(words), NUMBERS), np.uint64)
    for row, word in zip(plain, words, strict=True):
        row[1:] = np.frombuffer(_padded(word) + _digest(word.encode()), "<u4")
    factor = np.frombuffer(os.urandom(8 * len(words)), "<u8")
    return np.asarray(plain * factor[:, None])


def read(sums: np.ndarray) -> list[str | None]:
    """The words that sums over cohorts spell; None where they spell none.

    So it is where nobody added anything, or different words of the same code.
    """
    return [_read([int(number) for number in row]) for row in sums]


def _read(row: list[int]) -> str | None:
    factor = row[0]
    halvings = (factor & -factor).bit_length() - 1
    if not factor or halvings > _MOST_HALVINGS:
        return None
    modulus = 1 << (64 - halvings)
    inverse = pow(factor >> halvings, -1, modulus)
    pieces = [(number >> halvings) * inverse % modulus for number in row[1:]]
    if max(pieces) >> (8 * PIECE_BYTES):
        return None
    *content, digest = (piece.to_bytes(PIECE_BYTES, "little") for piece in pieces)
    word = b"".join(content).rstrip(b"\0")
    try:
        return word.decode() if word and _digest(word) == digest else None
    except UnicodeDecodeError:
        return None


def _padded(word: str) -> bytes:
    if not fits(word):
        raise ValueError(f"a word of {len(word.encode())} bytes; want 1 to {WORD_BYTES}")
    return word.encode().ljust(WORD_BYTES, b"\0")


def _digest(word: bytes) -> bytes:
    return hashlib.sha256(word).digest()[:PIECE_BYTES]
