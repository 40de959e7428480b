"""Agreement of cohorts on a panel, and alignment of a cohort's own list with it.

Rules, by which no variant of one cohort ever stops a study (`reconcile`):

- left out, with the reason: one that a cohort cannot use (`unpooled.panel.panel.UNUSABLE`), no ID, an ID that
  appears twice in one cohort's list, a variant that a cohort lacks, different chromosomes or positions,
  alleles that fit neither as they are nor on the other strand; readers of lists write bases in capitals
  (`capital`), so the case of letters decides nothing;
- the pair that most cohorts name is the panel's (on a tie the first in ASCII order); a cohort that names the
  complementary pair is read on the other strand; `0` stands for an allele that a cohort has not seen, and
  where each has seen one at most, all must have seen the same;
- A/T and C/G pairs look the same on both strands: taken as they stand, and listed.

Lists of variants are gone through in `windows`: nothing is made of whole ones. Where variants are called
after their places a window is a stretch of the genome. One ID may stand at two places: by ID a window has the
variants of some hashes of the IDs, and what was agreed on is put in order afterwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unpooled.memory import tokenizer
from unpooled.memory.spool import filled, forget, slices
from unpooled.panel import partition
from unpooled.panel.alleles import UNSEEN, Pair, agree, crossed, is_ambiguous, strand
from unpooled.panel.panel import UNUSABLE, Panel, between_cuts, canonical_order, place_cuts, places

UNNAMED = b"."

WINDOW_ROWS = 1 << 20
"""Variants of all lists together that are looked at at once, about."""

TABLE_HEADER = b"CHR\tBP\tSNP\tSTATUS\tREMARK\n"

_BLOCK_ROWS = 1 << 15
_TOLD = 1000
"""Variants of a window of which it is said where they are, one by one: of another build almost all differ."""


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
        return b"".join([TABLE_HEADER, *self.lines()])

    @property
    def left_out(self) -> int:
        """Number of variants that are left out."""
        return sum(len(remark.variants) for remark in self.remarks if not remark.kept)

    def lines(self) -> Iterator[bytes]:
        """Yield that table in pieces: the list of all rows, as Python objects, takes ten times their size."""
        if not self.remarks:
            return
        remarks = sorted(self.remarks, key=lambda remark: (not remark.kept, remark.text.encode()))
        ends = [
            b"%b\t%b" % (b"in" if remark.kept else b"left out", remark.text.encode()) for remark in remarks
        ]
        variants = _concatenate([remark.variants for remark in remarks])
        which = np.repeat(np.arange(len(remarks)), [len(remark.variants) for remark in remarks])
        chromosome = np.where(np.isin(variants.chromosome, list(UNUSABLE)), 0, variants.chromosome)
        columns = (which, np.asarray(variants.name), variants.position, chromosome)
        order = np.lexsort(columns)
        for start in range(0, len(order), _BLOCK_ROWS):
            part = order[start : start + _BLOCK_ROWS]
            rows = zip(*(column[part].tolist() for column in columns), strict=True)
            yield b"".join([b"%d\t%d\t%b\t%b\n" % (c, p, n, ends[k]) for k, n, p, c in rows])


def absences(listed: Panel, total: np.ndarray, cohorts: int) -> Iterator[bytes]:
    """The same text of a list's variants that some cohorts lack; `total`, int64 (m,): how many have each."""
    yield TABLE_HEADER
    for rows in slices(len(listed)):
        part, having = listed.take(rows), total[rows]
        absent = np.flatnonzero(having != cohorts)
        columns = (part.chromosome, part.position, np.asarray(part.name), cohorts - having)
        for words in zip(*(column[absent].tolist() for column in columns), strict=True):
            yield b"%d\t%d\t%b\tleft out\tabsent in %d of %d cohorts\n" % (*words, cohorts)


def reconcile(lists: Mapping[str, Panel]) -> Agreement:
    """The panel of the variants that every cohort has, by the rules above.

    `lists` maps cohort names to their own lists. The result does not depend on their order.
    """
    first, *further = reconciled(lists)
    if not further:
        return first
    parts = [first, *further]
    panel = _concatenate([part.panel for part in parts])
    return Agreement(panel, tuple(remark for part in parts for remark in part.remarks))


