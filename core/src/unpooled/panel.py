"""The panel: the variants and alleles that all cohorts of a study agree on.

A variant is sent as chromosome, position, ID and its *sorted* allele pair: the order of A1 and A2 would show
which allele is the rarer one at that cohort. Each cohort sends the digest of its list first, so equal lists
travel only once.

Rules, by which no variant of one cohort ever stops a study (`reconcile`):

- left out, with the reason: no ID, an ID that appears twice in one cohort's list, a variant that a cohort
  lacks, different chromosomes or positions, alleles that fit neither as they are nor on the other strand;
  readers of lists write bases in capitals (`capital`), so the case of letters decides nothing;
- the pair that most cohorts name is the panel's (on a tie the first in ASCII order); a cohort that names the
  complementary pair is read on the other strand; `0` stands for an allele that a cohort has not seen, and
  where each has seen one at most, all must have seen the same;
- A/T and C/G pairs look the same on both strands: taken as they stand, and listed.
"""

from __future__ import annotations

import functools
import hashlib
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unpooled import text
from unpooled.alleles import UNSEEN, Pair, agree, crossed, is_ambiguous, strand
from unpooled.errors import ProtocolError

UNNAMED = b"."

MAX_BYTES = 1 << 29
"""Of the canonical text of a list of variants; longer ones are not taken."""

SHORTEST_LINE = len(b"1\t1\ta\tA\tC\n")
"""Bytes of a variant in it, at least."""

_BLOCK_ROWS = 1 << 15


@dataclass(frozen=True, eq=False)
class Panel:
    """m variants in canonical order: chromosome code, position, ID in ASCII order."""

    chromosome: np.ndarray
    """uint8 (m,): 0 unplaced, 1 … a autosomes, then X = a+1, Y = a+2, XY = a+3, MT = a+4."""
    position: np.ndarray
    """int32 (m,): base pairs."""
    name: np.ndarray
    """bytes (m,), dtype S: the variants' IDs."""
    alleles: tuple[bytes, ...]
    """The different alleles that occur."""
    first: np.ndarray
    """uint32 (m,): the pair's first allele in ASCII order, as an index into `alleles`."""
    second: np.ndarray
    """uint32 (m,): the pair's second allele."""

    def __len__(self) -> int:
        return len(self.position)

    def pair(self, variant: int) -> Pair:
        return self.alleles[self.first[variant]], self.alleles[self.second[variant]]

    def take(self, index: np.ndarray) -> Panel:
        """The variants at `index`: positions or truth values, (k,)."""
        in_order = index if index.dtype == bool else index == np.arange(len(index))
        if len(index) == len(self) and in_order.all():
            return self  # panels are large, and most often all of one is wanted
        return Panel(
            self.chromosome[index],
            self.position[index],
            self.name[index],
            self.alleles,
            self.first[index],
            self.second[index],
        )

    @property
    def canonical(self) -> bytes:
        """The text that is digested and sent: a line per variant, its five words between tabs."""
        return b"".join(self._blocks())

    @property
    def digest(self) -> bytes:
        """SHA-256 of the canonical text."""
        return self._measured[0]

    @property
    def canonical_bytes(self) -> int:
        """How long the canonical text is."""
        return self._measured[1]

    @functools.cached_property
    def _measured(self) -> tuple[bytes, int]:
        sha256, size = hashlib.sha256(), 0
        for block in self._blocks():
            sha256.update(block)
            size += len(block)
        return sha256.digest(), size

    def _blocks(self) -> Iterator[bytes]:
        """The canonical text in pieces: the list of all rows, as Python's objects, has ten times its size."""
        alleles, columns = self.alleles, (self.chromosome, self.position, self.name, self.first, self.second)
        for start in range(0, len(self), _BLOCK_ROWS):
            rows = zip(*(column[start : start + _BLOCK_ROWS].tolist() for column in columns), strict=True)
            yield b"".join(
                [b"%d\t%d\t%b\t%b\t%b\n" % (c, p, n, alleles[f], alleles[s]) for c, p, n, f, s in rows]
            )

    @classmethod
    def from_canonical(cls, data: bytes | mmap.mmap) -> Panel:
        """The panel in a canonical text; ProtocolError for any other text."""
        if not data:
            return cls.of([])
        alleles: dict[bytes, int] = {}
        blocks = [_columns(block, line, alleles) for block, line in text.blocks(data)]
        chromosome, position, name, first, second = map(np.concatenate, zip(*blocks, strict=True))
        panel = cls(chromosome, position, name, tuple(alleles), first, second)
        # What would be found by rendering every line again.
        panel.__dict__["_measured"] = hashlib.sha256(data).digest(), len(data)
        panel._check_order()
        return panel

    def _check_order(self) -> None:
        if not np.array_equal(
            canonical_order(self.chromosome, self.position, self.name), np.arange(len(self))
        ):
            raise ProtocolError("a list of variants is not sorted by chromosome, position and ID")
        rank = np.argsort(np.argsort(np.array(self.alleles, dtype=object)))
        if np.any(rank[self.first] > rank[self.second]):
            raise ProtocolError("a list of variants has a pair of alleles that is not sorted")

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


