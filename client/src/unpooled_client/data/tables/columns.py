"""Checks that a table has the columns of the plan's schema, and that their numbers keep to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unpooled.plan.encodings import ABOVE
from unpooled.plan.schema import INTEGER, Column
from unpooled_client.data.findings.report import Code, shown
from unpooled_client.data.tables.faults import Faults

if TYPE_CHECKING:
    import pyarrow as pa


def check_header(
    header: Sequence[str], schema: Sequence[Column], faults: Faults, index: Collection[str] = ()
) -> bool:
    """Tell whether the columns are those of the schema, each once, in any order.

    Columns of an `index` may stand beside them.
    """
    wanted, count = [column.title for column in schema], Counter(header)
    names = ", ".join(wanted)
    for title in wanted:
        if count[title] > 1:
            last = len(header) - header[::-1].index(title)
            faults.tell(Code.COLUMN_AMBIGUOUS, line=1, column=last, title=title, wanted=names)
        elif not count[title]:
            remedy = _written_otherwise(title, header)
            faults.tell(Code.COLUMN_MISSING, line=1, remedy=remedy, title=title, wanted=names)
    known = set(wanted)
    for place, title in enumerate(header, 1):
        if title not in known:
            code = Code.COLUMN_INDEX if title in index else Code.COLUMN_UNKNOWN
            examples = (f"column {place}: {shown(title)}",)
            faults.tell(code, line=1, column=place, read=title, examples=examples, wanted=names)
    return faults.report.ok


def _written_otherwise(title: str, header: Sequence[str]) -> str:
    alike = next((other for other in header if other.strip().lower() == title.strip().lower()), None)
    return "" if alike is None else f"The file has {alike!r}: names must be the same letter by letter."


def places_of(schema: Sequence[Column], header: Sequence[str]) -> list[int]:
    """Return the places of the schema's numeric columns in the table, from 0."""
    place = {title: place for place, title in enumerate(header)}
    return [place[column.title] for column in schema if column.is_number]


def features_of(schema: Sequence[Column]) -> list[Column]:
    """The columns of the schema that hold numbers, in its order."""
    return [column for column in schema if column.is_number]


def has_fraction(values: np.ndarray, column: Column) -> np.ndarray:
    """Mark the fractions in a column of integers: bool (n,). A missing value is not marked."""
    return np.asarray((values != np.floor(values)) & ~np.isnan(values) & (column.type == INTEGER))


def is_outside(values: np.ndarray, column: Column) -> np.ndarray:
    """Mark the values beyond the column's limits, or without its logarithm: bool (n,). A missing value is not
    marked.
    """
    above = ABOVE.get(column.scaling, -np.inf)
    low = -np.inf if column.low is None else column.low
    high = np.inf if column.high is None else column.high
    return np.asarray((values < low) | (values > high) | (values <= above))


def counted(column: pa.ChunkedArray) -> tuple[dict[bytes, int], int]:
    """The different cells of a column as they are written, in order, with their counts; and the missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    known = column.drop_null()
    found = pc.value_counts(known)
    words = found.field("values").cast(pa.string()).to_pylist()
    counts = dict(zip((word.encode() for word in words), found.field("counts").to_pylist(), strict=True))
    return counts, column.null_count


def warn_of_empty(
    values: np.ndarray, schema: Sequence[Column], header: Sequence[str], faults: Faults
) -> None:
    """Tell which features, of the columns of `values`, have no value here."""
    for place, column in zip(places_of(schema, header), values.T, strict=True):
        if len(column) and np.isnan(column).all():
            faults.tell(Code.COLUMN_EMPTY, column=place + 1, title=header[place])