def reconciled(lists: Mapping[str, Panel]) -> Iterator[Agreement]:
    """The same in parts, one or more, each of which goes on where the one before it ends."""
    cohorts = sorted(lists)
    panels = [lists[cohort] for cohort in cohorts]
    distinct = {panel.digest: panel for panel in panels}
    places = {digest: place for place, digest in enumerate(distinct)}
    which = [places[panel.digest] for panel in panels]
    found = _of_windows(cohorts, which, list(distinct.values()))
    yield from found if all(panel.by_place for panel in panels) else _in_order(found)


def _of_windows(cohorts: list[str], which: list[int], panels: Sequence[Panel]) -> Iterator[Agreement]:
    for window in windows(panels):
        parts = [panel.take(part).compacted() for panel, part in zip(panels, window, strict=True)]
        yield _Reconciliation(cohorts, which, parts).agreement()
        forget(*(column for panel in panels for column in panel.columns))


def _in_order(agreements: Iterator[Agreement]) -> Iterator[Agreement]:
    """The same where each has variants of the whole genome; the last has all remarks."""
    first, second = next(agreements), next(agreements, None)
    if second is None:
        yield first
        return
    panels: list[Panel] = []
    waiting: list[Panel] = []
    remarks: list[Remark] = []
    for agreement in itertools.chain([first, second], agreements):
        waiting.append(agreement.panel)
        remarks += agreement.remarks
        # Sorted in stretches and put away, so that the whole panel is never in memory at once.
        if sum(map(len, waiting)) >= WINDOW_ROWS:
            panels.append(_in_one(waiting).put_away())
            waiting.clear()
    yield from map(Agreement, merged([*panels, _in_one(waiting or [first.panel.take(slice(0))])]))
    yield Agreement(Panel.of([]), tuple(remarks))


def merged(panels: Sequence[Panel]) -> Iterator[Panel]:
    """The variants of panels that have none in common as one panel, in as many parts at most, which go on one
    another."""
    cuts = place_cuts(panels, len(panels))
    for here in zip(*(between_cuts(panel, cuts) for panel in panels), strict=True):
        yield _in_one([panel.take(rows).compacted() for panel, rows in zip(panels, here, strict=True)])
        forget(*(column for panel in panels for column in panel.columns))


def _in_one(panels: Sequence[Panel]) -> Panel:
    whole = _concatenate(panels)
    return whole.take(canonical_order(whole.chromosome, whole.position, whole.name))


Part: TypeAlias = slice | np.ndarray
"""Rows of a list, contiguous or ascending."""


def windows(panels: Sequence[Panel], rows: int = WINDOW_ROWS) -> Iterator[tuple[Part, ...]]:
    """One or more parts of each list, so that no variant of one is found in another part of another.

    Together the parts of a window have about `rows` variants, as far as lists are alike.
    """
    if not all(panel.by_place for panel in panels):
        parts = partition.number_of_parts(sum(map(len, panels)), rows)
        by_name = (partition.members(partition.by_name(panel.name, parts), parts) for panel in panels)
        yield from zip(*by_name, strict=True)
        return
    ends = np.stack([np.cumsum(panel.counts) for panel in panels])
    starts = ends - np.stack([panel.counts for panel in panels])
    codes = np.flatnonzero((ends > starts).any(axis=0)).tolist()
    for code in codes or [0]:
        here = [slice(*pair) for pair in zip(starts[:, code].tolist(), ends[:, code].tolist(), strict=True)]
        yield from _windows_within(
            [panel.position[part] for panel, part in zip(panels, here, strict=True)], here, rows
        )