def _columns(data: bytes, line: int, alleles: dict[bytes, int]) -> tuple[np.ndarray, ...]:
    """The columns of some lines of a canonical text, the first of which is `line`; numbers new `alleles`."""
    tokens = text.tokenize(data, line)
    _check_form(data, tokens)
    pair = []
    for j in (3, 4):
        code, words = text.distinct(tokens.text, *tokens.column(j))
        pair.append(np.array([alleles.setdefault(word, len(alleles)) for word in words], np.uint32)[code])
    chromosome, position = _number(tokens, 0, 255), _number(tokens, 1, 2**31 - 1)
    name = text.strings(tokens.text, *tokens.column(2))
    return chromosome.astype(np.uint8), position.astype(np.int32), name, *pair


def _check_form(data: bytes, tokens: text.Tokens) -> None:
    """ProtocolError unless every line is five words with one tab between any two."""
    rows = len(tokens)
    blanks = len(data) - int((tokens.end - tokens.start).sum())
    if (
        np.any(tokens.widths != 5)
        or (data.count(b"\t"), data.count(b"\n"), blanks) != (4 * rows, rows, 5 * rows)
        or not data.endswith(b"\n")
    ):
        raise ProtocolError("a list of variants has five words in each line, and one tab between any two")


def _number(tokens: text.Tokens, j: int, largest: int) -> np.ndarray:
    """Word `j` of each line as a number from 0 to `largest`, written without sign or leading zero."""
    start, end = tokens.column(j)
    values, good = text.integers(tokens.text, start, end)
    lead = tokens.text[start]
    plain = (lead >= ord("1")) | ((lead == ord("0")) & (end - start == 1))
    fine = good & plain & (lead <= ord("9")) & (values <= largest)
    if not fine.all():
        line = tokens.line[np.argmin(fine)]
        raise ProtocolError(f"list of variants, line {line}, word {j + 1}: want a number up to {largest}")
    return values


def canonical_order(chromosome: np.ndarray, position: np.ndarray, name: np.ndarray) -> np.ndarray:
    """The order of the rows by chromosome, position and ID in ASCII order, int64 (m,). Stable."""
    place = chromosome.astype(np.int64) << 32 | position
    order = np.argsort(place, kind="stable")
    placed = place[order]
    # Names decide only where places coincide; sorting those few is much cheaper than sorting all.
    shared = np.zeros(len(order) + 1, bool)
    shared[1:-1] = placed[1:] == placed[:-1]
    tied = np.flatnonzero(shared[1:] | shared[:-1])
    order[tied] = order[tied][np.lexsort((name[order[tied]], placed[tied]))]
    return order


@dataclass(frozen=True, eq=False)
class Remark:
    """Why some variants were left out (`kept` is False), or what is to be known of some that are in."""

    text: str
    kept: bool
    variants: Panel


