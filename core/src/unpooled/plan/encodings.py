"""The encodings of columns, each as a schema names it: of words `one-hot`, `target:died`, `hash:64`, …; of
numbers their scalings.
"""

from __future__ import annotations

from dataclasses import dataclass

ONE_HOT, ORDINAL, FREQUENCY = "one-hot", "ordinal", "frequency"
TARGET, HASH, NGRAMS = "target", "hash", "ngrams"
KINDS = (ONE_HOT, ORDINAL, FREQUENCY, TARGET, HASH, NGRAMS)
LOCAL = (HASH, NGRAMS)
"""Encodings that each cohort computes by itself: nothing is asked for them."""
MOST_COLUMNS = 4096
"""Largest number of columns that a word is hashed to."""

Z_SCORE, ROBUST, LOG, LOG1P, YEO_JOHNSON = "z-score", "robust", "log", "log1p", "yeo-johnson"
OF_NUMBERS = (Z_SCORE, ROBUST, LOG, LOG1P, YEO_JOHNSON)
"""Encodings of a column of numbers in a model: the unit in which its coefficient is penalised, or a function
that it is replaced by first."""
ABOVE = {LOG: 0.0, LOG1P: -1.0}
"""The bound that all values of a column must be above."""

WANTED = f"one-hot, ordinal, frequency, target:COLUMN, hash:D or ngrams:D, with D from 1 to {MOST_COLUMNS:,}"


@dataclass(frozen=True)
class Encoding:
    """An encoding with its argument."""

    kind: str
    target: str = ""
    """The column whose mean stands for a word, for `target`."""
    columns: int = 1
    """Number of columns that the words go to, for `hash` and `ngrams`."""

    @property
    def has_dictionary(self) -> bool:
        """True if the cohorts agree on a dictionary of words for it."""
        return self.kind not in LOCAL


def read(text: str) -> Encoding:
    """The encoding that a text names; ValueError if it names none."""
    kind, colon, argument = text.partition(":")
    if kind == TARGET and argument:
        return Encoding(kind, target=argument)
    if kind in LOCAL and argument.isascii() and argument.isdecimal() and 0 < int(argument) <= MOST_COLUMNS:
        return Encoding(kind, columns=int(argument))
    if kind in (ONE_HOT, ORDINAL, FREQUENCY) and not colon:
        return Encoding(kind)
    raise ValueError(f"want the encoding {WANTED}; not {text or 'none'}")
