"""CSV with normalized features. Every other cell is written as it is in the file, in the same order.

Rows are written a block at a time, several blocks at once; the numbers are the shortest that read back as
the same float64.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unpooled.errors import DataProblem
from unpooled.fitted.scaler import Scaler
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Report
from unpooled_client.data.tables.columns import places_of
from unpooled_client.data.tables.csv_table import WHOLE, Start, opened, parsed
from unpooled_client.data.tables.faults import Faults
from unpooled_client.state.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa

CELLS = 1 << 19
"""Number of cells in a block: some 10 MB of text."""


def write(path: Path, target: Path, schema: Sequence[Column], values: np.ndarray, scaler: Scaler) -> None:
    """Write the table with normalized features.

    Raises DataProblem if the file is no longer what it was when its `values` were read.
    """
    report = Report()
    start = opened(path, Faults(path, report))
    if start is None:
        raise report.problem()
    places = places_of(schema, start.header)
    words = _words(path, start, places, values)
    blocks = _Blocks(len(start.header), places, values, scaler, words, start.line_end)
    with replacing(target) as out:
        out.write(start.text if start.text.endswith(b"\n") else start.text + b"\n")
        for block in in_order(blocks.text, len(values), len(start.header)):
            out.write(block)


def _words(path: Path, start: Start, places: Sequence[int], values: np.ndarray) -> dict[int, pa.ChunkedArray]:
    """The cells that stay, by place: of columns that are no feature, and of features that lack a value."""
    complete = {place for place, column in zip(places, values.T, strict=True) if not np.isnan(column).any()}
    return cells_of(path, start, set(range(len(start.header))) - complete, len(values))


def cells_of(path: Path, start: Start, places: Collection[int], rows: int) -> dict[int, pa.ChunkedArray]:
    """The cells of some columns, by place, as they may be written; DataProblem for other rows."""
    import pyarrow as pa

    wanted = {place: pa.large_string() for place in sorted(places)}
    if not wanted:
        return {}
    try:
        table = parsed(path, start, wanted, quotes=False)
        as_they_stand = table.num_rows == rows
    except pa.ArrowInvalid:
        as_they_stand = False
    # With as many rows as those read by the rules of quotes, and as many cells in each, no comma and no end
    # of a line stands between quotes: then the cells are right, quotes included. Else quotes are set anew.
    if not as_they_stand:
        table = _with_quotes(path, start, wanted)
    if table.num_rows != rows:
        raise DataProblem("the table has changed", file=path, remedy="Restore it and start again.")
    columns = {place: table.column(str(place)) for place in wanted}
    return columns if as_they_stand else {place: _quoted(column) for place, column in columns.items()}


def _with_quotes(path: Path, start: Start, wanted: dict[int, pa.DataType]) -> pa.Table:
    """The cells without their quotes."""
    import pyarrow as pa

    try:
        return parsed(path, start, wanted)
    except pa.ArrowInvalid:  # a line longer than a block: `cells` has read it
        return parsed(path, start, wanted, block=WHOLE)


def _quoted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cells in quotes where they hold what would end them."""
    import pyarrow.compute as pc

    doubled = pc.replace_substring(column, '"', '""')
    in_quotes = pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text(""))
    return pc.if_else(pc.match_substring_regex(column, '[",\r\n]'), in_quotes, column)


@dataclass(frozen=True)
class _Blocks:
    """The rows of a table as text, in blocks."""

    columns: int
    places: Sequence[int]
    values: np.ndarray
    scaler: Scaler
    words: dict[int, pa.ChunkedArray]
    line_end: str

    def text(self, rows: slice) -> memoryview:
        values = self.values[rows]
        cells = {place: column[rows].combine_chunks() for place, column in self.words.items()}
        for place, numbers, read in zip(self.places, self.scaler.transform(values).T, values.T, strict=True):
            cells[place] = numbers_as_text(numbers, np.isnan(read), cells.get(place))
        return lines_of([cells[place] for place in range(self.columns)], self.line_end)


def in_order(text: Callable[[slice], memoryview], rows: int, columns: int) -> Iterator[memoryview]:
    """The text of all rows, in blocks; a few are in the making at once."""
    import pyarrow as pa

    each, threads = max(1, CELLS // columns), pa.cpu_count()
    making: deque[Future[memoryview]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, rows, each):
            # In order, and never more blocks at once than threads: all together would not fit in memory.
            making.append(pool.submit(text, slice(first, min(first + each, rows))))
            if len(making) > threads:
                yield making.popleft().result()
        while making:
            yield making.popleft().result()


def lines_of(cells: Sequence[pa.Array], line_end: str) -> memoryview:
    """Lines of CSV, from their cells column by column."""
    import pyarrow.compute as pc

    *others, last = cells
    ends = pc.binary_join_element_wise(last, _text(line_end), _text(""))
    lines = pc.binary_join_element_wise(*others, ends, _text(","))
    return memoryview(lines.buffers()[2])


def numbers_as_text(numbers: np.ndarray, missing: np.ndarray, words: pa.Array | None = None) -> pa.Array:
    """Numbers as text; the words of the file where they are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.array(np.ascontiguousarray(numbers)).cast(pa.large_string())
    return text if words is None else pc.if_else(pa.array(missing), words, text)


def _text(word: str) -> pa.Scalar:
    """A word among cells, whose type counts bytes with 64 bits."""
    import pyarrow as pa

    return pa.scalar(word, pa.large_string())
