"""A file of genotypes, whatever its format: rows of packed calls, by their number in the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

STRETCHES, LENGTH = 64, 8
"""Number of stretches, and of neighbouring variants in each; a disk reads one stretch in a single access."""


class Genotypes(Protocol):
    """Genotypes of `samples` people, one row for each variant. May be read from several threads at once."""

    @property
    def path(self) -> Path: ...

    @property
    def samples(self) -> int: ...

    @property
    def has_dosages(self) -> bool:
        """True if any dosage is not a whole number of copies, as far as was looked."""

    def words(self, rows: np.ndarray) -> np.ndarray:
        """The calls of some rows, uint64 (k, ceil(samples/32)), packed as `unpooled.asking.cohort.Packed`
        says.

        `rows`, int64 (k,), in any order; -1 gives missing calls. What pads a row is arbitrary. DataProblem if
        the file cannot be read or was cut off.
        """

    def dosages(self, rows: np.ndarray) -> np.ndarray:
        """The dosages of some rows, uint16 (k, samples), as `unpooled.asking.cohort.Dosages` says; calls
        where there is no dosage. `rows` and errors as above; a row of -1 is NO_DOSAGE.
        """


def stretches(rows: int, number: int = STRETCHES, length: int = LENGTH) -> Iterator[slice]:
    """A number of stretches of row numbers, evenly spread; all rows where they are few."""
    starts = np.linspace(0, max(0, rows - length), number).astype(int)
    stop = 0
    for start in starts.tolist():
        first, stop = max(start, stop), min(start + length, rows)
        if first < stop:
            yield slice(first, stop)
