"""The dictionary of a pooled column, and the numbers for its words: plain counting, and rational numbers."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from unpooled.methods.tables.encoding import options
from unpooled.methods.tables.encoding.options import HOLDERS, IGNORE_CASE, PEOPLE
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

REST, MISSING = "(rest)", "(missing)"
MISSING_WORDS = ("NA", "N/A", "NaN", "nan", "null")
LONGEST_FOUND = 48
"""Bytes of a word that can be found; of one in a plan, letters are counted."""
LONGEST_LISTED = 200


def form(word: str, ignore_case: bool) -> str:
    """Return the form in which two words are compared: true equals True, and 1 equals 1.0."""
    found = unicodedata.normalize("NFC", word).strip()
    number, point, zeros = found.partition(".")
    if point and zeros and not zeros.strip("0") and number.lstrip("+-").isdecimal() and number.isascii():
        return number
    if found.lower() in ("true", "false"):
        return found.lower()
    return unicodedata.normalize("NFC", found.casefold()) if ignore_case else found


def is_name(word: str) -> bool:
    """Tell whether a plan may list such a word."""
    return word not in (REST, MISSING) and len(word) <= LONGEST_LISTED


def is_missing(cell: str | None) -> bool:
    return cell is None or not cell.strip() or cell.strip() in MISSING_WORDS


@dataclass(frozen=True, eq=False)
class Rows:
    """A column of words over all cohorts, row by row."""

    words: list[str]
    """Words in the form in which they are compared; empty where one is missing."""
    cohorts: np.ndarray
    folds: np.ndarray
    targets: np.ndarray
    """NaN where it is missing; 0 throughout, if the column is encoded by none."""


@dataclass(frozen=True)
class Dictionary:
    """The values that stand for themselves."""

    values: tuple[str, ...]
    """Values as the study names them."""
    keys: tuple[str, ...]
    """The same in the form in which words are compared."""
    counts: tuple[int, ...]
    rest: int
    folded: frozenset[str]

    @property
    def known(self) -> int:
        """Number of rows that count."""
        return sum(self.counts) + self.rest

    def place(self, key: str | None) -> int | None:
        """Return the place of a row's value, or of the rest after the values; None if it does not count."""
        if key is None:
            return None
        return self.keys.index(key) if key in self.keys else len(self.keys)


def keys(rows: Rows, missing_words: str) -> list[str | None]:
    """Return what each row counts as: a word, `(missing)` or `(rest)`; None if it does not count."""
    if_missing = {"missing": None, "rest": REST, "value": MISSING}[missing_words]
    return [word or if_missing for word in rows.words]


def counted(rows: Rows, missing_words: str) -> list[tuple[str, int, int]]:
    """Return key, fold and cohort of each row that counts."""
    found = zip(
        keys(rows, missing_words), rows.targets, rows.folds.tolist(), rows.cohorts.tolist(), strict=True
    )
    return [(key, fold, cohort) for key, y, fold, cohort in found if key is not None and not np.isnan(y)]


def refusal(plan: Plan, column: Column, rows: Rows) -> str:
    """Why no study can be made of a column, or nothing."""
    levels = {form(each, IGNORE_CASE.of(plan)) for each in column.levels}
    for cohort in range(plan.cohorts):
        here = {word for word, of in zip(rows.words, rows.cohorts, strict=True) if word and of == cohort}
        if levels and here and here.isdisjoint(levels):
            return "no value"
        if column.most and sum(_can_be_found(word) for word in here) > column.most:
            return "different words"
    known = Counter(cohort for *_, cohort in counted(rows, options.MISSING_WORDS.of(plan)))
    return "fewer than 3 cohorts" if known and sum(n >= 10 for n in known.values()) < 3 else ""


