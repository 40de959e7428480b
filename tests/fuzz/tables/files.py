"""The cohorts' tables as files, CSV and Parquet in many forms; through the client's own reader and writer."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.scaler import Scaler
from unpooled.plan.categories import MARKERS, is_missing
from unpooled_client.data.findings.report import Report
from unpooled_client.data.tables import open_table
from unpooled_client.study.own_table import beside, normalize_to

from .columns import Random
from .federation import Federation

WORDS = ("", "plain", "Graz, west", 'say "x"', "two\nlines", "7", "é")
INDEX = "__index_level_0__"


class RefusedFile(Exception):
    """The client takes no such file."""


def write(federation: Federation, cohort: int, folder: Path) -> Path:
    """A cohort's table as a file whose form follows from the cohort's number for it."""
    random = np.random.default_rng(federation.forms[cohort])
    values = iter(federation.cohorts[cohort].T)
    columns = {
        column.title: next(values)
        if column.is_number
        else random.choice(WORDS, len(federation.cohorts[cohort]))
        for column in federation.plan.schema
    }
    columns = {title: columns[title] for title in random.permutation(list(columns)).tolist()}
    path = folder / f"cohort {cohort}.{'csv' if random.random() < 0.5 else 'parquet'}"
    write_columns(random, path, columns)
    return path


def write_columns(random: Random, path: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of numbers, of text, or of words (object), in the format that the name says."""
    (_write_csv if path.suffix == ".csv" else _write_parquet)(random, path, columns)


def read(federation: Federation, path: Path) -> ArrayTable:
    """Through the client; RefusedFile if it refuses it."""
    table = open_table(path, federation.plan.schema, 1, report := Report())
    if table is None:
        raise RefusedFile(str(report.problem()))
    return table


def normalized(federation: Federation, path: Path, scaler: Scaler, table: ArrayTable) -> np.ndarray:
    """Return the file that the client writes next to a table, read by others: float64 (rows, features)."""
    normalize_to(target := beside(path, federation.plan), path, federation.plan, scaler, table.values)
    titles = [column.title for column in federation.plan.features]
    if target.suffix == ".parquet":
        found = pq.read_table(target)
        return np.column_stack([found.column(title).to_numpy() for title in titles])
    with target.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = [row for row in csv.reader(file) if row or len(titles) == 1]
    places = [header.index(title) for title in titles]
    cells = [[_number((row or [""])[place]) for place in places] for row in rows]
    return np.array(cells).reshape(-1, len(places))


def _number(cell: str) -> float:
    return np.nan if is_missing(cell) else float(cell)


def _write_csv(random: Random, path: Path, columns: Mapping[str, np.ndarray]) -> None:
    word, style = str(random.choice(MARKERS)), str(random.choice(["r", ".17g", ".25e"]))
    quoting = csv.QUOTE_ALL if random.random() < 0.3 else csv.QUOTE_MINIMAL
    with path.open("w", encoding="utf-8-sig" if random.random() < 0.3 else "utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator=str(random.choice(["\n", "\r\n"])), quoting=quoting)
        writer.writerow(columns)
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            cells = [_cell(x, word, style) for x in row]
            if cells == [""] and quoting == csv.QUOTE_MINIMAL:
                file.write(writer.dialect.lineterminator)  # a blank line, as spreadsheets have it
            else:
                writer.writerow(cells)


def _cell(x: float | str | None, missing: str, style: str) -> str:
    if x is None or isinstance(x, str):
        return x or ""
    return missing if np.isnan(x) else repr(x) if style == "r" else format(x, style)


def _write_parquet(random: Random, path: Path, columns: Mapping[str, np.ndarray]) -> None:
    table = pa.table({title: _as_arrow(random, column) for title, column in columns.items()})
    if random.random() < 0.2:
        index = pa.array(random.permutation(len(table)))
        said = b'{"index_columns": ["%s"], "columns": []}' % INDEX.encode()
        table = table.append_column(INDEX, index).replace_schema_metadata({b"pandas": said})
    pq.write_table(table, path, row_group_size=int(random.choice([7, 100, 1 << 20])))


def _as_arrow(random: Random, column: np.ndarray) -> pa.Array:
    """Convert a column to float64, or another type that holds the same numbers. Missing is null, or NaN."""
    if column.dtype.kind == "O":
        return _words_as_arrow(random, column.tolist())
    if column.dtype.kind == "U":
        return pa.array(column)
    missing = np.isnan(column)
    known = column[~missing]
    if missing.all():
        return pa.nulls(len(column), pa.null() if random.random() < 0.5 else pa.float64())
    if random.random() < 0.5:
        if (found := _as_decimal(column, missing)) is not None:
            return found
        if np.all((np.abs(known) < 2**53) & (known == np.floor(known)) & ~(np.signbit(known) & (known == 0))):
            return pa.array(np.where(missing, 0, column).astype(np.int64), mask=missing)
        with np.errstate(over="ignore"):
            if np.array_equal(known.astype(np.float32), known):
                return pa.array(column.astype(np.float32), mask=missing)
    return pa.array(column, mask=missing if random.random() < 0.5 else None)


def _words_as_arrow(random: Random, words: list[str | None]) -> pa.Array:
    """Convert words to text, perhaps dictionary-encoded; or to numbers, if all of them are whole ones."""
    whole = all(word is None or (word.isdecimal() and str(int(word)) == word) for word in words)
    if whole and random.random() < 0.7:
        numbers = [None if word is None else int(word) for word in words]
        return pa.array(numbers, pa.int64() if random.random() < 0.5 else pa.float64())
    found = pa.array(words, pa.large_string() if random.random() < 0.3 else pa.string())
    return found.dictionary_encode() if random.random() < 0.3 else found


def _as_decimal(column: np.ndarray, missing: np.ndarray) -> pa.Array | None:
    """Convert numbers to decimals with as many digits as their shortest text has; None if they need many."""
    words = [None if lacks else Decimal(repr(x)) for x, lacks in zip(column.tolist(), missing, strict=True)]
    known = [word for word in words if word is not None]
    if any(word.is_zero() and word.is_signed() for word in known):
        return None  # of a decimal there is one zero
    scale = max(0, *(-int(word.as_tuple().exponent) for word in known))
    precision = scale + max(1, *(word.adjusted() + 1 for word in known))
    if precision > 76:
        return None
    return pa.array(
        words, pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    )
