"""This cohort's frequencies beside the pool's, from the study's results: how many differ beyond chance."""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from unpooled.algorithms.shared.frequencies import scores
from unpooled.algorithms.shared.groups import complete
from unpooled.formats import titles
from unpooled.formats.reading import Line, Report
from unpooled.formats.ssf import FREQUENCIES, written_ids
from unpooled.frequency_option import FAR
from unpooled.plan import Plan
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.frequencies import Reference, dosed_in, expected_of, observed_in

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
    """What was compared."""

    variants: int
    """Autosomal ones that were counted here and in the pool."""
    far: int
    """Those that are more than FAR deviations away."""
    farthest: tuple[Far, ...]


def beside_the_pool(frq: Path, data: PlinkData, plan: Plan, kept: np.ndarray | None) -> Frequencies:
    """Compare the cohort with the pool's `.frq`, which is read in pieces.

    `kept`, bool (n,), is who was in the study, where --mind has left people out.
    """
    who = data.samples.kept if kept is None else kept
    if not plan.nonfounders:
        who = who & data.samples.founder
    return _compared(_of_frq(Report(frq)), _of(who, data), np.asarray(data.panel.name), observed_in, plan)


def beside_dosages(ssf: Path, data: PlinkData, plan: Plan, kept: np.ndarray | None) -> Frequencies:
    """The same of a study of dosages, which has no `.frq`: with GWAS-SSF, of the people in its regressions.

    Imputed dosages vary less than calls, so that the scores are rather too small.
    """
    who, names = complete(data.samples), written_ids(np.asarray(data.panel.name))
    who = who if kept is None else who & kept
    return _compared(_of_ssf(ssf), _of(who, data), names, dosed_in, plan)


def _of(who: np.ndarray, data: PlinkData) -> PlinkData:
    return dataclasses.replace(data, samples=dataclasses.replace(data.samples, kept=who))


def _compared(
    pieces: Iterable[Reference],
    data: PlinkData,
    names: np.ndarray,
    observe: Callable[[PlinkData, np.ndarray], tuple[np.ndarray, np.ndarray]],
    plan: Plan,
) -> Frequencies:
    """`names` are those of the cohort's variants as the pool's report has them."""
    order = np.argsort(names, kind="stable")
    names = names[order]
    variants, far, farthest = 0, 0, []
    for reference in pieces:
        at = np.searchsorted(names, reference.name).clip(max=len(names) - 1)
        theirs = np.flatnonzero(names[at] == reference.name)
        mine = order[at[theirs]]
        autosomal = (data.panel.chromosome[mine] >= 1) & (data.panel.chromosome[mine] <= plan.autosomes)
        mine, theirs = mine[autosomal], theirs[autosomal]
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


def _far(data: PlinkData, variant: int, pool: float, own: float, score: float) -> Far:
    name, (allele, _) = data.panel.name[variant], data.panel.pair(variant)
    return Far(name.decode("utf-8", "replace"), allele.decode("utf-8", "replace"), pool, own, score)


def _of_frq(report: Report) -> Iterator[Reference]:
    columns = (titles.NAME, titles.A1, titles.A2, titles.FREQUENCY, titles.ALLELES)
    places = [report.place(column) for column in columns]
    lines = (line for line in report.lines() if line[places[3]] != b"NA")
    while some := list(islice(lines, _AT_ONCE)):
        yield _reference(some, places)


def _of_ssf(path: Path) -> Iterator[Reference]:
    with gzip.GzipFile(path) as file:
        header = file.readline().split()
        places = [header.index(title) for title in FREQUENCIES]
        lines = (line.split() for line in file)
        while some := list(islice(lines, _AT_ONCE)):
            found = _reference(some, places)
            yield dataclasses.replace(found, counted=2 * found.counted)  # it has the number of people


def _reference(lines: list[Line], places: list[int]) -> Reference:
    name, a1, a2, frequency, counted = ([line[place] for line in lines] for place in places)
    alleles, codes = np.unique(np.array([*a1, *a2]), return_inverse=True)
    first, second = codes.astype(np.uint32).reshape(2, len(lines))
    numbers = (np.array(column, np.bytes_).astype(float) for column in (frequency, counted))
    return Reference(np.array(name), tuple(alleles.tolist()), first, second, *numbers)
