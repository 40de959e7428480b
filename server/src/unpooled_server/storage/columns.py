"""Columns in files: written a piece at a time, read where they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

BLOCK = 1 << 18
"""Rows that are copied together."""


class Columns(Mapping[str, np.ndarray]):
    """Columns in a folder. Each look-up maps the file anew, so that what was read is not held."""

    def __init__(
        self, folder: Path, names: Sequence[str], here: Callable[[Path], Path] = lambda path: path
    ) -> None:
        """`here` gives the place on this machine of a file."""
        self._folder, self._names, self._here = folder, tuple(names), here
        # Read once: to read a file's head takes longer than to map the file.
        self._heads: dict[str, tuple[np.dtype, int, tuple[int, ...]]] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        path = self._here(self._folder / f"{name}.npy")
        if name not in self._heads:
            column = np.load(path, mmap_mode="r", allow_pickle=False)
            self._heads[name] = column.dtype, column.offset, column.shape
        dtype, offset, shape = self._heads[name]
        return np.memmap(path, dtype, "r", offset, shape)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def begin_column(out: BinaryIO, rows: int, like: np.ndarray) -> None:
    """The head of a file in NumPy's format. Behind it come the bytes of so many rows as those of `like`."""
    head = {
        "descr": np.lib.format.dtype_to_descr(like.dtype),
        "fortran_order": False,
        "shape": (rows, *like.shape[1:]),
    }
    np.lib.format.write_array_header_1_0(out, head)


def add_rows(out: BinaryIO, rows: np.ndarray) -> None:
    """Some rows behind those that are there, of the same type."""
    out.write(np.ascontiguousarray(rows).data)


def save_column(out: BinaryIO, rows: int, block: Callable[[slice], np.ndarray]) -> None:
    """A whole column, of which `block` gives a slice of rows."""
    begin_column(out, rows, block(slice(0, 0)))
    for start in range(0, rows, BLOCK):
        add_rows(out, block(slice(start, min(start + BLOCK, rows))))
