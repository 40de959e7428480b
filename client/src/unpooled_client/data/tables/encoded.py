"""A table whose columns of words are numbers: each in its place, all other columns as they are.

CSV stays CSV up to `MOST_IN_CSV` columns; beyond, and of a table in Parquet, the encoded table is Parquet,
in which columns of zeros take next to no space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unpooled.errors import DataProblem
from unpooled.fitted.encoder import Coded, Encoder
from unpooled.plan.categories import Words
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Report
from unpooled_client.data.tables import csv_table, csv_write, parquet
from unpooled_client.data.tables.faults import Faults
from unpooled_client.state.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa

MOST_IN_CSV = 200
"""Columns that words become in CSV: a file of more would be zeros nearly throughout."""
CELLS = 1 << 22
"""Encoded cells of a row group: 32 MB."""


def suffix_of(path: Path, encoder: Encoder) -> str:
    """Return the suffix of the encoded table's name."""
    if not parquet.is_one(path) and len(encoder.get_feature_names_out()) > MOST_IN_CSV:
        return ".parquet"
    return path.suffix


def write_encoded(
    path: Path,
    target: Path,
    schema: Sequence[Column],
    words: Mapping[str, Words],
    encoder: Encoder,
    folds: np.ndarray | None,
) -> None:
    """Write the table to `target`, its columns of words encoded. `words` and `folds` are as they were read.

    Raises DataProblem if the file is no longer what it was then.
    """
    titles = list(encoder.feature_names_in_)
    coded = dict(zip(titles, encoder.coded([words[title] for title in titles], folds), strict=True))
    columns = {title: Encoded(coded[title], encoder.outputs_of(title)) for title in titles}
    if parquet.is_one(path):
        _write_parquet(target, parquet.whole(path), columns)
    elif suffix_of(path, encoder) == ".parquet":
        _write_parquet(target, _csv_as_table(path, schema, columns), columns)
    else:
        _write_csv(path, target, columns)


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column of words and what it becomes."""

    coded: Coded
    titles: tuple[str, ...]

    @property
    def rows(self) -> int:
        return len(self.coded.line)

    def columns(self, rows: slice) -> Iterator[np.ndarray]:
        """Some rows of each column that it becomes, float64."""
        yield from np.ascontiguousarray(self.coded.dense(rows).T)


def _rows_of(columns: Mapping[str, Encoded]) -> int:
    return next(iter(columns.values())).rows


def _write_csv(path: Path, target: Path, columns: Mapping[str, Encoded]) -> None:

    start, count = _start(path), _rows_of(columns)
    stay = [place for place, title in enumerate(start.header) if title not in columns]
    kept = csv_write.cells_of(path, start, stay, count)

    def text(rows: slice) -> memoryview:
        cells: list[pa.Array] = []
        for place, title in enumerate(start.header):
            if title in columns:
                cells += [_text_of(numbers) for numbers in columns[title].columns(rows)]
            else:
                cells.append(kept[place][rows].combine_chunks())
        return csv_write.lines_of(cells, start.line_end)

    titles = [
        name for title in start.header for name in (columns[title].titles if title in columns else [title])
    ]
    with replacing(target) as out:
        out.write((",".join(map(_quoted, titles)) + start.line_end).encode())
        for block in csv_write.in_order(text, count, len(titles)):
            out.write(block)


def _start(path: Path) -> csv_table.Start:
    start = csv_table.opened(path, Faults(path, report := Report()))
    if start is None:
        raise report.problem()
    return start


def _text_of(numbers: np.ndarray) -> pa.Array:
    """Numbers as they stand in CSV; a missing one is an empty cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = csv_write.numbers_as_text(numbers, np.isnan(numbers))
    return pc.if_else(pa.array(np.isnan(numbers)), pa.scalar("", pa.large_string()), text)


def _quoted(title: str) -> str:
    return '"' + title.replace('"', '""') + '"' if set(title) & set(',"\r\n') else title


def _csv_as_table(path: Path, schema: Sequence[Column], columns: Mapping[str, Encoded]) -> pa.Table:
    """The columns of a CSV file by title: numbers as such, words to be encoded and text as text."""
    import pyarrow as pa

    start = _start(path)
    numbers = {column.title for column in schema if column.is_number}
    types = {
        place: pa.float64() if title in numbers else pa.string() for place, title in enumerate(start.header)
    }
    try:
        table = csv_table.parsed(path, start, types)
    except pa.ArrowInvalid:  # a line longer than a block
        table = csv_table.parsed(path, start, types, block=csv_table.WHOLE)
    if table.num_rows != _rows_of(columns):
        raise DataProblem("the table has changed", file=path, remedy="Restore it and start again.")
    return table.rename_columns(start.header)


def _write_parquet(target: Path, table: pa.Table, columns: Mapping[str, Encoded]) -> None:
    """Write a table with some of its columns encoded, row group by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [
        field
        for one in table.schema
        for field in (
            [pa.field(title, pa.float64()) for title in columns[one.name].titles]
            if one.name in columns
            else [one]
        )
    ]
    each = max(1, CELLS // len(fields))
    with replacing(target) as out, pq.ParquetWriter(out, pa.schema(fields)) as writer:
        # Once for an empty table, too: it has columns, and a reader wants them.
        for first in range(0, max(1, len(table)), each):
            rows = slice(first, min(first + each, len(table)))
            arrays: list[pa.Array | pa.ChunkedArray] = []
            for name in table.column_names:
                if name in columns:
                    arrays += [
                        pa.array(numbers, mask=np.isnan(numbers)) for numbers in columns[name].columns(rows)
                    ]
                else:
                    arrays.append(table.column(name)[rows])
            writer.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)))
