"""Layout of the columns of a .bim or a .pvar."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """Index of the word of a line, from 0, that holds each field."""

    chromosome: int
    name: int
    position: int
    a1: int
    a2: int
    centimorgans: int | None = None

    @property
    def columns(self) -> int:
        """Minimum number of words in a line."""
        return 1 + max(self.chromosome, self.name, self.position, self.a1, self.a2)

    @classmethod
    def of_bim(cls, words: int) -> Layout:
        """Return the layout of a .bim whose first line has `words` words."""
        return cls(0, 1, 2, 3, 4) if words == 5 else cls(0, 1, 3, 4, 5, 2)

    @classmethod
    def of_pvar(cls, header: Sequence[bytes]) -> Layout | None:
        """Return the layout that a header gives; None if it lacks a column."""
        place = {name: index for index, name in reversed(list(enumerate(header)))}
        if not place.keys() >= {b"#CHROM", b"POS", b"ID", b"REF", b"ALT"}:
            return None
        chromosome, name, position, a1, a2 = (place[w] for w in (b"#CHROM", b"ID", b"POS", b"ALT", b"REF"))
        return cls(chromosome, name, position, a1, a2, place.get(b"CM"))

    def __str__(self) -> str:
        """The columns in their order, in words."""
        places = {
            self.chromosome: "chromosome",
            self.name: "ID",
            self.position: "position",
            self.a1: "A1",
            self.a2: "A2",
            self.centimorgans: "cM",
        }
        return ", ".join(places.get(column, "…") for column in range(self.columns))


def kind_of(path: Path) -> str:
    """A .pvar by its name, else a .bim."""
    return ".pvar" if path.suffix == ".pvar" else ".bim"


def called(path: Path) -> str:
    """Return the name of the file in messages, as "the .bim file"."""
    return f"the {kind_of(path)} file"


def header_of(data: bytes, first_line: int) -> tuple[int, list[bytes]]:
    """The number and the words of the line that begins with `#CHROM`; no words if a variant is before it."""
    for number, line in enumerate(io.BytesIO(data), first_line):
        if line.startswith(b"#CHROM"):
            return number, line.split()
        if line.strip() and not line.startswith(b"#"):
            break
    return 0, []