@dataclass(frozen=True, eq=False)
class Agreement:
    """The panel that cohorts agree on, and what is to be said of single variants."""

    panel: Panel
    remarks: tuple[Remark, ...] = ()

    def table(self) -> bytes:
        """The remarks as tab-separated text, a line for each variant and remark, in canonical order."""
        return b"".join([b"CHR\tBP\tSNP\tSTATUS\tREMARK\n", *self._lines()])

    def _lines(self) -> Iterator[bytes]:
        """In pieces: the list of all rows, as Python's objects, has ten times their size."""
        if not self.remarks:
            return
        remarks = sorted(self.remarks, key=lambda remark: (not remark.kept, remark.text.encode()))
        ends = [
            b"%b\t%b" % (b"in" if remark.kept else b"left out", remark.text.encode()) for remark in remarks
        ]
        variants = _concatenate([remark.variants for remark in remarks])
        which = np.repeat(np.arange(len(remarks)), [len(remark.variants) for remark in remarks])
        columns = (which, variants.name, variants.position, variants.chromosome)
        order = np.lexsort(columns)
        for start in range(0, len(order), _BLOCK_ROWS):
            part = order[start : start + _BLOCK_ROWS]
            rows = zip(*(column[part].tolist() for column in columns), strict=True)
            yield b"".join([b"%d\t%d\t%b\t%b\n" % (c, p, n, ends[k]) for k, n, p, c in rows])


def reconcile(lists: Mapping[str, Panel]) -> Agreement:
    """The panel of the variants that every cohort has, by the rules above.

    `lists` maps cohort names to their own lists. The result does not depend on their order.
    """
    cohorts = sorted(lists)
    panels = [lists[cohort] for cohort in cohorts]
    distinct = {panel.digest: panel for panel in panels}
    places = {digest: place for place, digest in enumerate(distinct)}
    which = [places[panel.digest] for panel in panels]
    return _Reconciliation(cohorts, which, list(distinct.values())).agreement()


