"""The cohorts' tables as files, CSV and Parquet; through the client's own reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable

from ..encodings.files import read as read_file
from ..tables.files import RefusedFile, write_columns
from .federation import Cohort, Federation


def read(federation: Federation, folder: Path) -> list[ArrayTable]:
    """Every cohort's table, written and read again; RefusedFile if the client refuses one."""
    return [_read(federation, k, folder) for k in range(len(federation.cohorts))]


def _read(federation: Federation, k: int, folder: Path) -> ArrayTable:
    random = np.random.default_rng([federation.seed, k])
    path = folder / f"cohort {k}.{'csv' if random.random() < 0.5 else 'parquet'}"
    write_columns(random, path, federation.cohorts[k].cells)
    return read_file(federation.plan, path)


def has_no_listed_word(federation: Federation, cohort: Cohort) -> bool:
    """Tell whether a column of words has none that the plan lists: the client takes it for another column."""
    categories = [column for column in federation.plan.schema if column.levels]
    words = [set(cohort.cells[column.title]) - {None} for column in categories]
    return any(
        each and each.isdisjoint(column.levels) for column, each in zip(categories, words, strict=True)
    )


__all__ = ["RefusedFile", "has_no_listed_word", "read"]
