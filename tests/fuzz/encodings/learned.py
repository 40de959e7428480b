"""Encodings that scikit-learn learns from the pooled table, its rare words replaced by one."""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from unpooled.methods.tables.encoding.options import FOLDS, MISSING_WORDS, SMOOTH
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

from .truth import REST, Dictionary, Rows, keys

NOTHING = ""
"""Stands for a word that is missing and stays so: no value is called this."""


def titles(column: Column, of: Dictionary | None) -> list[str]:
    """The columns that a column becomes."""
    if of is None:
        return [f"{column.title}#{k}" for k in range(column.encoded.columns)]
    return (
        [f"{column.title}={value}" for value in (*of.values, REST)]
        if column.encoding == "one-hot"
        else [column.title]
    )


def cells(plan: Plan, column: Column, rows: Rows, of: Dictionary | None, by_fold: bool = False) -> np.ndarray:
    """A column of the pool, encoded: float64 (rows, columns that it becomes).

    With `by_fold` as the cohorts' own tables have it: each row by the targets of the other folds.
    """
    if of is None:
        return _hashed(column, rows.words)
    places = [of.place(key) for key in keys(rows, MISSING_WORDS.of(plan))]
    names = [*of.keys, REST, NOTHING]
    words = np.array([[names[-1 if place is None else place]] for place in places], object)
    categories, stays = [np.array(names[:-1], object)], words[:, 0] == NOTHING
    if column.encoding == "one-hot":
        encoder = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
        return np.asarray(encoder.fit(categories[0][:, None]).transform(words))
    if column.encoding == "ordinal":
        ordinal = OrdinalEncoder(
            categories=categories, handle_unknown="use_encoded_value", unknown_value=np.nan
        )
        return np.asarray(ordinal.fit(categories[0][:, None]).transform(words))
    if column.encoding == "frequency":
        known = words[~stays]
        shares = np.array(
            [
                np.mean(known == word) if not lacks else np.nan
                for word, lacks in zip(words, stays, strict=True)
            ]
        )
    else:
        shares = _by_target(plan, rows, words, categories, stays, by_fold)
    shares[stays] = np.nan
    return shares[:, None]


def _by_target(
    plan: Plan, rows: Rows, words: np.ndarray, categories: list[np.ndarray], stays: np.ndarray, by_fold: bool
) -> np.ndarray:
    """The number for each row's word: by all rows that count, or by those of other folds."""
    counts, made = ~stays & ~np.isnan(rows.targets), np.full(len(words), np.nan)
    if not counts.any():
        return made
    power = int(np.frexp(np.abs(rows.targets[counts]).max())[1])  # about 1, they do not overflow
    smooth = SMOOTH.of(plan) if SMOOTH.of(plan) == "auto" else float(SMOOTH.of(plan))
    # Of the rest alone no sums are asked: then each fold has the mean of all.
    parts = np.unique(rows.folds) if by_fold and FOLDS.of(plan) > 1 and len(categories[0]) > 1 else [-1]
    for fold in parts:
        left, out = counts & (rows.folds != fold), (rows.folds == fold) | (fold < 0)
        encoder = TargetEncoder(categories=categories, target_type="continuous", smooth=smooth)
        encoder.fit(words[left], np.ldexp(rows.targets[left], -power))
        out &= ~stays
        if out.any():
            made[out] = np.ldexp(encoder.transform(words[out])[:, 0], power)
    return made


def _hashed(column: Column, words: list[str]) -> np.ndarray:
    """The same wherever it is computed; nothing of a missing word."""
    width, known = column.encoded.columns, np.array([bool(word) for word in words])
    made = np.zeros((len(words), width))
    some = [word for word in words if word]
    if some and column.encoded.kind == "hash":
        made[known] = FeatureHasher(width, input_type="string").transform([[word] for word in some]).toarray()
    elif some:
        grams = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=width)
        made[known] = grams.transform(some).toarray()
    return made