def _by_name(panels: Sequence[Panel]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Number all IDs; per panel: the first row of each ID (-1 where absent), and how often it is there."""
    width = max(panel.name.dtype.itemsize for panel in panels)
    names = np.concatenate([panel.name.astype(f"S{width}") for panel in panels])
    start = np.arange(len(names)) * width
    code, first = text.classes(names.view(np.uint8), start, start + width)
    tables, at = [], 0
    for panel in panels:
        own = code[at : at + len(panel)]
        row = np.full(len(first), -1, np.int32)
        row[own[::-1]] = np.arange(len(panel), dtype=np.int32)[::-1]
        tables.append((row, np.bincount(own, minlength=len(first)).astype(np.int32)))
        at += len(panel)
    return tables


class _Reconciliation:
    """One call of `reconcile`: goes through the rules, and keeps what is to be said."""

    def __init__(self, cohorts: list[str], which: list[int], panels: list[Panel]):
        """`panels` are the different lists, by the first cohort that has each; `which` is each cohort's."""
        self.cohorts, self.which, self.panels = cohorts, which, panels
        rows, times = zip(*_by_name(panels), strict=True)
        self.rows, self.times = np.stack(rows), np.stack(times)  # (lists, IDs)
        self.remarks: list[Remark] = []

    def agreement(self) -> Agreement:
        keep = np.ones(self.rows.shape[1], bool)
        for rule in (self._named, self._single, self._present, self._same_place):
            variants = np.flatnonzero(keep)
            keep[variants] = rule(variants)
        panel = self._with_alleles(np.flatnonzero(keep))
        return Agreement(panel, tuple(self.remarks))

    def _named(self, variants: np.ndarray) -> np.ndarray:
        bad = np.asarray(self._variants(variants).name == UNNAMED)
        self._remark(variants[bad], False, "has no ID: name it, e.g. with plink2 --set-missing-var-ids @:#")
        return ~bad

    def _single(self, variants: np.ndarray) -> np.ndarray:
        return self._leave_out(variants, self.times[:, variants] > 1, "ID appears more than once at")

    def _present(self, variants: np.ndarray) -> np.ndarray:
        return self._leave_out(variants, self.rows[:, variants] < 0, "absent at")

    def _leave_out(self, variants: np.ndarray, bad: np.ndarray, what: str) -> np.ndarray:
        """Leave out what is bad, bool (lists, variants), in any list; bool (variants,): what stays."""
        good = ~np.asarray(bad.any(axis=0))
        for at, members in _cases(bad[:, ~good]):
            self._remark(variants[~good][members], False, f"{what} {self._who(at)}")
        return good

    def _same_place(self, variants: np.ndarray) -> np.ndarray:
        places = np.stack(
            [
                panel.chromosome[rows].astype(np.int64) << 32 | panel.position[rows]
                for panel, rows in zip(self.panels, self.rows[:, variants], strict=True)
            ]
        )
        same = np.asarray((places == places[0]).all(axis=0))
        for k in np.flatnonzero(~same):
            seen = [f"{place >> 32}:{place & 0xFFFFFFFF}" for place in np.unique(places[:, k]).tolist()]
            self._remark(variants[[k]], False, f"is at different positions: {', '.join(seen)}")
        return same

    def _with_alleles(self, variants: np.ndarray) -> Panel:
        alleles = tuple(sorted({allele for panel in self.panels for allele in panel.alleles}))
        chosen, keep = self._chosen(variants, alleles)
        base, chosen = self._variants(variants[keep]), chosen[keep]
        panel = Panel(base.chromosome, base.position, base.name, alleles, chosen[:, 0], chosen[:, 1])
        return panel.take(canonical_order(panel.chromosome, panel.position, panel.name))

    def _chosen(self, variants: np.ndarray, alleles: tuple[bytes, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of the variants, uint32 (variants, 2), and which have one, bool (variants,)."""
        code = {allele: k for k, allele in enumerate(alleles)}
        pairs = np.stack([self._pairs(k, variants, code) for k in range(len(self.panels))])
        chosen, keep = np.zeros((len(variants), 2), np.uint32), np.zeros(len(variants), bool)
        # All variants for which the lists name the same pairs share their fate: look at each case once.
        for case, members in _cases(pairs):
            target = self._settle(tuple((alleles[a], alleles[b]) for a, b in case), variants[members])
            if target is not None:
                chosen[members], keep[members] = [code[allele] for allele in target], True
        return chosen, keep

    def _pairs(self, k: int, variants: np.ndarray, code: Mapping[bytes, int]) -> np.ndarray:
        """The allele pairs of a list, (variants, 2), as numbers that all lists share."""
        panel, rows = self.panels[k], self.rows[k, variants]
        shared = np.array([code[allele] for allele in panel.alleles], np.uint32)
        return np.stack([shared[panel.first[rows]], shared[panel.second[rows]]], axis=1)

    def _settle(self, pairs: tuple[Pair, ...], variants: np.ndarray) -> Pair | None:
        """The pair for variants of which the lists name `pairs`, one each; None if there is none."""
        of_cohorts = tuple(pairs[k] for k in self.which)
        target = agree(of_cohorts)
        if target is None:
            named = [f"{_text(pair)} at {who}" for pair, who in zip(of_cohorts, self.cohorts, strict=True)]
            within = any(UNSEEN not in pair for pair in pairs)
            reason = "alleles cannot be reconciled" if within else "varies between cohorts but within none"
            self._remark(variants, False, f"{reason}: {', '.join(named)}")
            return None
        flipped = np.array([strand(pair, target) < 0 for pair in pairs])
        if flipped.any():
            self._remark(variants, True, f"read on the other strand at {self._who(flipped)}")
        if is_ambiguous(target):
            self._remark(variants, True, "A/T or C/G: the strand cannot be told, taken as it is")
        return target

    def _who(self, lists: np.ndarray) -> str:
        """The cohorts that have one of these lists, bool (lists,)."""
        return ", ".join(cohort for cohort, k in zip(self.cohorts, self.which, strict=True) if lists[k])

    def _remark(self, variants: np.ndarray, kept: bool, text: str) -> None:
        if len(variants):
            self.remarks.append(Remark(text, kept, self._variants(variants)))

    def _variants(self, variants: np.ndarray) -> Panel:
        """The variants as the first cohort that has each of them lists it."""
        row, panel = self.rows[0, variants], self.panels[0]
        if (row >= 0).all():
            return panel.take(row)
        having = np.argmax(self.rows[:, variants] >= 0, axis=0)
        return _concatenate(
            [panel.take(self.rows[k, variants[having == k]]) for k, panel in enumerate(self.panels)]
        ).take(np.argsort(np.argsort(having, kind="stable"), kind="stable"))


def _concatenate(panels: Sequence[Panel]) -> Panel:
    alleles = tuple(sorted({allele for panel in panels for allele in panel.alleles}))
    code = {allele: k for k, allele in enumerate(alleles)}
    maps = [np.array([code[allele] for allele in panel.alleles], np.uint32) for panel in panels]
    return Panel(
        np.concatenate([panel.chromosome for panel in panels]),
        np.concatenate([panel.position for panel in panels]),
        np.concatenate([panel.name for panel in panels]),
        alleles,
        np.concatenate([own[panel.first] for own, panel in zip(maps, panels, strict=True)]),
        np.concatenate([own[panel.second] for own, panel in zip(maps, panels, strict=True)]),
    )


def _text(pair: Pair) -> str:
    return "/".join(allele.decode("utf-8", "replace") for allele in pair)


def _cases(table: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """The different columns of a table (cohorts, variants, ...), each with the variants that have it."""
    if not table.shape[1]:
        return
    flat = np.ascontiguousarray(np.moveaxis(table, 1, 0)).reshape(table.shape[1], -1).view(np.uint8)
    width = flat.shape[1]
    start = np.arange(len(flat)) * width
    code, first = text.classes(flat.ravel(), start, start + width)
    order = np.argsort(code, kind="stable")
    bounds = np.flatnonzero(np.diff(code[order])) + 1
    for k, members in zip(first, np.split(order, bounds), strict=True):
        yield table[:, k], members


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where a panel's variants are in a cohort's own list."""

    index: np.ndarray
    """int64 (m,): the entry of the cohort's own list; -1 where it has none that can be reconciled."""
    swapped: np.ndarray
    """bool (m,): the allele that the cohort's file calls A1 is the panel's second."""


def align(panel: Panel, own: Panel, a1_is_first: np.ndarray) -> Alignment:
    """Find the panel's variants in a cohort's own list.

    `a1_is_first`, bool (len(own),), says whether the file's A1 is `own.first`.
    """
    index = _find(panel, own)
    swapped = np.zeros(len(panel), bool)
    found = np.flatnonzero(index >= 0)
    rows = index[found]
    wanted = np.stack([panel.first[found], panel.second[found]], axis=1)
    had = np.stack([own.first[rows], own.second[rows]], axis=1)
    for (want, have), members in _cases(np.stack([wanted, had])):
        is_crossed = crossed(_pair(own.alleles, have), _pair(panel.alleles, want))
        if is_crossed is None:
            index[found[members]] = -1
        else:
            swapped[found[members]] = a1_is_first[rows[members]] == is_crossed
    return Alignment(index, swapped)


def _pair(alleles: tuple[bytes, ...], codes: np.ndarray) -> Pair:
    return alleles[codes[0]], alleles[codes[1]]


def _find(panel: Panel, own: Panel) -> np.ndarray:
    """The row in `own` of each of the panel's variants by ID and place, -1 where there is no single one."""
    if own is panel or own.digest == panel.digest:
        return np.arange(len(panel))
    wanted, had = _by_name([panel, own])
    index = np.full(len(panel), -1)
    known = np.flatnonzero((wanted[0] >= 0) & (had[1] == 1))
    index[wanted[0][known]] = had[0][known]
    rows = index.clip(0)
    if len(own):
        same = (own.chromosome[rows] == panel.chromosome) & (own.position[rows] == panel.position)
        index[~same] = -1
    return index
