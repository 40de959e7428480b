"""A cohort's own list of variants. A long one lies on the disk, and is gone through in parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from unpooled.memory.spool import AT_ONCE, ROOM, Spool, forget, slices
from unpooled.panel.chromosomes import chromosome_name
from unpooled.panel.panel import Panel, order_in_parts
from unpooled_client.data.findings.report import EXAMPLES, at
from unpooled_client.data.plink.split import WHOLE, Split


@dataclass(frozen=True, eq=False)
class Variants:
    """A cohort's own list of variants: m of the `rows` variants of the file, without those passed over."""

    panel: Panel
    row: np.ndarray
    """int32 (m,): row of each variant in the .bed or .pgen, as `unpooled_client.data.plink.split` counts."""
    a1_is_first: np.ndarray
    """bool (m,): the file's A1 is `panel.first`."""
    line: np.ndarray
    """uint32 (m,): of the file."""
    rows: int
    """Lines of variants in the file, those that are too short included."""
    about: dict[str, Any] = field(default_factory=dict)
    """Summary of the alleles and the build of the whole file."""
    unusable: Panel | None = None
    """The variants that are passed over, with one of `unpooled.panel.panel.UNUSABLE` for a chromosome."""
    split: Split = WHOLE
    """The rows of several alternate alleles."""

    def __len__(self) -> int:
        return len(self.panel)

    def part(self, index: slice | np.ndarray) -> Variants:
        """Some of them, as a slice or positions or truth values say; in memory, but for a slice."""
        return dataclasses.replace(
            self,
            panel=self.panel.take(index),
            row=self.row[index],
            a1_is_first=self.a1_is_first[index],
            line=self.line[index],
        )

    def parts(self, at_once: int = AT_ONCE) -> Iterator[tuple[slice, Variants]]:
        """All, some at a time; those that were looked at are dropped from memory."""
        for rows in slices(len(self), at_once):
            yield rows, self.part(rows)
            self.forget()

    @property
    def _of_file(self) -> dict[str, Any]:
        """Return what is known of the whole file."""
        return {"about": self.about, "unusable": self.unusable, "split": self.split}

    def take(self, chosen: np.ndarray) -> Variants:
        """Some of them: bool (m,)."""
        if chosen.all():
            return self
        listing = Listing(self.panel)
        for rows, part in self.parts():
            listing.append(part.part(chosen[rows]))
        return listing.variants(self.rows, **self._of_file)

    def in_order(self, room: int = ROOM, at_once: int = AT_ONCE) -> Variants:
        """The same in canonical order."""
        if self.panel.is_in_order:
            return self
        listing = Listing(self.panel, room)
        for rows in order_in_parts(self.panel, at_once):
            listing.append(self.part(rows))
            self.forget()
        return listing.variants(self.rows, **self._of_file)

    def sorted_rows(self, which: Callable[[Panel], np.ndarray]) -> np.ndarray:
        """The rows in the file of those for which `which`, bool (k,) of some of them, holds; ascending."""
        spool, last, is_sorted = Spool(np.int32), -1, True
        for _, part in self.parts():
            rows = part.row[which(part.panel)]
            if len(rows):
                is_sorted &= last < rows[0] and not np.any(rows[1:] < rows[:-1])
                last = rows[-1]
            spool.append(rows)
        return spool.column() if is_sorted else np.sort(spool.column())

    def forget(self) -> None:
        """Drop from memory what is mapped."""
        forget(*self.panel.columns, self.row, self.a1_is_first, self.line)


class Listing:
    """Variants that come part by part. `like`: a panel with their alleles, named as they are."""

    def __init__(self, like: Panel, room: int = ROOM) -> None:
        self._like = like
        kinds: dict[str, DTypeLike] = {
            "chromosome": np.uint8,
            "position": np.int32,
            **({} if like.ids is None else {"ids": like.ids.dtype}),
            "first": like.first.dtype,
            "second": like.second.dtype,
            "row": np.int32,
            "a1_is_first": np.bool_,
            "line": np.uint32,
        }
        self._spools = {name: Spool(kind, room) for name, kind in kinds.items()}

    def append(self, part: Variants) -> None:
        for name, spool in self._spools.items():
            spool.append(getattr(part.panel if hasattr(part.panel, name) else part, name))

    def variants(self, rows: int, **more: Any) -> Variants:
        """All that came, of so many variants in the file; `more` is known of the whole file."""
        columns: dict[str, Any] = {name: spool.column() for name, spool in self._spools.items()}
        own = {name: columns.pop(name) for name in ("row", "a1_is_first", "line")}
        return Variants(dataclasses.replace(self._like, **columns), **own, rows=rows, **more)


@dataclass
class Found:
    """Variants of some kind: how many there are, and the first few in the file."""

    count: int = 0
    lines: Sequence[int] = ()
    rows: Sequence[int] = ()
    """Rows of the examples in the list that was searched."""

    def add(self, rows: np.ndarray, lines: np.ndarray) -> None:
        """Some more, by their rows and lines, (k,) each."""
        self.count += len(rows)
        # The first few without sorting all, of which there may be millions.
        few = np.s_[:] if len(rows) <= EXAMPLES else np.argpartition(lines, EXAMPLES)[:EXAMPLES]
        pairs = zip(lines[few].tolist(), rows[few].tolist(), strict=True)
        first = sorted([*zip(self.lines, self.rows, strict=True), *pairs])[:EXAMPLES]
        self.lines, self.rows = [line for line, _ in first], [row for _, row in first]

    def at(self, path: Path, show: Callable[[int], bytes | str], column: int | None = None) -> dict[str, Any]:
        """Return details of a finding about these: `show` says what stands at a row."""
        return at(path, self.lines, map(show, self.rows), column) | {"count": self.count}

    def __bool__(self) -> bool:
        return self.count > 0


def found(variants: Variants, which: Callable[[Variants], np.ndarray], at_once: int = AT_ONCE) -> Found:
    """The variants for which `which`, bool (k,) of some of them, holds."""
    all_of_them = Found()
    for rows, part in variants.parts(at_once):
        here = np.flatnonzero(which(part))
        all_of_them.add(rows.start + here, part.line[here])
    return all_of_them


def found_beside(variants: Variants, which: Callable[[Variants], np.ndarray], at_once: int) -> Found:
    """The variants for which `which`, bool (k - 1,) of k in a row, says something of one and the one before:
    the later ones of each pair."""
    all_of_them = Found()
    for rows in slices(len(variants), at_once):
        start = max(rows.start - 1, 0)
        part = variants.part(slice(start, rows.stop))
        here = 1 + np.flatnonzero(which(part))
        all_of_them.add(start + here, part.line[here])
        variants.forget()
    return all_of_them


def by_chromosome(variants: Variants, autosomes: int) -> dict[str, int]:
    """Number of variants of each chromosome that has any."""
    counts = variants.panel.counts
    return {chromosome_name(int(c), autosomes): int(counts[c]) for c in np.flatnonzero(counts)}
