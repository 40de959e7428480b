"""CSV tables. A library reads them, with as many threads as it may use; `cells` looks again if it stumbles.

The first line names the columns, in any order. Numbers have a decimal point, and become the nearest float64.
Blank lines are skipped, except in a table of a single column, where each is a missing cell.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from unpooled.plan.categories import MARKERS, is_missing
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Code
from unpooled_client.data.findings.source import BYTE_ORDER_MARK, good_line_ends, is_text, note_of_end
from unpooled_client.data.tables import cells
from unpooled_client.data.tables.columns import (
    check_header,
    counted,
    features_of,
    has_fraction,
    is_outside,
    places_of,
    warn_of_empty,
)
from unpooled_client.data.tables.faults import WHAT, Faults
from unpooled_client.data.tables.quotes import first_fault

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 4 << 20
"""Bytes of the file that a thread reads at once; a line that is longer may end the reading."""
WHOLE = (1 << 31) - 1
"""The largest block: any line that can be read."""


@dataclass(frozen=True)
class Start:
    """The beginning of a CSV file: what names the columns."""

    header: list[str]
    text: bytes
    """Bytes of the header as they stand in the file, up to the end of its line."""
    lines: int

    @property
    def line_end(self) -> str:
        return "\r\n" if self.text.endswith(b"\r\n") else "\n"


def read(path: Path, schema: Sequence[Column], faults: Faults) -> np.ndarray | None:
    """The schema's numbers, float64 (rows, features); None if there is any error, which `faults` tells."""
    start = opened(path, faults)
    if start is None or not check_header(start.header, schema, faults):
        return None
    with path.open("rb") as file:
        # The last byte is enough to tell whether the last line is whole.
        file.seek(-1, os.SEEK_END)
        note_of_end(file.read(), path, WHAT, faults.report)
    values = _quickly(path, start, schema)
    if values is None:
        values = cells.read(path, start.header, schema, faults)
    if values is not None:
        warn_of_empty(values, schema, start.header, faults)
    return values


def schema_of(path: Path, faults: Faults) -> tuple[Column, ...] | None:
    """The columns that the first line names: all taken to be numbers."""
    start = opened(path, faults)
    return None if start is None else tuple(map(Column, start.header))


def cells_of(path: Path, faults: Faults) -> list[tuple[str, dict[bytes, int], int]] | None:
    """Return each column's name, the counts of its distinct cells, and its number of missing cells."""
    import pyarrow as pa

    start = opened(path, faults)
    if start is None:
        return None
    try:
        table = parsed(path, start, dict.fromkeys(range(len(start.header)), pa.string()))
    except pa.ArrowInvalid as error:
        faults.tell(Code.CSV, why=error)
        return None
    return [
        (title, *_without_missing(*counted(column)))
        for title, column in zip(start.header, table.columns, strict=True)
    ]


def _without_missing(cells: dict[bytes, int], missing: int) -> tuple[dict[bytes, int], int]:
    """Take the cells that are none of MARKERS, and count those as missing, too: in text all are cells."""
    known = {cell: count for cell, count in cells.items() if not is_missing(cell.decode())}
    return known, missing + sum(cells.values()) - sum(known.values())


def opened(path: Path, faults: Faults) -> Start | None:
    """The first line that is not blank; None if the file is no CSV, or is damaged, which `faults` tells."""
    with path.open("rb") as file:
        head = file.read(4096)
        if not is_text(head, path, WHAT, faults.report) or not good_line_ends(
            head, path, WHAT, faults.report
        ):
            return None
        file.seek(0)
        start = _start(file, faults)
    if start is None or not (_between_commas(start.header, faults) and _has_names(start, faults)):
        return None
    line, why, doubtful = first_fault(path, len(start.text), len(start.header))
    if doubtful:
        faults.tell(Code.CELL_OF_LINES, line=doubtful)
    if line:
        faults.tell(Code.CSV, line=line, why=why)
        return None
    return start


