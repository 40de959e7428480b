"""Variants with their dosages, some at a time, as they come from a file of another format than PLINK's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

BYTES = 1 << 23  # of dosages at once

Told = Callable[[int, int], None]
"""Hears how many variants are done, and of how many; of 0 where that is not known."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some variants of n people."""

    lines: list[str]
    """Chromosome, position, ID, REF and ALT, with tabs between; several alternate alleles with commas."""
    dosages: np.ndarray
    """uint16 (k, n): of ALT, as `unpooled.cohort.Dosages` says. NO_DOSAGE for all if there are several."""


class Dosed(Protocol):
    """A file of another format."""

    @property
    def path(self) -> Path: ...
    @property
    def people(self) -> tuple[str, ...]:
        """Their IDs, in the order of the file; none if it does not name them."""

    @property
    def samples(self) -> int: ...
    @property
    def counted_by(self) -> str:
        """What says how many variants there are."""

    def variants(self, told: Told) -> int: ...
    def pieces(self, notes: Counter[str]) -> Iterator[Piece]:
        """All variants in their order; `notes` counts what is odd. DataProblem if the file is damaged."""


def at_once(people: int) -> int:
    """How many variants make a piece."""
    return max(1, min(4096, BYTES // (2 * people)))


def pieces_of(rows: Iterable[tuple[str, np.ndarray]], size: int) -> Iterator[Piece]:
    """The rows in pieces of a size."""
    lines: list[str] = []
    dosages: list[np.ndarray] = []
    for line, row in rows:
        lines.append(line)
        dosages.append(row)
        if len(lines) == size:
            yield Piece(lines, np.stack(dosages))
            lines, dosages = [], []
    if lines:
        yield Piece(lines, np.stack(dosages))
