"""Density of a pool's people in the plane of two components: a table of cells with at least 10."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import BinaryIO

from unpooled.asking.question import Arrays
from unpooled.errors import UnpooledError
from unpooled.formats.layout import Layout
from unpooled.panel.panel import Panel

_HEADS = ("#PC1_FROM", "PC1_TO", "PC2_FROM", "PC2_TO", "AT_LEAST")


@dataclass(frozen=True)
class Cell:
    """A rectangle, and how many people are in it at least; fewer than twice as many are.

    In the outermost cells are also those beyond.
    """

    left: float
    right: float
    low: float
    high: float
    at_least: int


def write_density(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """Write the columns `edges` and `at_least`, a line per cell; only the head where there are none."""
    file.write("\t".join(_HEADS).encode() + b"\n")
    for cell in cells_of(rows):
        file.write("\t".join(map(repr, astuple(cell))).encode() + b"\n")


def cells_of(rows: Arrays) -> tuple[Cell, ...]:
    """Return the cells in columns of `edges`, float64 (cells, 4), and `at_least`; none of no columns."""
    if not rows:
        return ()
    columns = [*rows["edges"][:].T.tolist(), rows["at_least"][:].tolist()]
    return tuple(Cell(*values) for values in zip(*columns, strict=True))


def read_density(data: bytes) -> tuple[Cell, ...]:
    """UnpooledError names the line of a file that is not as the writer here writes it."""
    return tuple(_cells(data.decode(errors="replace").splitlines()))


def _cells(lines: list[str]) -> Iterator[Cell]:
    if not lines or lines[0] != "\t".join(_HEADS):
        raise UnpooledError(f"density, line 1: want {' '.join(_HEADS)}")
    for number, line in enumerate(lines[1:], 2):
        try:
            *edges, people = line.split("\t")
            left, right, low, high = map(float, edges)
            yield Cell(left, right, low, high, int(people))
        except ValueError:
            raise UnpooledError(f"density, line {number}: got {line!r}") from None