def _start(file: BinaryIO, faults: Faults) -> Start | None:
    raw: list[bytes] = []

    def lines() -> Iterator[str]:
        for line in file:
            raw.append(line)
            yield (line.removeprefix(BYTE_ORDER_MARK) if len(raw) == 1 else line).decode()

    try:
        header = next(filter(None, csv.reader(lines(), strict=True)), None)
    except UnicodeDecodeError:
        faults.tell(Code.FILE_NOT_TEXT, line=len(raw))
    except csv.Error as error:
        faults.tell(Code.CSV, line=1, why=error)
    else:
        if header is not None:
            return Start(header, b"".join(raw), len(raw))
        faults.tell(Code.FILE_EMPTY)
    return None


def _between_commas(header: Sequence[str], faults: Faults) -> bool:
    """Tell whether the first line looks separated by commas; if not, `faults` is told."""
    mark = next((mark for mark in ";\t" if len(header) == 1 and mark in header[0]), None)
    if mark is not None:
        kind = "semicolons" if mark == ";" else "tabs"
        remedy = "Export the table as CSV with commas between cells and decimal points in numbers."
        faults.tell(Code.CSV, line=1, read=header[0], why=f"its cells are separated by {kind}", remedy=remedy)
    return mark is None


def _has_names(start: Start, faults: Faults) -> bool:
    """Tell if the first line does not name each column: spreadsheets add a line, or a comma at its end."""
    if start.header[0].lower().startswith("sep="):
        why, remedy = "sep= is no name of a column", "It is for spreadsheets: remove that line."
        faults.tell(Code.CSV, line=start.lines, read=start.header[0], why=why, remedy=remedy)
        return False
    unnamed = [place for place, title in enumerate(start.header, 1) if not title.strip()]
    if unnamed:
        is_last = unnamed[-1] == len(start.header)
        remedy = "Remove the comma at the end of every line, or name the column." if is_last else "Name it."
        faults.tell(Code.CSV, line=start.lines, column=unnamed[-1], why="a column has no name", remedy=remedy)
    return not unnamed


def _quickly(path: Path, start: Start, schema: Sequence[Column]) -> np.ndarray | None:
    """The features, or None where there is anything that `cells` has to look at."""
    import pyarrow as pa

    places, features = places_of(schema, start.header), features_of(schema)
    types = dict.fromkeys(range(len(start.header)), pa.string()) | dict.fromkeys(places, pa.float64())
    try:
        table = parsed(path, start, types)
    except pa.ArrowInvalid:
        return None
    values = np.empty((table.num_rows, len(features)), order="F")
    for k, (place, column) in enumerate(zip(places, features, strict=True)):
        cells_of = table.column(str(place))
        _fill(values[:, k], cells_of)
        # NaN beside what is missing: a word that the library takes for it and a person may not mean so.
        odd = np.isinf(values[:, k]).any() or np.isnan(values[:, k]).sum() != cells_of.null_count
        if odd or has_fraction(values[:, k], column).any() or is_outside(values[:, k], column).any():
            return None
    return values


def _fill(values: np.ndarray, column: pa.ChunkedArray) -> None:
    """Copy a column's numbers, those that are missing as NaN."""
    at = 0
    for chunk in column.chunks:
        values[at : at + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        at += len(chunk)


def parsed(
    path: Path,
    start: Start,
    types: Mapping[int, pa.DataType] | None = None,
    *,
    quotes: bool = True,
    block: int = BLOCK,
) -> pa.Table:
    """The columns at some places, of these types, named by their places; ArrowInvalid if a line is odd.

    Without `types` all columns, of the types that their cells suggest.

    Without `quotes` a quote is a character like others, so that cells are what stands in the file.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    named = {str(place): kind for place, kind in (types or {}).items()}
    with pa.memory_map(str(path)) as file:
        return arrow.read_csv(
            file,
            read_options=arrow.ReadOptions(
                column_names=[str(place) for place in range(len(start.header))],
                skip_rows=start.lines,
                block_size=block,
                use_threads=pa.cpu_count() > 1,
            ),
            parse_options=arrow.ParseOptions(
                quote_char='"' if quotes else False,
                newlines_in_values=quotes,
                ignore_empty_lines=len(start.header) > 1,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=named, include_columns=list(named), null_values=list(MARKERS)
            ),
        )
