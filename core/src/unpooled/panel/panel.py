"""The panel: the variants and alleles that all cohorts of a study agree on, by `unpooled.panel.agreement`.

A variant is sent as chromosome, position, ID and its *sorted* allele pair: the order of A1 and A2 would show
which allele is the rarer one at that cohort. Each cohort sends the digest of its list first, so equal lists
travel only once.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.memory.spool import AT_ONCE, Spool, forget, slices
from unpooled.panel import list_file, partition
from unpooled.panel.alleles import Pair
from unpooled.panel.list_file import BLOCK_ROWS, PART_BYTES
from unpooled.panel.place_names import NamesByPlace, Words

NO_CHROMOSOME, SEVERAL_ALLELES, NEGATIVE = 255, 254, 253
UNUSABLE = {
    NO_CHROMOSOME: "on no known chromosome",
    SEVERAL_ALLELES: "of several alternate alleles",
    NEGATIVE: "at a negative position",
}
"""Codes in place of a chromosome's, of variants that a cohort lists but cannot use; and why."""

_SAMPLED = 64
"""Rows a part whose places are looked at, to cut a list into parts of about one size."""


@dataclass(frozen=True, eq=False)
class Panel:
    """m variants in canonical order: chromosome code, position, ID in ASCII order.

    The columns may be views of a file: what is not looked at is not read.
    """

    chromosome: np.ndarray
    """uint8 (m,): 0 unplaced, 1 … a autosomes, then X = a+1, Y = a+2, XY = a+3, MT = a+4."""
    position: np.ndarray
    """int32 (m,): base pairs."""
    ids: np.ndarray | None
    """bytes (m,), dtype S; None where variants are called after their places."""
    alleles: tuple[bytes, ...]
    """The different alleles that occur."""
    first: np.ndarray
    """unsigned (m,): the pair's first allele in ASCII order, as an index into `alleles`."""
    second: np.ndarray
    """unsigned (m,): the pair's second allele."""
    autosomes: int = 0
    """Number of autosomes of the species, for the names by place; 0 where variants have IDs."""

    def __len__(self) -> int:
        return len(self.position)

    @property
    def name(self) -> np.ndarray:
        """bytes (m,), dtype S: what the variants are called."""
        if self.ids is not None:
            return self.ids
        names = NamesByPlace(self._words, self.chromosome, self.position, self.first, self.second)
        return cast(np.ndarray, names)  # what it does not do as an array, it does as `np.asarray` of it

    @functools.cached_property
    def _words(self) -> Words:
        return Words.of(self.alleles, self.autosomes)

    @property
    def columns(self) -> tuple[np.ndarray | None, ...]:
        """All columns, to be forgotten (`unpooled.memory.spool`)."""
        return self.chromosome, self.position, self.ids, self.first, self.second

    @property
    def by_place(self) -> bool:
        """True if variants are called after their places and alleles."""
        return self.ids is None

    @property
    def counts(self) -> np.ndarray:
        """Variants of each chromosome code, int64 (256,)."""
        each = (np.bincount(self.chromosome[rows], minlength=256) for rows in slices(len(self), BLOCK_ROWS))
        return sum(each, np.zeros(256, np.int64))

    @property
    def usable(self) -> Panel:
        """The variants that their cohort can use, which come before the others."""
        others = int(self.counts[list(UNUSABLE)].sum())
        return self.take(slice(len(self) - others)) if others else self

    def pair(self, variant: int) -> Pair:
        return self.alleles[self.first[variant]], self.alleles[self.second[variant]]

    def take(self, index: np.ndarray | slice) -> Panel:
        """The variants at `index`: positions or truth values, (k,), or a slice, which copies nothing."""
        if not isinstance(index, slice) and len(index) == len(self):
            in_order = index if index.dtype == bool else index == np.arange(len(index))
            if in_order.all():
                return self  # panels are large, and most often all of one is wanted
        some = Panel(
            self.chromosome[index],
            self.position[index],
            None if self.ids is None else self.ids[index],
            self.alleles,
            self.first[index],
            self.second[index],
            self.autosomes,
        )
        if self.by_place:
            some.__dict__["_words"] = self._words  # made once: there may be many alleles
        return some

    def compacted(self) -> Panel:
        """The same with those alleles only that occur."""
        used = list_file.used(self)
        code = (np.cumsum(used) - 1).astype(np.min_scalar_type(len(used)))
        alleles = tuple(self.alleles[k] for k in np.flatnonzero(used).tolist())
        return dataclasses.replace(self, alleles=alleles, first=code[self.first], second=code[self.second])

    @property
    def canonical(self) -> bytes:
        """The form that is digested and sent: `unpooled.panel.list_file`."""
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """The same in pieces, of which no one is large."""
        return list_file.pieces([self])

    def put_away(self) -> Panel:
        """The same, on the disk if it is large (`unpooled.memory.spool`)."""
        return Panel.joined([self])

    @classmethod
    def joined(cls, parts: Iterable[Panel]) -> Panel:
        """Panels of which each goes on where the one before it ends, as one, on the disk if it is large."""
        spool = Spool(np.uint8)
        for piece in list_file.pieces(list(parts)):
            spool.append(np.frombuffer(piece, np.uint8))
        return cls.from_canonical(spool.content())

    @property
    def digest(self) -> bytes:
        """SHA-256 of the canonical form."""
        return self._measured[0]

    @property
    def canonical_bytes(self) -> int:
        """Length of the canonical form."""
        return self._measured[1]

    @functools.cached_property
    def _measured(self) -> tuple[bytes, int]:
        return list_file.measured([self])

    @classmethod
    def from_canonical(cls, data: bytes | mmap.mmap) -> Panel:
        """The panel in a canonical form, of which its columns are views. ProtocolError for other bytes."""
        found = list_file.read(data)
        chromosome = np.repeat(np.arange(256, dtype=np.uint8), found.counts)
        panel = cls(
            chromosome, found.position, found.ids, found.alleles, found.first, found.second, found.autosomes
        )
        panel.check_order()
        panel.__dict__["_measured"] = _digest(data), len(data)  # what `pieces` would come to
        return panel

    @classmethod
    def of_file(cls, path: Path) -> Panel:
        """The panel in a file, which is mapped: it must stay as it is, though it may be deleted."""
        with path.open("rb") as file:
            try:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:  # an empty file cannot be mapped
                return cls.from_canonical(b"")
        return cls.from_canonical(data)

    @property
    def is_in_order(self) -> bool:
        """True if the variants are in canonical order."""
        name = self.name
        for start in range(0, len(self), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS + 1)  # with the first of the next block
            place = places(self.chromosome[part], self.position[part])
            tied = start + np.flatnonzero(place[1:] == place[:-1])
            if np.any(place[1:] < place[:-1]) or np.any(name[tied] > name[tied + 1]):
                return False
            forget(self.chromosome, self.position, self.ids)
        return True

    @property
    def is_alike(self) -> np.ndarray:
        """Marks of the variants with place and alleles of the one after them: bool (m - 1,)."""
        columns = (self.chromosome, self.position, self.first, self.second)
        return np.asarray(np.logical_and.reduce([column[1:] == column[:-1] for column in columns]))

    def check_order(self) -> None:
        """ProtocolError unless the variants are in canonical order."""
        if not self.is_in_order:
            raise ProtocolError("a list of variants is not sorted by chromosome, position and ID")

    @classmethod
    def of(cls, variants: Iterable[tuple[int, int, bytes, bytes, bytes]]) -> Panel:
        """A small panel from tuples (chromosome, position, ID, allele, allele): for tests and notebooks."""
        rows = list(variants)
        alleles = tuple(sorted({allele for row in rows for allele in row[3:]}))
        code = {allele: k for k, allele in enumerate(alleles)}
        columns = list(zip(*rows, strict=True)) or [(), (), (), (), ()]
        pairs = np.sort(
            [[code[a], code[b]] for a, b in zip(*columns[3:], strict=True)] or np.empty((0, 2)), axis=1
        )
        names = np.array(columns[2], dtype="S") if rows else np.array([], dtype="S1")
        chromosome, position = np.array(columns[0], np.uint8), np.array(columns[1], np.int32)
        order = canonical_order(chromosome, position, names)
        panel = cls(chromosome, position, names, alleles, *pairs.astype(np.uint32).T)
        return panel.take(order)


