"""Procedures that find the words to encode and the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.methods.tables.census import refuse_rare_columns
from unpooled.methods.tables.encoding import questions
from unpooled.methods.tables.encoding.dictionary import find_words
from unpooled.methods.tables.encoding.rest import fold_rests
from unpooled.methods.tables.moments import find_moments

ROWS, COLUMNS, LEVELS, TARGETS = "rows", "columns", "levels", "targets"
"""The result tables: of the pool, of each column with a dictionary, of each of its levels and the rest; and
the sums of the targets of these, where a column is encoded by one."""


@procedure("encode")
def encode(study: Study) -> Asks[None]:
    """Count words; keep those that enough people have; then report counts, and sums of targets."""
    folds, codes = questions.folds_of(study.plan), questions.no_codes(study.plan)
    sums = yield questions.CountRows(study.plan, codes)
    yield Rows(ROWS, {"index": np.zeros(1, np.int64), "rows": sums["rows"]})
    if not study.plan.dictionaries:
        return
    known = np.add.reduceat(sums["known"], np.cumsum(folds) - folds, dtype=int)
    titles = [column.title for column in study.plan.dictionaries]
    refuse_rare_columns(study.plan, titles, known, sums["enough"])
    if study.plan.searched:
        codes = yield from find_words(study)
    kept = yield from sift(study, codes)
    kept = yield from fold_rests(study.plan, codes, kept, sums["known"])
    yield Finish(report_levels(study, codes, kept))
    yield from report_columns(study, codes, kept, known)


def sift(
    study: Study, codes: questions.Codes, ask: type[questions.Sift] = questions.Sift
) -> Asks[np.ndarray]:
    """Find which levels are kept: bool (levels of all columns,).

    A level is kept if enough people in enough cohorts have it, in each fold where its column has folds.
    Nobody reads how many, and nothing else decides what is kept.
    """
    asked = ask(study.plan, codes)
    if not asked.sizes.any():  # no word was found, and of none there is nothing to compare
        return np.zeros(0, bool)
    kept = (yield asked)["kept"]
    return np.concatenate([part.all(axis=1) for part in questions.split(kept, asked.sizes, asked.folds)])


@procedure("encode/levels")
def report_levels(study: Study, codes: questions.Codes, kept: np.ndarray) -> Asks[None]:
    """Report how many rows have each kept level, and the rest."""
    question = questions.CountLevels(study.plan, codes, kept)
    rows = (yield question)["rows"]
    counts = list(questions.split(rows, question.lines, question.folds))
    yield Rows(LEVELS, levels_table(question.sizes, question.folds, kept, {"rows": counts}))


def report_columns(study: Study, codes: questions.Codes, kept: np.ndarray, n: np.ndarray) -> Asks[None]:
    """Report each column, of `n` words, int64 (d,); of columns encoded by a target with its sums."""
    by_target = questions.are_by_target(study.plan)
    moments = np.zeros((len(n), 2))
    if by_target.any():
        mean, deviation = yield from find_moments(
            study,
            n[by_target],
            questions.FindTargetMagnitude,
            questions.AverageTargets,
            questions.MeasureTargetSpread,
        )
        moments[by_target] = np.column_stack([mean, deviation])
        centre = np.where(n[by_target] > 0, mean, 0.0)
        scale = np.where(deviation > 0, deviation, 1.0)  # NaN without values, and 0 of a constant, are 1
        question = questions.SumTargets(study.plan, codes, kept, centre, scale, int(n.max()))
        yield Finish(report_targets(study, question))
    index = np.arange(len(n))
    yield Rows(COLUMNS, {"index": index, "known": n, "mean": moments[:, 0], "deviation": moments[:, 1]})


@procedure("encode/targets")
def report_targets(study: Study, question: questions.SumTargets) -> Asks[None]:
    """Report the sums of the targets of each kept level, and the rest."""
    found, by_target, folds = (yield question), question.by_target, question.folds
    cells = {}
    for name in ("sums", "squares"):
        parts = [np.zeros((line, fold)) for line, fold in zip(question.all_lines, folds, strict=True)]
        of_targets = questions.split(found[name], question.lines[by_target], folds[by_target])
        for k, part in zip(np.flatnonzero(by_target).tolist(), of_targets, strict=True):
            if len(part):
                parts[k] = part
        cells[name] = parts
    yield Rows(TARGETS, levels_table(question.sizes, folds, question.kept, cells))


def levels_table(
    sizes: np.ndarray, folds: np.ndarray, kept: np.ndarray, cells: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, np.ndarray]:
    """A row for each level of each column, then one for its rest, with `cells` fold by fold.

    These are, by name and of each column, (kept + 1, folds); of a level that is not kept they are 0.
    """
    widest, total = int(folds.max()), int((sizes + 1).sum(dtype=int))
    table = {
        "index": np.arange(total),
        "column": np.repeat(np.arange(len(sizes)), sizes + 1),
        "kept": np.zeros(total, bool),
    }
    table |= {name: np.zeros((total, widest), of[0].dtype) for name, of in cells.items()}
    first = 0
    for k, (size, own) in enumerate(zip(sizes.tolist(), np.split(kept, np.cumsum(sizes)[:-1]), strict=True)):
        places = first + np.append(np.flatnonzero(own), size)
        table["kept"][places[:-1]] = True
        for name, of in cells.items():
            table[name][places, : of[k].shape[1]] = of[k]
        first += size + 1
    return table