def _windows_within(
    positions: Sequence[np.ndarray], here: Sequence[slice], rows: int
) -> Iterator[tuple[slice, ...]]:
    """The windows of one chromosome, of which each list has the variants `here`, at these positions."""
    # The longest list is cut evenly: its parts are what a window needs memory for.
    longest = max(positions, key=len)
    number = -(-sum(map(len, positions)) // rows)
    cuts = longest[np.arange(1, number) * len(longest) // max(number, 1)]
    inner = [np.searchsorted(column, cuts).tolist() for column in positions]
    bounds = [[0, *cut, len(column)] for cut, column in zip(inner, positions, strict=True)]
    for k in range(len(cuts) + 1):
        yield tuple(
            slice(part.start + bound[k], part.start + bound[k + 1])
            for part, bound in zip(here, bounds, strict=True)
        )


def _ids(panels: Sequence[Panel]) -> np.ndarray:
    width = max(panel.name.dtype.itemsize for panel in panels)
    return np.concatenate([np.asarray(panel.name).astype(f"S{width}") for panel in panels])


def _keys_by_place(panels: Sequence[Panel]) -> np.ndarray:
    """Return keys for names by place, as S16: two are equal if and only if the names are."""
    alleles = sorted({allele for panel in panels for allele in panel.alleles})
    code = {allele: k for k, allele in enumerate(alleles)}
    keys = []
    for panel in panels:
        shared = np.array([code[allele] for allele in panel.alleles], np.int64)
        place = places(panel.chromosome, panel.position)
        # Two numbers of 64 bits side by side are 16 bytes, which are compared as one word.
        keys.append(np.stack([place, shared[panel.first] << 32 | shared[panel.second]], axis=1))
    return np.concatenate(keys).view("S16").reshape(-1)


def _by_name(panels: Sequence[Panel]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Number all IDs; per panel: the first row of each ID (-1 where absent), and how often it is usable."""
    names = _keys_by_place(panels) if all(panel.by_place for panel in panels) else _ids(panels)
    width = names.dtype.itemsize
    start = np.arange(len(names)) * width
    code, first = tokenizer.classes(names.view(np.uint8), start, start + width)
    tables, at = [], 0
    for panel in panels:
        own = code[at : at + len(panel)]
        row = np.full(len(first), -1, np.int32)
        # Backwards: of an ID that occurs twice the first row is written last, and stays.
        row[own[::-1]] = np.arange(len(panel), dtype=np.int32)[::-1]
        usable = own[~np.isin(panel.chromosome, list(UNUSABLE))]
        tables.append((row, np.bincount(usable, minlength=len(first)).astype(np.int32)))
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
        # Each looks only at what the ones before have left, so that one reason is given for each variant.
        for rule in (self._usable, self._named, self._single, self._present, self._same_place):
            variants = np.flatnonzero(keep)
            keep[variants] = rule(variants)
        panel = self._with_alleles(np.flatnonzero(keep))
        return Agreement(panel, tuple(self.remarks))

    def _usable(self, variants: np.ndarray) -> np.ndarray:
        codes = np.stack(
            [
                np.append(panel.chromosome, 0)[rows]  # 0 of a variant that it lacks
                for panel, rows in zip(self.panels, self.rows[:, variants], strict=True)
            ]
        )
        good = np.ones(len(variants), bool)
        for code, why in UNUSABLE.items():
            left = np.flatnonzero(good)
            good[left] = self._leave_out(variants[left], codes[:, left] == code, f"{why} at")
        return good

    def _named(self, variants: np.ndarray) -> np.ndarray:
        if all(panel.by_place for panel in self.panels):
            return np.ones(len(variants), bool)
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
        at = np.stack(
            [
                places(panel.chromosome[rows], panel.position[rows])
                for panel, rows in zip(self.panels, self.rows[:, variants], strict=True)
            ]
        )
        same = np.asarray((at == at[0]).all(axis=0))
        apart = np.flatnonzero(~same)
        for k in apart[:_TOLD]:
            seen = [f"{place >> 32}:{place & 0xFFFFFFFF}" for place in np.unique(at[:, k]).tolist()]
            self._remark(variants[[k]], False, f"is at different positions: {', '.join(seen)}")
        self._remark(variants[apart[_TOLD:]], False, "is at different positions")
        return same

    def _with_alleles(self, variants: np.ndarray) -> Panel:
        alleles = tuple(sorted({allele for panel in self.panels for allele in panel.alleles}))
        chosen, keep = self._chosen(variants, alleles)
        base, chosen = self._variants(variants[keep]), chosen[keep]
        first, second = chosen.astype(np.min_scalar_type(len(alleles))).T
        panel = Panel(base.chromosome, base.position, base.ids, alleles, first, second, base.autosomes)
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
        # Taken list by list; the inverse of that order puts each variant back in its place.
        having = np.argmax(self.rows[:, variants] >= 0, axis=0)
        return _concatenate(
            [panel.take(self.rows[k, variants[having == k]]) for k, panel in enumerate(self.panels)]
        ).take(np.argsort(np.argsort(having, kind="stable"), kind="stable"))


def _concatenate(panels: Sequence[Panel]) -> Panel:
    alleles = tuple(sorted({allele for panel in panels for allele in panel.alleles}))
    code = {allele: k for k, allele in enumerate(alleles)}
    kind = np.min_scalar_type(len(alleles))
    maps = [np.array([code[allele] for allele in panel.alleles], kind) for panel in panels]
    by_place = all(panel.by_place for panel in panels)
    return Panel(
        np.concatenate([panel.chromosome for panel in panels]),
        np.concatenate([panel.position for panel in panels]),
        None if by_place else np.concatenate([np.asarray(panel.name) for panel in panels]),
        alleles,
        np.concatenate([own[panel.first] for own, panel in zip(maps, panels, strict=True)]),
        np.concatenate([own[panel.second] for own, panel in zip(maps, panels, strict=True)]),
        panels[0].autosomes if by_place else 0,
    )


def _text(pair: Pair) -> str:
    return "/".join(allele.decode("utf-8", "replace") for allele in pair)


def _cases(table: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """The different columns of a table (cohorts, variants, ...), each with the variants that have it."""
    if not table.shape[1]:
        return
    small = table.astype(np.min_scalar_type(table.max()))  # byte by byte they are told apart
    flat = np.ascontiguousarray(np.moveaxis(small, 1, 0)).reshape(table.shape[1], -1).view(np.uint8)
    width = flat.shape[1]
    start = np.arange(len(flat)) * width
    code, first = tokenizer.classes(flat.ravel(), start, start + width)
    code = code.astype(np.min_scalar_type(len(first)))  # few bits are sorted by counting
    order = np.argsort(code, kind="stable")
    bounds = np.flatnonzero(np.diff(code[order])) + 1
    for k, members in zip(first, np.split(order, bounds), strict=True):
        yield table[:, k], members


@dataclass(frozen=True, eq=False)
class Alignment:
    """Positions of a panel's variants in a cohort's own list."""

    index: np.ndarray
    """int32 (m,): the entry of the cohort's own list; -1 where it has none that can be reconciled."""
    swapped: np.ndarray
    """bool (m,): the allele that the cohort's file calls A1 is the panel's second."""


def align(panel: Panel, own: Panel, a1_is_first: np.ndarray) -> Alignment:
    """Find the panel's variants in a cohort's own list.

    `a1_is_first`, bool (len(own),), says whether the file's A1 is `own.first`.
    """
    index, swapped = filled(len(panel), -1, np.int32), filled(len(panel), False, np.bool_)
    is_same = own is panel or own.digest == panel.digest
    each = ((rows, rows) for rows in slices(len(panel), WINDOW_ROWS)) if is_same else windows([panel, own])
    for wanted, had in each:
        some, rows = panel.take(wanted), np.append(_rows(had), -1)
        if len(some):
            found = _align(some, own.take(had), a1_is_first[had], is_same=is_same)
            index[wanted], swapped[wanted] = rows[found.index], found.swapped
            forget(index, swapped, a1_is_first, *panel.columns, *own.columns)
    return Alignment(index, swapped)


def _rows(part: Part) -> np.ndarray:
    return np.arange(part.start, part.stop) if isinstance(part, slice) else part


def _align(panel: Panel, own: Panel, a1_is_first: np.ndarray, *, is_same: bool) -> Alignment:
    index = np.arange(len(panel)) if is_same else _find(panel, own)
    swapped = np.zeros(len(panel), bool)
    found = np.flatnonzero(index >= 0)
    rows = index[found]
    wanted = np.stack([panel.first[found], panel.second[found]], axis=1).astype(np.uint32)
    had = np.stack([own.first[rows], own.second[rows]], axis=1).astype(np.uint32)
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
    wanted, had = _by_name([panel, own])
    index = np.full(len(panel), -1)
    known = np.flatnonzero((wanted[0] >= 0) & (had[1] == 1))
    index[wanted[0][known]] = had[0][known]
    rows = index.clip(0)
    if len(own):
        same = (own.chromosome[rows] == panel.chromosome) & (own.position[rows] == panel.position)
        index[~same] = -1
    return index
