"""This cohort's frequencies beside the pool's, from the study's results: how many differ beyond chance."""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from unpooled.formats import titles
from unpooled.formats.reading import Line, Report
from unpooled.formats.ssf import CHROMOSOME, FREQUENCIES, written_ids
from unpooled.methods.shared.frequencies import scores
from unpooled.methods.shared.groups import complete
from unpooled.panel.chromosomes import chromosome_code
from unpooled.panel.panel import Panel
from unpooled.plan.frequency_option import FAR
from unpooled.plan.plan import Plan
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.thorough.frequencies import Reference, dosed_in, expected_of, observed_in

SHOWN = 10

_AT_ONCE = 1 << 16  # lines


@dataclass(frozen=True)
class Far:
    """A variant whose frequency is far from the pool's; both of the same allele."""

    name: str
    allele: str
    pool: float
    own: float
    score: float


@dataclass(frozen=True)
class Frequencies:
    """Comparison of this cohort's frequencies with the pool's."""

    variants: int
    """Autosomal ones that were counted here and in the pool."""
    far: int
    """Variants that are more than FAR deviations away."""
    farthest: tuple[Far, ...]


def compare_calls(frq: Path, data: PlinkData, plan: Plan, kept: np.ndarray | None) -> Frequencies:
    """Compare the cohort with the pool's `.frq`, which is read in pieces.

    `kept`, bool (n,), is who was in the study, where --mind has left people out.
    """
    who = data.samples.kept if kept is None else kept
    if not plan.nonfounders:
        who = who & data.samples.founder
    return _compared(_of_frq(Report(frq), plan), _of(who, data), lambda names: names, observed_in, plan)


def compare_dosages(ssf: Path, data: PlinkData, plan: Plan, kept: np.ndarray | None) -> Frequencies:
    """The same of a study of dosages, which has no `.frq`: with GWAS-SSF, of the people in its regressions.

    Imputed dosages vary less than calls, so that the scores are rather too small.
    """
    who = complete(data.samples)
    who = who if kept is None else who & kept
    return _compared(_of_ssf(ssf, plan), _of(who, data), written_ids, dosed_in, plan)


def _of(who: np.ndarray, data: PlinkData) -> PlinkData:
    return dataclasses.replace(data, samples=dataclasses.replace(data.samples, kept=who))


class _Names:
    """Finds the cohort's variants by their names, of which those of one chromosome are held."""

    def __init__(self, panel: Panel, written: Callable[[np.ndarray], np.ndarray]) -> None:
        """`written`: names as the pool's report has them."""
        self._panel, self._written = panel, written
        self._ends = np.cumsum(panel.counts)
        self._held = -1

    def find(self, code: int, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Match names with this cohort's variants of a chromosome; return the indices of the matched names,
        and the variants' rows.
        """
        if code != self._held:  # a report goes from one chromosome to the next
            stop = int(self._ends[code])
            self._start = stop - int(self._panel.counts[code])
            own = self._written(np.asarray(self._panel.name[self._start : stop]))
            self._order = np.argsort(own, kind="stable")
            self._names, self._held = own[self._order], code
        if not len(self._names):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        # What sorts behind all names is compared with the last one, and differs from it.
        at = np.searchsorted(self._names, names).clip(max=len(self._names) - 1)
        theirs = np.flatnonzero(self._names[at] == names)
        return theirs, self._start + self._order[at[theirs]]


_Piece: TypeAlias = tuple[np.ndarray, Reference]
"""The codes of the chromosomes of some variants of the pool, and their frequencies."""


def _compared(
    pieces: Iterable[_Piece],
    data: PlinkData,
    written: Callable[[np.ndarray], np.ndarray],
    observe: Callable[[PlinkData, np.ndarray], tuple[np.ndarray, np.ndarray]],
    plan: Plan,
) -> Frequencies:
    """`written`: the names of the cohort's variants as the pool's report has them."""
    names = _Names(data.panel, written)
    variants, far, farthest = 0, 0, []
    for codes, reference in pieces:
        theirs, mine = _in_both(names, codes, reference, plan)
        if not len(mine):
            continue
        pool, has_same = expected_of(data.variants, mine, reference, theirs)
        own, counted = observe(data, mine)
        score = scores(own, counted, pool, reference.counted[theirs])
        known = has_same & ~np.isnan(score)
        is_far = known & (np.abs(score) > FAR)
        variants, far = variants + int(np.count_nonzero(known)), far + int(np.count_nonzero(is_far))
        farthest += [_far(data, int(mine[k]), pool[k], own[k], score[k]) for k in np.flatnonzero(is_far)]
        farthest = sorted(farthest, key=lambda one: -abs(one.score))[:SHOWN]
    return Frequencies(variants, far, tuple(farthest))


def _in_both(
    names: _Names, codes: np.ndarray, reference: Reference, plan: Plan
) -> tuple[np.ndarray, np.ndarray]:
    """The autosomal variants that both have: their places in the reference, and in the cohort's list."""
    theirs, mine = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for code in np.unique(codes[(codes >= 1) & (codes <= plan.autosomes)]).tolist():
        here = np.flatnonzero(codes == code)
        at, rows = names.find(code, reference.name[here])
        theirs.append(here[at])
        mine.append(rows)
    return np.concatenate(theirs), np.concatenate(mine)


def _far(data: PlinkData, variant: int, pool: float, own: float, score: float) -> Far:
    name, (allele, _) = data.panel.name[variant], data.panel.pair(variant)
    return Far(name.decode("utf-8", "replace"), allele.decode("utf-8", "replace"), pool, own, score)


def _of_frq(report: Report, plan: Plan) -> Iterator[_Piece]:
    columns = (titles.NAME, titles.A1, titles.A2, titles.FREQUENCY, titles.ALLELES)
    places, chromosome = [report.place(column) for column in columns], report.place(titles.CHROMOSOME)
    lines = (line for line in report.lines() if line[places[3]] != b"NA")
    while some := list(islice(lines, _AT_ONCE)):
        yield _codes(some, chromosome, plan), _reference(some, places)


def _of_ssf(path: Path, plan: Plan) -> Iterator[_Piece]:
    with gzip.GzipFile(path) as file:
        header = file.readline().split()
        places, chromosome = [header.index(title) for title in FREQUENCIES], header.index(CHROMOSOME)
        lines = (line.split() for line in file)
        while some := list(islice(lines, _AT_ONCE)):
            found = _reference(some, places)
            found = dataclasses.replace(found, counted=2 * found.counted)  # it has the number of people
            yield _codes(some, chromosome, plan), found


def _codes(lines: list[Line], place: int, plan: Plan) -> np.ndarray:
    """The codes of the lines' chromosomes, -1 for one that is not known."""
    words, which = np.unique(np.array([line[place] for line in lines]), return_inverse=True)
    codes = [chromosome_code(word.decode("utf-8", "replace"), plan.autosomes) for word in words.tolist()]
    return np.array([-1 if code is None else code for code in codes])[which]


def _reference(lines: list[Line], places: list[int]) -> Reference:
    name, a1, a2, frequency, counted = ([line[place] for line in lines] for place in places)
    alleles, codes = np.unique(np.array([*a1, *a2]), return_inverse=True)
    first, second = codes.astype(np.uint32).reshape(2, len(lines))
    numbers = (np.array(column, np.bytes_).astype(float) for column in (frequency, counted))
    return Reference(np.array(name), tuple(alleles.tolist()), first, second, *numbers)
