"""Parquet tables: integers, floating-point and decimal numbers are numbers; null and NaN are missing.

A column that is null in every row has no values, whatever it is meant to hold: it may be meant for numbers.
The index that pandas keeps among the columns does not count as one, unless the plan names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unpooled.errors import DataProblem
from unpooled.fitted.scaler import Scaler
from unpooled.plan.schema import NUMBER, TEXT, Column
from unpooled_client.data.findings.report import EXAMPLES, Code
from unpooled_client.data.tables.columns import (
    check_header,
    counted,
    features_of,
    has_fraction,
    is_outside,
    places_of,
    warn_of_empty,
)
from unpooled_client.data.tables.faults import Faults, Tally
from unpooled_client.state.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MAGIC = b"PAR1"
AT_ONCE = 8
"""Columns read together: enough for several threads, and few beside the values of all."""


def is_one(path: Path) -> bool:
    """Tell whether the file begins as Parquet does, whatever its name."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read(path: Path, schema: Sequence[Column], faults: Faults) -> np.ndarray | None:
    """The schema's numbers, float64 (rows, features); None if there is any error, which `faults` tells."""
    try:
        with _opened(path) as file:
            header = file.schema_arrow.names
            if not check_header(header, schema, faults, _index(file.schema_arrow)) or not _check_types(
                file, schema, faults
            ):
                return None
            values = _numbers(file, features_of(schema))
    except _damage() as error:
        faults.tell(Code.PARQUET, why=error)
        return None
    _check_values(values, schema, header, faults)
    warn_of_empty(values, schema, header, faults)
    return values if faults.report.ok else None


def schema_of(path: Path, faults: Faults) -> tuple[Column, ...] | None:
    """The columns by their types: numbers, and of everything else text."""
    try:
        with _opened(path) as file:
            fields = file.schema_arrow
    except _damage() as error:
        faults.tell(Code.PARQUET, why=error)
        return None
    index = _index(fields)
    return tuple(
        Column(field.name, NUMBER if is_number(field.type) else TEXT)
        for field in fields
        if field.name not in index
    )


def cells_of(path: Path, faults: Faults) -> list[tuple[str, dict[bytes, int], int]] | None:
    """Return each column's name, the counts of its distinct cells, and its number of missing cells."""
    try:
        with _opened(path) as file:
            names = file.schema_arrow.names
            return [(name, *counted(file.read(columns=[name]).column(0))) for name in names]
    except _damage() as error:
        faults.tell(Code.PARQUET, why=error)
        return None


def columns_of(path: Path, titles: Sequence[str]) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Some columns with their titles, one after the other; DataProblem if one is damaged."""
    with _opened(path) as file:
        for title in titles:
            try:
                yield title, file.read(columns=[title]).column(0)
            except _failures() as error:
                raise _unreadable(error, path) from error


def whole(path: Path) -> pa.Table:
    """The whole table, without the index that pandas keeps; DataProblem if it is damaged."""
    try:
        with _opened(path) as file:
            index = _index(file.schema_arrow)
            return file.read(columns=[name for name in file.schema_arrow.names if name not in index])
    except _failures() as error:
        raise _unreadable(error, path) from error


def write(path: Path, target: Path, schema: Sequence[Column], values: np.ndarray, scaler: Scaler) -> None:
    """Write the table with normalized features, row group by row group; float64, whatever they were."""
    import pyarrow.parquet as pq

    with _opened(path) as file, replacing(target) as out:
        places = places_of(schema, file.schema_arrow.names)
        fields = _as_floats(file.schema_arrow, places)
        others = _others(fields, places)
        stay = others + [fields.field(place).name for place in _lacking(values, places)]
        # A dictionary of numbers that hardly repeat is made in vain.
        with pq.ParquetWriter(out, fields, compression=_codec(file), use_dictionary=others) as writer:
            for group, rows in _groups(file):
                scaled = scaler.transform(values[rows])
                table = _replaced(_row_group(file, path, group, rows, stay), fields, places, scaled)
                # A row group stays one, whatever the library's own limit is.
                writer.write_table(table, row_group_size=len(table) or None)


def _row_group(file: pq.ParquetFile, path: Path, group: int, rows: slice, columns: Sequence[str]) -> pa.Table:
    """Some columns. Text columns are read here for the first time; DataProblem if they are damaged."""
    try:
        return _rows(file, group, rows, columns)
    except _failures() as error:
        raise _unreadable(error, path) from error


def _failures() -> tuple[type[Exception], ...]:
    return (*_damage(), OSError)


def _unreadable(error: Exception, path: Path) -> DataProblem:
    return DataProblem(f"the table cannot be read: {error}", file=path, remedy="Write it again.")


def _damage() -> tuple[type[Exception], ...]:
    """Return the exceptions that a damaged file, or one that is not Parquet, may raise; column names may not
    decode.
    """
    import pyarrow as pa

    return pa.ArrowException, UnicodeDecodeError


def _opened(path: Path) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    # Not every program writes sums of its pages; of those that do, a flipped bit is found.
    return pq.ParquetFile(path, memory_map=True, pre_buffer=False, page_checksum_verification=True)


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds numbers or only nulls."""
    from pyarrow import types

    kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return any(is_of(kind) for is_of in kinds)


