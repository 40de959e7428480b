"""Which words the cohorts agree on, and the numbers that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unpooled.algorithms.tables.census import refuse_rare_columns
from unpooled.algorithms.tables.encoding.dictionary import find_words
from unpooled.algorithms.tables.encoding.questions import (
    AverageTargets,
    Codes,
    CountLevels,
    CountRows,
    FindTargetMagnitude,
    MeasureTargetSpread,
    Sift,
    SumTargets,
    floors,
    folds_of,
    no_codes,
    sizes_of,
    split,
)
from unpooled.algorithms.tables.encoding.rest import fold_rests
from unpooled.algorithms.tables.moments import find_moments
from unpooled.procedure import Asks, Rows, Study, procedure

ROWS, COLUMNS, LEVELS = "rows", "columns", "levels"
"""The result tables: of the pool, of each column with a dictionary, of each of its levels and the rest."""


@procedure("encode")
def encode(study: Study) -> Asks[None]:
    """Count words; keep those that enough people have; then report counts, and sums of targets."""
    folds, codes = folds_of(study.plan), no_codes(study.plan)
    sums = yield CountRows(sizes_of(study.plan), folds, codes)
    yield Rows(ROWS, {"index": np.zeros(1, np.int64), "rows": sums["rows"]})
    if not study.plan.dictionaries:
        return
    refuse_rare_columns(
        study.plan,
        [column.title for column in study.plan.dictionaries],
        np.add.reduceat(sums["known"], np.cumsum(folds) - folds, dtype=int),
        sums["enough"],
    )
    if study.plan.searched:
        codes = yield from find_words(study)
    about = sizes_of(study.plan, codes), folds, codes
    kept = yield from sift(study, about)
    kept = yield from fold_rests(study.plan, about, kept, sums["known"])
    counted = yield from count_levels(about, kept)
    yield from report(study, about, counted)


About: TypeAlias = tuple[np.ndarray, np.ndarray, Codes]
"""What all questions say of the columns: how many levels and folds each has, and which codes."""


def sift(study: Study, about: About, ask: type[Sift] = Sift) -> Asks[np.ndarray]:
    """Which of the levels are kept: bool (levels of all columns,).

    Those that enough people have, in enough cohorts; of a column with folds, in each fold. Nobody reads how
    many, and nothing else decides what is kept.
    """
    plan, (sizes, folds, _) = study.plan, about
    if not sizes.any():  # no word was found, and of none there is nothing to compare
        return np.zeros(0, bool)
    kept = (yield ask(*about, *floors(plan)))["kept"]
    return np.concatenate([part.all(axis=1) for part in split(kept, sizes, folds)])


@dataclass(frozen=True, eq=False)
class Counted:
    """The kept levels of all columns with their counts."""

    kept: np.ndarray
    """bool (levels of all columns,)"""
    rows: list[np.ndarray]
    """Of each column int64 (kept + 1, folds), the rest last."""


def count_levels(about: About, kept: np.ndarray) -> Asks[Counted]:
    """How many rows have each kept level."""
    question = CountLevels(*about, kept)
    rows = (yield question)["rows"]
    return Counted(kept, list(split(rows, question.lines, question.folds)))


def report(study: Study, about: About, counted: Counted) -> Asks[None]:
    """Report each column, each level and the rest; of columns encoded by a target with its sums."""
    plan, (sizes, folds, _) = study.plan, about
    by_target = np.array([bool(column.encoded.target) for column in plan.dictionaries])
    n = np.array([count.sum(dtype=int) for count in counted.rows], np.int64)
    moments, sums = np.zeros((len(n), 2)), [np.zeros((2, *count.shape)) for count in counted.rows]
    if by_target.any():
        mean, deviation = yield from find_moments(
            study, n[by_target], FindTargetMagnitude, AverageTargets, MeasureTargetSpread
        )
        moments[by_target] = np.column_stack([mean, deviation])
        centre = np.where(n[by_target] > 0, mean, 0.0)
        scale = np.where(deviation > 0, deviation, 1.0)  # NaN without values, and 0 of a constant, are 1
        question = SumTargets(*about, counted.kept, by_target, centre, scale, int(n.max()), plan.cohorts)
        found = yield question
        lines, within = question.lines[by_target], folds[by_target]
        both = (split(found[name], lines, within) for name in ("sums", "squares"))
        for k, pair in zip(np.flatnonzero(by_target), zip(*both, strict=True), strict=True):
            if len(pair[0]):
                sums[k] = np.stack(pair)
    index = np.arange(len(n))
    yield Rows(COLUMNS, {"index": index, "known": n, "mean": moments[:, 0], "deviation": moments[:, 1]})
    yield Rows(LEVELS, levels_table(sizes, folds, counted, sums))


def levels_table(
    sizes: np.ndarray, folds: np.ndarray, counted: Counted, sums: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """The table `LEVELS`: a row for each level of each column, then one for its rest; fold by fold."""
    widest = int(folds.max())
    kept = np.split(counted.kept, np.cumsum(sizes)[:-1])
    total = int((sizes + 1).sum(dtype=int))
    table = {
        "index": np.arange(total),
        "column": np.repeat(np.arange(len(sizes)), sizes + 1),
        "kept": np.zeros(total, bool),
        "rows": np.zeros((total, widest), np.int64),
        "sums": np.zeros((total, widest)),
        "squares": np.zeros((total, widest)),
    }
    first = 0
    for k, size in enumerate(sizes.tolist()):
        places = first + np.append(np.flatnonzero(kept[k]), size)
        table["kept"][places[:-1]] = True
        fold = counted.rows[k].shape[1]
        table["rows"][places, :fold] = counted.rows[k]
        table["sums"][places, :fold], table["squares"][places, :fold] = sums[k]
        first += size + 1
    return table
