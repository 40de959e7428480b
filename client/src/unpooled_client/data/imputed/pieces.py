"""Variants with their dosages, some at a time, as they come from a file of another format than PLINK's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from unpooled.errors import DataProblem
from unpooled_client.data.findings.report import shown
from unpooled_client.data.plink.split import misspelt

BYTES = 1 << 23  # of dosages at once

Progress = Callable[[int, int], None]
"""Hears how many variants are done, and of how many; of 0 where that is not known."""
Reading = Callable[[Path, int, int], None]
"""Hears the same of a file that is copied; of any other, 0 of 1 when it is opened, then 1 of 1."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some variants of n people."""

    lines: list[str]
    """Chromosome, position, ID, REF and ALT, with tabs between; several alternate alleles with commas."""
    dosages: np.ndarray
    """uint16 (r, n): of each line's alternate alleles, as `unpooled.asking.cohort.Dosages` says."""
    quality: np.ndarray
    """float32 (r,): of imputation (`unpooled_client.data.plink.imputation`); NaN where there is none."""


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
    def lacks_quality(self) -> str:
        """Why no variant has a quality, in words; empty if they have."""

    def rows(self, progress: Progress) -> int:
        """Count the rows of dosages that `pieces` has: of each variant one for each alternate allele."""

    def pieces(self, notes: Counter[str]) -> Iterator[Piece]:
        """All variants in their order; `notes` counts what is odd. DataProblem if the file is damaged."""


@contextmanager
def readable(path: Path, formats: str, remedy: str) -> Iterator[None]:
    """Turn what a package raises into a DataProblem. Of damage they raise nearly anything."""
    try:
        yield
    except (DataProblem, ImportError):
        raise
    except Exception as error:
        raise DataProblem(
            f"the file is damaged or cut off, or is no {formats}",
            file=path,
            remedy=f"{remedy}. Its reader says: {shown(str(error))}",
        ) from error


@contextmanager
def told(reading: Reading, *files: Path) -> Iterator[None]:
    """Report these files as opened, and afterwards as read."""
    for done in range(2):
        for file in files:
            reading(file, done, 1)
        if not done:
            yield


def at_once(people: int) -> int:
    """Return the number of variants in a piece."""
    return max(1, min(4096, BYTES // (2 * people)))


Row = tuple[str, np.ndarray, np.ndarray]
"""The line of one variant, and its alternate alleles' dosages, (alleles, n), and quality, (alleles,)."""


def pieces_of(rows: Iterable[Row], size: int) -> Iterator[Piece]:
    """The rows in pieces of a size."""
    waiting = iter(rows)
    while some := list(islice(waiting, size)):
        lines, dosages, quality = zip(*some, strict=True)
        yield Piece(list(lines), np.concatenate(dosages), np.concatenate(quality, dtype=np.float32))


def line_of(file: Path, chromosome: str, position: int, name: str, ref: str, alt: Sequence[str]) -> str:
    """A line of a .pvar. DataProblem if an allele or a chromosome has blanks, which would shift columns."""
    words = [chromosome, str(position), "_".join(name.split()) or ".", ref, ",".join(alt) or "."]
    if any(len(word.split()) > 1 or word != word.strip() for word in words):
        raise DataProblem(
            f"a chromosome or an allele has blanks: {shown(' '.join(words))}",
            file=file,
            remedy="The file is damaged, or whatever wrote it is. Write it again.",
        )
    if len(alt) > 1 and (wrong := misspelt(words[-1].encode())):
        raise DataProblem(
            f"{wrong}, at {chromosome}:{position}: {shown(words[-1])}",
            file=file,
            remedy="The file is damaged, or whatever wrote it is. Write it again, or leave the variant out.",
        )
    return "\t".join(word or "." for word in words)
