"""A CSV table read cell by cell, as slowly as it takes to say where a fault is.

This is what the format means; the fast reader must agree with it where it does not give up.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from unpooled.plan.categories import is_missing
from unpooled.plan.schema import INTEGER, Column
from unpooled_client.data.findings.report import Code
from unpooled_client.data.tables.columns import features_of, is_outside, places_of
from unpooled_client.data.tables.faults import Faults, Tally

LONGEST = 1 << 26
"""Letters of a cell. A quote that is never closed makes one of the rest of the file: that is not read to its
end."""
_TRUTH = {"true": 1.0, "false": 0.0}
csv.field_size_limit(LONGEST)  # of the whole process; else text of more than 131,072 letters is a fault


def read(path: Path, header: Sequence[str], schema: Sequence[Column], faults: Faults) -> np.ndarray | None:
    """The schema's numbers, float64 (rows, features); None if there is any error, which `faults` tells."""
    wanted = list(zip(places_of(schema, header), features_of(schema), strict=True))
    values, tally, count = array("d"), Tally(faults, "line"), 0
    for line, row in _rows(path, len(header), faults):
        if len(row) != len(header):
            _tell_width(line, row, header, faults)
            continue
        count += 1
        for place, column in wanted:
            is_known = not is_missing(row[place])
            value = _number(row[place].strip()) if is_known else np.nan
            if is_known and (problem := _problem(value, column)):
                tally.add(problem, place, line, row[place])
            values.append(value)
    tally.tell(header, schema)
    return np.frombuffer(values, np.float64).reshape(count, len(wanted)) if faults.report.ok else None


def texts(path: Path, header: Sequence[str], places: Sequence[int], faults: Faults) -> list[list[str]]:
    """The cells of some columns as they are written, column by column."""
    found: list[list[str]] = [[] for _ in places]
    for line, row in _rows(path, len(header), faults):
        if len(row) != len(header):
            _tell_width(line, row, header, faults)
            continue
        for column, place in zip(found, places, strict=True):
            column.append(row[place])
    return found


def _rows(path: Path, columns: int, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """Each row below the header with the line, from 1, in which it begins."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        found, line = csv.reader(file, strict=True), 1
        try:
            while not next(found, [""]):  # the header is the first line that is not empty
                pass
            line = found.line_num + 1
            for row in found:
                if row or columns == 1:
                    yield line, row or [""]
                line = found.line_num + 1
        except csv.Error as error:
            faults.tell(Code.CSV, line=line, why=error)
        except UnicodeDecodeError:
            # The reader decodes ahead of the line that it gives: the line is looked for anew.
            faults.tell(Code.FILE_NOT_TEXT, line=_first_undecodable(path))


def _first_undecodable(path: Path) -> int | None:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def _tell_width(line: int, row: Sequence[str], header: Sequence[str], faults: Faults) -> None:
    faults.tell(
        Code.TOO_FEW_COLUMNS,
        line=line,
        column=min(len(row), len(header)) + 1,
        read=f"{len(row)} cells",
        examples=(f"line {line}",),
        width=len(header),
    )


def _number(cell: str) -> float:
    """The number in a cell, of true and false 1 and 0; NaN if it is none."""
    if (truth := _TRUTH.get(cell.lower())) is not None:
        return truth
    try:
        return np.nan if "_" in cell else float(cell)  # Python's own 1_000 is no number of a table
    except ValueError:
        return np.nan


def _problem(value: float, column: Column) -> Code | None:
    if np.isnan(value):
        return Code.VALUE_TEXT
    if np.isinf(value):
        return Code.VALUE_INFINITE
    if column.type == INTEGER and value != np.floor(value):
        return Code.VALUE_FRACTION
    return Code.VALUE_OUTSIDE if is_outside(np.array([value]), column).any() else None
