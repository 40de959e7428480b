"""A cohort's table as a study of models sees it: the rows that count, their outcomes, people and folds."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace

import numpy as np

from unpooled.asking.cohort import ArrayTable, Table
from unpooled.errors import DataProblem, ProtocolError
from unpooled.fitted.curves import transformed
from unpooled.methods.learning.options import COMPLETE, MISSING_CELLS, VALIDATION_FOLDS
from unpooled.methods.tables.bends import Bends, bent
from unpooled.methods.tables.encoding.options import IGNORE_CASE, MISSING_STAYS, MISSING_WORDS
from unpooled.methods.tables.encoding.reading import categories_of, drawn
from unpooled.plan.categories import normal
from unpooled.plan.encodings import ABOVE
from unpooled.plan.plan import Plan

_INFO = b"unpooled/validation-folds/1"


@dataclass(frozen=True, eq=False, kw_only=True)
class Examples(ArrayTable):
    """The n rows of a table that count."""

    classes: np.ndarray
    """int64 (n,): the place of each row's class among those of the plan; 0 where the outcome is a number."""
    patients: np.ndarray | None
    """int64 (n,): whose row it is, by a number that means nothing outside of this table; None if each row is
    a person of its own."""
    folds: np.ndarray
    """int64 (n,): the fold of each row, from 0. All rows of a patient are in one."""


def examples_of(table: ArrayTable, plan: Plan) -> Examples:
    """The rows of a table whose outcome is known, and whose features are where the plan asks for that."""
    coded = categories_of(table.words, table.values, plan)
    classes, patients = _classes(table, plan), _patients(table, plan)
    folds = _folds(table, plan, classes, patients)
    kept, values = classes >= 0, _logarithms(table.values, plan)
    if MISSING_CELLS.of(plan) == COMPLETE:
        kept &= ~np.isnan(table.values).any(axis=1)
        if MISSING_WORDS.of(plan) == MISSING_STAYS:
            kept &= (coded.levels >= 0).all(axis=1)
    return Examples(
        values[kept],
        images=None if table.images is None else table.images if kept.all() else table.images[kept],
        coded=replace(coded, levels=coded.levels[kept], targets=coded.targets[kept], folds=folds[kept]),
        classes=classes[kept],
        patients=None if patients is None else patients[kept],
        folds=folds[kept],
    )


def _logarithms(values: np.ndarray, plan: Plan) -> np.ndarray:
    """The features with the logarithm in place of each whose column says so; DataProblem if it has none."""
    logs = [(k, column) for k, column in enumerate(plan.features) if column.scaling in ABOVE]
    found = values.copy() if logs else values
    for k, column in logs:
        try:
            found[:, k] = transformed(values[:, k], {"method": column.scaling})
        except ValueError as error:
            raise DataProblem(f"{column.title}: {error}", remedy="Choose another scaling.") from error
    return found


def examples(table: Table, bends: Bends | None = None) -> Examples:
    """The table of a study of models, with some columns transformed; ProtocolError for another table."""
    if not isinstance(table, Examples):
        raise ProtocolError("the question is about outcomes, and this cohort's table was read without them")
    return table if bends is None else replace(table, values=bent(table, bends))


def people_in(cells: np.ndarray, patients: np.ndarray | None, size: int) -> np.ndarray:
    """Count the different patients in each cell, from the cell and the patient of each row: int64 (size,).

    Without patients each row is a person of its own.
    """
    if patients is None or not len(cells):
        return np.asarray(np.bincount(cells, minlength=size))
    # One number for each pair, which sorts faster than pairs do.
    pairs = np.unique(cells * (patients.max() + 1) + patients)
    return np.asarray(np.bincount(pairs // (patients.max() + 1), minlength=size))


def of_rows(patients: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if patients is None else patients[rows]


def outcome_place(plan: Plan) -> int | None:
    """Find the place of the outcome among the plan's features; None if it has classes."""
    return next((place for place, column in enumerate(plan.features) if column.is_outcome), None)


def class_names(plan: Plan) -> tuple[str, ...]:
    """The classes of the outcome; none if it is a number."""
    return plan.outcome.levels if plan.outcome is not None and plan.outcome.has_classes else ()


def _classes(table: ArrayTable, plan: Plan) -> np.ndarray:
    """The class of each row, 0 of a number; -1 where it is not known: int64 (n,)."""
    place = outcome_place(plan)
    if place is not None:
        return np.asarray(np.where(np.isnan(table.values[:, place]), -1, 0))
    if plan.outcome is None:
        raise AssertionError("a plan without an outcome")
    words = table.words[plan.outcome.title]
    places = {normal(level, ignore_case=IGNORE_CASE.of(plan)): k for k, level in enumerate(class_names(plan))}
    known = [places.get(normal(word, ignore_case=IGNORE_CASE.of(plan)), -1) for word in words.values]
    return words.taken(known, -1)


def _patients(table: ArrayTable, plan: Plan) -> np.ndarray | None:
    """A number for each row's patient: int64 (n,). A row that names none is one of its own."""
    if (title := _patient_title(plan)) is None:
        return None
    words, rows = table.words[title], np.arange(len(table.values))
    first: dict[str, int] = {}
    known = [first.setdefault(normal(word), place) for place, word in enumerate(words.values)]
    return np.asarray(np.where(words.codes < 0, len(words.values) + rows, words.taken(known, -1)))


def _patient_title(plan: Plan) -> str | None:
    return next((column.title for column in plan.schema if column.is_patient), None)


def _folds(table: ArrayTable, plan: Plan, classes: np.ndarray, patients: np.ndarray | None) -> np.ndarray:
    """The fold of each row, int64 (n,), drawn from a stream whose key is the plan.

    By the patient's name, so that a patient of two cohorts is in one fold too. Where rows have no names, so
    that each class is spread evenly over the folds. Both can be drawn again wherever the table is read.
    """
    key = hashlib.sha256(_INFO + plan.chance).digest()
    if patients is not None:
        different, place = np.unique(patients, return_inverse=True)
        names = _names(table, plan, different)
        draws = b"".join(hmac.digest(key, name, "sha256")[:8] for name in names)
        folds = np.frombuffer(draws, "<u8") % np.uint64(VALIDATION_FOLDS.of(plan))
        return np.asarray(folds.astype(np.int64)[place])
    rows = len(classes)
    folds = np.empty(rows, np.int64)
    folds[np.lexsort((drawn(key, rows), classes))] = np.arange(rows) % VALIDATION_FOLDS.of(plan)
    return folds


def _names(table: ArrayTable, plan: Plan, patients: np.ndarray) -> list[bytes]:
    """Return the identifier of each patient: its name, or the row's number if it has none."""
    values = table.words[_patient_title(plan) or ""].values
    return [
        b"name " + normal(values[k]).encode() if k < len(values) else b"row %d" % k for k in patients.tolist()
    ]