def dictionary(plan: Plan, column: Column, rows: Rows, name: Callable[[str], str]) -> Dictionary:
    """Return the dictionary that a study finds of a column. `name` returns the name of a word that is
    searched for.
    """
    every, folds = counted(rows, options.MISSING_WORDS.of(plan)), max(1, int(rows.folds.max()) + 1)
    listed = {form(level, IGNORE_CASE.of(plan)): level for level in column.levels}
    if column.most:
        passing = {key for key, _, _ in every if _can_be_found(key) and _passes(plan, every, {key}, [None])}
        listed = {key: name(key) for key in sorted(passing, key=name)}
    if options.MISSING_WORDS.of(plan) == "value":
        listed[MISSING] = MISSING
    within: Sequence[int | None] = range(folds) if folds > 1 else [None]
    kept = [key for key in listed if _passes(plan, every, {key}, within)]
    others = {key for key, _, _ in every} - set(kept)
    counts = Counter(key for key, _, _ in every)
    below = [fold for fold in within if not _passes(plan, every, others, [fold], or_nobody=True)]
    for key in _folded_in(plan, every, kept, others, below):
        kept.remove(key)
    return Dictionary(
        tuple(listed[key] for key in kept),
        tuple(kept),
        tuple(counts[key] for key in kept),
        len(every) - sum(counts[key] for key in kept),
        frozenset(listed[key] for key in listed if key not in kept),
    )


def _folded_in(
    plan: Plan,
    every: Sequence[tuple[str, int, int]],
    kept: Sequence[str],
    others: set[str],
    below: Sequence[int | None],
) -> list[str]:
    """The kept values that hide a rest: in the folds in which it is `below` a floor.

    The rarest first, to a factor of two and of several the last, until what they are with the rest leaves
    half of what the rest can be.
    """

    def rows(of: Iterable[str], fold: int | None) -> int:
        return sum(key in of and fold in (None, at) for key, at, _ in every)

    def about(key: str, fold: int | None) -> int:
        least = PEOPLE.of(plan)
        while 2 * least <= rows([key], fold):
            least *= 2
        return least

    if not below:
        return []
    folds = [None] if None in below else sorted({fold for _, fold, _ in every})
    rarest = sorted(kept, key=lambda key: (sum(about(key, fold) for fold in folds), -kept.index(key)))
    half = PEOPLE.of(plan) // 2
    for more in range(1, len(rarest)):
        added = rarest[:more]
        for fold in below:
            least = sum(about(key, fold) for key in added)
            if not half <= rows({*added, *others}, fold) - least <= least - more + PEOPLE.of(plan) - half:
                break
        else:
            return added
    return rarest


def _can_be_found(word: str) -> bool:
    return is_name(word) and len(word.encode()) <= LONGEST_FOUND


def _passes(
    plan: Plan,
    every: Sequence[tuple[str, int, int]],
    of: set[str],
    folds: Iterable[int | None],
    or_nobody: bool = False,
) -> bool:
    """Tell whether enough people in enough cohorts have one of these words, in each fold; None means all."""
    for fold in folds:
        held = [cohort for key, at, cohort in every if key in of and fold in (None, at)]
        if or_nobody and not held:
            continue
        if len(held) < PEOPLE.of(plan) or len(set(held)) < HOLDERS.of(plan):
            return False
    return True


def smoothed(smooth: str, targets: Sequence[Sequence[Fraction]]) -> tuple[Fraction, list[Fraction]]:
    """The mean of all, and the number for each value, whose targets are given. There is at least one."""
    every = [y for of in targets for y in of]
    mean = sum(every, Fraction()) / len(every)
    variance = sum(((y - mean) ** 2 for y in every), Fraction()) / len(every)
    return mean, [mean + _drawn(smooth, [y - mean for y in of], variance) for of in targets]


def _drawn(smooth: str, offsets: Sequence[Fraction], variance: Fraction) -> Fraction:
    """Return a value's number less the mean of all, given its targets' offsets from that mean."""
    n, total = len(offsets), sum(offsets, Fraction())
    if not n or not total:
        return Fraction()
    if smooth != "auto":
        return total / (n + Fraction(smooth))
    own = sum((z * z for z in offsets), Fraction()) - total * total / n
    return variance * n / (variance * n + own / n) * total / n
