"""Result columns that need not be in memory.

A table of results maps names to columns, (m,) or (m, tests), and whoever needs some rows of one looks it up
for these rows: `table["beta"][part]`. Behind it may be arrays, or files of which only that part is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays


def joined(parts: Sequence[Arrays]) -> dict[str, NDArray[Any]]:
    """Rows of one table from several steps, sorted by its first column."""
    index = next(iter(parts[0]))
    order = np.argsort(np.concatenate([part[index] for part in parts]), kind="stable")
    return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


class Chosen(Mapping[str, Any]):
    """Rows of two tables as one table of the columns that both have. What was looked up is not held."""

    def __init__(self, first: Arrays, second: Arrays, order: NDArray[np.integer]) -> None:
        """`order`, (m,), says which row comes where, counting those of the second table after the first's."""
        self._tables, self._order = (first, second), order

    def __getitem__(self, name: str) -> ChosenColumn:
        first, second = (table[name] for table in self._tables)
        return ChosenColumn(first, second, self._order)

    def __iter__(self) -> Iterator[str]:
        first, second = self._tables
        return (name for name in first if name in second)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ChosenColumn:
    """One column of `Chosen`: an array wherever rows of it are asked for."""

    def __init__(self, first: NDArray[Any], second: NDArray[Any], order: NDArray[np.integer]) -> None:
        self._first, self._second, self._order = first, second, order

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._order), *self._first.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self._first.dtype, self._second.dtype)

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, part: slice | NDArray[np.integer]) -> NDArray[Any]:
        row, size = self._order[part], len(self._first)
        found = np.empty((len(row), *self._first.shape[1:]), self.dtype)
        found[row < size] = self._first[row[row < size]]
        found[row >= size] = self._second[row[row >= size] - size]
        return found


class Turned:
    """A column of effects of the panel's first allele as effects of A1: an array where rows are asked for."""

    ndim = 1

    def __init__(self, column: NDArray[np.float64], first_is_a1: NDArray[np.bool_]) -> None:
        self._column, self._first_is_a1 = column, first_is_a1

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, part: slice | NDArray[np.integer]) -> NDArray[np.float64]:
        values = self._column[part]
        return np.where(self._first_is_a1[part], values, -values)