def _index(fields: pa.Schema) -> frozenset[str]:
    """The columns that are the index of a pandas data frame, by the metadata that it has written."""
    try:
        found = (fields.pandas_metadata or {}).get("index_columns", ())
        return frozenset(name for name in found if isinstance(name, str))
    except (ValueError, TypeError, AttributeError):  # metadata that are no data frame's
        return frozenset()


def _check_types(file: pq.ParquetFile, schema: Sequence[Column], faults: Faults) -> bool:
    import pyarrow as pa

    fields = file.schema_arrow
    for place, column in zip(places_of(schema, fields.names), features_of(schema), strict=True):
        kind = fields.field(place).type
        if not (is_number(kind) or pa.types.is_boolean(kind)):  # true is 1
            faults.tell(Code.COLUMN_TYPE, column=place + 1, read=str(kind), title=column.title)
    return faults.report.ok


def _numbers(file: pq.ParquetFile, features: Sequence[Column]) -> np.ndarray:
    groups = list(_groups(file))
    values = np.empty((groups[-1][1].stop if groups else 0, len(features)), order="F")
    for group, rows in groups:
        for first in range(0, len(features), AT_ONCE):
            titles = [column.title for column in features[first : first + AT_ONCE]]
            table = _rows(file, group, rows, titles)
            for k, title in enumerate(titles, first):
                values[rows, k] = _floats(table.column(title))
    return values


def _groups(file: pq.ParquetFile) -> Iterator[tuple[int, slice]]:
    """The row groups, and which rows each says to have."""
    at = 0
    for group in range(file.num_row_groups):
        rows = slice(at, at + max(0, file.metadata.row_group(group).num_rows))
        yield group, rows
        at = rows.stop


def _rows(file: pq.ParquetFile, group: int, rows: slice, columns: Sequence[str]) -> pa.Table:
    """Some columns of a row group; ArrowInvalid if it has not the rows that it says to have."""
    import pyarrow as pa

    table = file.read_row_group(group, columns=columns)
    if columns and table.num_rows != rows.stop - rows.start:
        raise pa.ArrowInvalid(
            f"row group {group} says {rows.stop - rows.start} rows and has {table.num_rows}"
        )
    return table


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    """A column's numbers as the float64 next to them, float64 (n,); those that are missing as NaN."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        # The library's own cast is off by a bit for many of them, 0.35 for one. By way of its text a decimal
        # becomes what the same number in a CSV file does.
        column = column.cast(pa.large_string())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def _check_values(
    values: np.ndarray, schema: Sequence[Column], header: Sequence[str], faults: Faults
) -> None:
    tally = Tally(faults, "row")
    for k, (place, column) in enumerate(zip(places_of(schema, header), features_of(schema), strict=True)):
        infinite = np.isinf(values[:, k])
        for code, bad in (
            (Code.VALUE_INFINITE, infinite),
            (Code.VALUE_FRACTION, has_fraction(values[:, k], column) & ~infinite),
            (Code.VALUE_OUTSIDE, is_outside(values[:, k], column) & ~infinite),
        ):
            for rank, row in enumerate(rows := np.flatnonzero(bad)[:EXAMPLES]):
                count = int(bad.sum()) - len(rows) + 1 if rank == 0 else 1
                tally.add(code, place, int(row) + 1, repr(float(values[row, k])), count)
    tally.tell(header, schema)


def _as_floats(fields: pa.Schema, places: Sequence[int]) -> pa.Schema:
    """The same columns, those at some places as float64."""
    import pyarrow as pa

    for place in places:
        fields = fields.set(place, fields.field(place).with_type(pa.float64()))
    return fields


def _others(fields: pa.Schema, places: Sequence[int]) -> list[str]:
    """The names of the columns that are no features."""
    features = set(places)
    return [field.name for place, field in enumerate(fields) if place not in features]


def _lacking(values: np.ndarray, places: Sequence[int]) -> list[int]:
    """Return the places of the features that lack a value: as null or as NaN, only the file knows."""
    return [place for place, column in zip(places, values.T, strict=True) if np.isnan(column).any()]


def _replaced(stay: pa.Table, fields: pa.Schema, places: Sequence[int], scaled: np.ndarray) -> pa.Table:
    """The rows with numbers at some places, null where they were null, between the columns that stay."""
    import pyarrow as pa

    columns = dict(zip(stay.column_names, stay.columns, strict=True))
    for place, numbers in zip(places, scaled.T, strict=True):
        name = fields.field(place).name
        null = columns[name].is_null().to_numpy() if name in columns else None
        columns[name] = pa.array(np.ascontiguousarray(numbers), mask=null)
    return pa.Table.from_arrays([columns[name] for name in fields.names], schema=fields)


def _codec(file: pq.ParquetFile) -> str:
    """Return the name of the file's compression, as its writer calls it."""
    if not file.num_row_groups or not file.metadata.num_columns:
        return "snappy"
    name = str(file.metadata.row_group(0).column(0).compression).lower()
    return "none" if name == "uncompressed" else name
