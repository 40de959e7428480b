"""A cohort's words as the plan reads them: which level each is, the targets beside them, and folds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from unpooled.asking.blinded_words import is_looked_for
from unpooled.asking.cohort import Categories
from unpooled.methods.tables.encoding.options import (
    FOLDS,
    IGNORE_CASE,
    MISSING_IN_REST,
    MISSING_IS_VALUE,
    MISSING_WORDS,
)
from unpooled.plan.categories import MISSING, Words, normal
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column
from unpooled.protocol.masking import keystream

_INFO = b"unpooled/folds/1"


def categories_of(words: Mapping[str, Words], values: np.ndarray, plan: Plan) -> Categories:
    """The columns with a dictionary.

    `words` are by title; `values`, float64 (n, features), the plan's features.
    """
    places = {feature.title: place for place, feature in enumerate(plan.features)}
    levels = np.empty((len(values), len(plan.dictionaries)), np.int64, order="F")
    targets, searched = [], {}
    for k, column in enumerate(plan.dictionaries):
        if k in plan.searched:
            levels[:, k], searched[k] = _own_words(words[column.title], plan)
        else:
            levels[:, k] = _levels_of(words[column.title], column, plan)
        if column.encoded.target:
            target = values[:, places[column.encoded.target]]
            levels[np.isnan(target), k] = -1
            targets.append(np.where(levels[:, k] >= 0, target, np.nan))
    found = np.column_stack(targets) if targets else np.zeros((len(values), 0))
    return Categories(levels, found, _folds(levels, found, plan), searched)


def level_places(column: Column, plan: Plan) -> dict[str, int]:
    """The place of each level, by its form in comparisons; that of a missing word if it is a level, too."""
    levels = [normal(level, ignore_case=IGNORE_CASE.of(plan)) for level in column.levels]
    more = [MISSING] if MISSING_WORDS.of(plan) == MISSING_IS_VALUE else []
    return {level: place for place, level in enumerate([*levels, *more])}


def _levels_of(words: Words, column: Column, plan: Plan) -> np.ndarray:
    """Return the level of each row: the number of levels for other words, -1 for one that counts nowhere."""
    place = level_places(column, plan)
    missing = {MISSING_IN_REST: len(place), MISSING_IS_VALUE: len(place) - 1}.get(MISSING_WORDS.of(plan), -1)
    known = [normal(word, ignore_case=IGNORE_CASE.of(plan)) for word in words.values]
    return words.taken([place.get(word, len(place)) if word else missing for word in known], missing)


def _own_words(words: Words, plan: Plan) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return each row's place among the different words of this table, and these words, as they are compared.

    A word that is not looked for is of the rest; but `(missing)` is a missing one, where that is a level.
    """
    known = [normal(word, ignore_case=IGNORE_CASE.of(plan)) for word in words.values]
    own = tuple(sorted({word for word in known if is_looked_for(word)}))
    place = {word: k for k, word in enumerate(own)}
    missing = {MISSING_IN_REST: len(own), MISSING_IS_VALUE: len(own) + 1}.get(MISSING_WORDS.of(plan), -1)
    if MISSING_WORDS.of(plan) == MISSING_IS_VALUE:
        place[MISSING] = missing
    return words.taken([place.get(word, len(own)) if word else missing for word in known], missing), own


def _folds(levels: np.ndarray, targets: np.ndarray, plan: Plan) -> np.ndarray:
    """The fold of each row, int64 (n,): as many rows in each, drawn by what the table holds and the plan.

    The draw can be made again wherever the table is read, so that nothing is kept between the rounds of a
    study and the table that is written at its end.
    """
    rows = len(levels)
    if FOLDS.of(plan) < 2:
        return np.zeros(rows, np.int64)
    # The plan alone would do for chance; with the table's content nobody else can tell a row's fold.
    content = hashlib.sha256(_INFO + plan.chance + levels.tobytes("C") + targets.tobytes("C")).digest()
    folds = np.empty(rows, np.int64)
    folds[np.argsort(drawn(content, rows), kind="stable")] = np.arange(rows) % FOLDS.of(plan)
    return folds


def drawn(key: bytes, rows: int) -> np.ndarray:
    """Draw a number for each row from the stream of a key: uint64 (rows,)."""
    return np.frombuffer(keystream(key).update(bytes(8 * rows)), "<u8")