def _digest(data: bytes | mmap.mmap) -> bytes:
    sha256, whole = hashlib.sha256(), np.frombuffer(data, np.uint8)
    for part in slices(len(whole), PART_BYTES):
        sha256.update(whole[part].data)
        forget(whole)
    return sha256.digest()


def canonical_order(chromosome: np.ndarray, position: np.ndarray, name: np.ndarray) -> np.ndarray:
    """The order of the rows by chromosome, position and ID in ASCII order, int64 (m,). Stable."""
    place = places(chromosome, position)
    order = np.argsort(place, kind="stable")
    placed = place[order]
    # Names decide only where places coincide; sorting those few is much cheaper than sorting all.
    shared = np.zeros(len(order) + 1, bool)
    shared[1:-1] = placed[1:] == placed[:-1]
    tied = np.flatnonzero(shared[1:] | shared[:-1])
    order[tied] = order[tied][np.lexsort((name[order[tied]], placed[tied]))]
    return order


def places(chromosome: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Chromosome and position as one number, int64 (m,), in the same order."""
    return np.asarray(chromosome.astype(np.int64) << 32 | position)


def place_cuts(panels: Sequence[Panel], parts: int) -> np.ndarray:
    """Ascending places that cut all variants of some lists into so many parts of about one size, or fewer."""
    sampled = [np.zeros(0, np.int64)]
    for panel in panels:
        few = np.linspace(0, len(panel) - 1, _SAMPLED * parts).astype(np.int64) if len(panel) else slice(0)
        sampled.append(places(panel.chromosome[few], panel.position[few]))
    sample = np.sort(np.concatenate(sampled))
    return np.unique(sample[len(sample) * np.arange(1, parts) // parts]) if len(sample) else sample


def between_cuts(panel: Panel, cuts: np.ndarray) -> list[slice]:
    """The rows of a list in canonical order before, between and after ascending places, in one slice each."""
    counts = panel.counts
    starts = np.cumsum(counts) - counts
    bounds = [0]
    for code, position in zip((cuts >> 32).tolist(), (cuts & 0xFFFFFFFF).tolist(), strict=True):
        start = int(starts[code])
        bounds.append(
            start + int(np.searchsorted(panel.position[start : start + int(counts[code])], position))
        )
    return [slice(*pair) for pair in itertools.pairwise([*bounds, len(panel)])]


def order_in_parts(panel: Panel, at_once: int = AT_ONCE) -> Iterator[np.ndarray]:
    """The canonical order of rows that are in any, in parts of about `at_once`, which go on one another.

    Variants of one place are in one part, so that the order is that of all rows at once.
    """
    cuts = place_cuts([panel], partition.number_of_parts(len(panel), at_once))
    each = (places(panel.chromosome[rows], panel.position[rows]) for rows in slices(len(panel), at_once))
    for rows in partition.members(partition.by_cuts(each, cuts), len(cuts) + 1, at_once):
        some = panel.take(rows)
        yield rows[canonical_order(some.chromosome, some.position, some.name)]
