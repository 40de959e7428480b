"""A cohort's table, CSV or Parquet: read under the plan's schema, and written again with normalized features.

    columns    whether the table has the columns of the schema
    csv_table  CSV, read by a fast library; `cells` reads again where it stumbles, and says why
    csv_write  CSV with other numbers in some columns, and every other byte as it was
    parquet    Parquet, read and written
    images     a folder of images, with a table of them or without
    faults     what can be wrong with a table, in words

A number that is missing is NaN. What is in columns of type text is neither looked at nor changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.errors import listed
from unpooled.fitted.scaler import Scaler
from unpooled.plan.floors import MIN_SAMPLES
from unpooled.plan.schema import Column
from unpooled_client.data.estimate import of_search
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, shown
from unpooled_client.data.findings.source import exists, readable
from unpooled_client.data.tables import csv_table, csv_write, parquet
from unpooled_client.data.tables.categories import check_words, read_words
from unpooled_client.data.tables.faults import WHAT, Faults
from unpooled_client.data.tables.images import by_class, image_of, is_ready, read_images, tables_in

__all__ = ["cells_of", "open_table", "read_features", "schema_of", "write_normalized"]


def open_table(
    path: Path,
    schema: Sequence[Column],
    fewest: int | None,
    report: Report,
    threads: int = 1,
    *,
    reads_words: Callable[[Column], bool] = lambda column: column.is_category,
    ignore_case: bool = False,
) -> ArrayTable | None:
    """The features of a table, in the schema's order, and its words; None if the report has any error.

    `fewest`: how many rows a cohort must have to take part. `reads_words`: whether the words of a column are
    looked at. `ignore_case`: whether words that differ in case only are one.
    """
    faults, column, folder = Faults(path, report), image_of(schema), path
    if column is not None and not is_ready(folder, column, faults):
        return None
    path = next(iter(tables_in(folder)), folder) if column is not None else path
    if path == folder and column is not None:
        words = by_class(folder, schema, faults)
        values = np.empty((len(words[column.title]), 0)) if words is not None else None
    else:
        values = read_features(path, schema, report, threads)
        titles = [column.title for column in schema if reads_words(column) or column.is_image]
        words = read_words(path, titles, Faults(path, report)) if values is not None else None
    if values is None or words is None:
        return None
    images = read_images(folder, column, words[column.title], faults) if column is not None else None
    _check_floor(len(values), MIN_SAMPLES if fewest is None else fewest, Faults(path, report))
    described = _described(values, [column.title for column in schema if column.is_number])
    left_out = [f"{shown(column.title)} ({column.left_out})" for column in schema if column.left_out]
    scaled = [f"{shown(column.title)} ({column.scaling})" for column in schema if column.scaling]
    described |= {"scaled in the model": ", ".join(scaled)} if scaled else {}
    report.summary = {"table": described | {"left out": ", ".join(left_out) or "none"}}
    check_words(words, schema, Faults(path, report), ignore_case=ignore_case)
    searched = [column for column in schema if column.most and column.title in words]
    if searched:
        codes = {f"codes of {c.title}": of_search(len(words[c.title].values), c.most) for c in searched}
        report.summary["estimate"] = codes | {"not counted": "waiting for other cohorts and for the network"}
    return ArrayTable(values, words, images=images) if report.ok else None


def read_features(
    path: Path, schema: Sequence[Column], report: Report, threads: int = 1
) -> np.ndarray | None:
    """The schema's numbers, float64 (rows, features); None if there is any error, which the report has."""
    if not exists(path, WHAT, report):
        return None
    with readable(path, WHAT, report):
        _use(threads)
        reader = parquet.read if parquet.is_one(path) else csv_table.read
        return reader(path, schema, Faults(path, report))
    return None


def schema_of(path: Path, report: Report) -> tuple[Column, ...] | None:
    """The columns that a table has: of Parquet by their types, of CSV all taken to be numbers."""
    if not exists(path, WHAT, report):
        return None
    with readable(path, WHAT, report):
        look = parquet.schema_of if parquet.is_one(path) else csv_table.schema_of
        return look(path, Faults(path, report))
    return None


def cells_of(path: Path, report: Report) -> list[tuple[str, dict[bytes, int], int]] | None:
    """Return each column's name, the counts of its distinct cells, and its number of missing cells.

    None if the table cannot be read, which the report has.
    """
    with readable(path, WHAT, report):
        look = parquet.cells_of if parquet.is_one(path) else csv_table.cells_of
        return look(path, Faults(path, report))
    return None


def write_normalized(
    path: Path, target: Path, schema: Sequence[Column], values: np.ndarray, scaler: Scaler, threads: int = 1
) -> None:
    """Write the table to `target`, in its own format, its features (their `values` as read) normalized.

    Rows, columns and their order stay, and so does every cell of a text column and every missing value.
    """
    _use(threads)
    write = parquet.write if parquet.is_one(path) else csv_write.write
    write(path, target, schema, values, scaler)


def _use(threads: int) -> None:
    """Read and write with so many threads."""
    import pyarrow as pa

    pa.set_cpu_count(threads)


def _described(values: np.ndarray, features: Sequence[str]) -> dict[str, object]:
    """Counts, what is missing, and which features do not vary."""
    lacking = np.isnan(values)
    missing, known = np.count_nonzero(lacking), ~lacking.all(axis=0)
    constant = [
        feature
        for feature, column, some in zip(features, values.T, known, strict=True)
        if some and np.nanmin(column) == np.nanmax(column)
    ]
    return {
        "rows": len(values),
        "features": values.shape[1],
        "missing values": f"{missing:,} ({missing / max(values.size, 1):.1%})",
        "the same in every row": listed([shown(feature) for feature in constant], EXAMPLES) or "none",
    }


def _check_floor(rows: int, fewest: int, faults: Faults) -> None:
    if rows < fewest:
        faults.tell(Code.TOO_FEW_SAMPLES, read=str(rows), fewest=fewest)
