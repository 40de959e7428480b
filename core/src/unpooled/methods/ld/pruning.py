"""LD pruning of the pool: which variants remain, as `plink2 --indep-pairwise` finds them on pooled files.

    kept = yield from prune_autosomes(study)          # panel indices, rising

A study that prunes lists `PRUNING_ASKS` among its questions and `PRUNING` among its options.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unpooled.asking.procedure import Asks, Each, Go, Study, procedure
from unpooled.errors import Refuse
from unpooled.methods.ld import options, questions
from unpooled.methods.ld.candidates import Candidates, in_frequencies
from unpooled.methods.ld.greedy import LINKED, UNLINKED, Band, walk
from unpooled.methods.shared import filters
from unpooled.methods.shared.chunks import Chunk, autosomal_chunks
from unpooled.methods.shared.genotype_counts import CAPPED, Counted, is_carried
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.without_any import holds_without_any
from unpooled.plan.plan import FEWEST_AT_A_LEVEL

_FIRST_AHEAD = 8
"""Pairs of each variant that are asked about first; in each further round twice as many."""
_FEW = 1 << 17
"""Pairs of a chromosome that are worth no further round."""


def prune_autosomes(study: Study) -> Asks[np.ndarray]:
    """The variants of the autosomes that remain, of those that pass the filters: as `pruned`."""
    founders = yield from count_founders(study)
    chunks = autosomal_chunks(study)
    compared = yield from candidates(study, founders, chunks)
    return (yield from pruned(study, founders, compared))


def candidates(study: Study, founders: np.ndarray, chunks: Sequence[Chunk]) -> Asks[list[Candidates]]:
    """The variants of these chunks that are compared, of each chromosome."""
    others = yield from count_others(study)
    people = np.concatenate([founders, others])
    parts = yield Each(count_chunk(study, chunk, people) for chunk in chunks)
    places = [place for part in parts for place in _by_chromosome(study, part)]
    return [_joined(study, parts, code) for code in dict.fromkeys(places)]


def pruned(study: Study, founders: np.ndarray, compared: Sequence[Candidates]) -> Asks[np.ndarray]:
    """Prune the compared variants; return those that remain: panel indices, ascending, uint32 (k,)."""
    kept = yield Each(prune_chromosome(study, each, founders) for each in compared)
    return np.concatenate([np.zeros(0, np.uint32), *kept])


def _by_chromosome(study: Study, part: Candidates) -> list[int]:
    found: list[int] = np.unique(study.panel.chromosome[part.variants]).tolist()
    return [code for code in found if code]  # PLINK prunes no unplaced variant


def _joined(study: Study, parts: Sequence[Candidates], code: int) -> Candidates:
    """Join the candidates on one chromosome."""
    here = [part.some(study.panel.chromosome[part.variants] == code) for part in parts]
    return Candidates.joined([part for part in here if len(part.variants)])


def count_founders(study: Study) -> Asks[np.ndarray]:
    """Count the founders, in the groups of `EVERY_FOUNDER`; refuse a pool with few."""
    founders = (yield questions.CountFounders())["people"]
    people, least = (
        int(founders.sum(dtype=np.int64)),
        FEWEST_AT_A_LEVEL if options.BAD_LD.of(study.plan) else options.FEWEST_FOUNDERS,
    )
    if people < least and not study.plan.alone:
        raise Refuse(
            options.BAD_LD.name,
            f"the pool has fewer than {least} founders, people neither of whose parents is named, and "
            "correlations of so few are mostly chance",
            "Have the cohorts set the parents of their people to 0, or invite further cohorts.",
        )
    return np.asarray(founders)


def count_others(study: Study) -> Asks[np.ndarray]:
    """Count the nonfounders if frequencies include them; refuse a few, as sums would reveal them."""
    if not study.plan.nonfounders:
        return np.zeros(0, int)
    sums = yield questions.CountOthers()
    others = sums["people"]
    if others.any() and not holds_without_any(study.plan, sums[CAPPED.name]).all():
        raise Refuse(
            "nonfounders",
            f"fewer than {FEWEST_AT_A_LEVEL} people of the pool, or of the pool without one of the cohorts, "
            "are nonfounders, and counts of them would tell of single people",
            "Let founders alone count in frequencies, or leave those people out.",
        )
    return np.asarray(others)


@procedure("ld/chunk")
def count_chunk(study: Study, chunk: Chunk, people: np.ndarray) -> Asks[Candidates]:
    """Count the genotypes of a chunk; what passes the filters and has enough carriers can be compared."""
    wanted = questions.counted_on(chunk.chromosome, study.plan)
    sizes = [size_of(group, people) for group in wanted]
    sums = yield questions.CountGenotypes(chunk.start, chunk.stop, wanted, max(sizes), chunk.chromosome)
    table = GenotypeTable(sums["genotypes"], wanted, sum(sizes), chunk.chromosome, ())
    found = Counted.of(chunk, table)
    passing = filters.passing(in_frequencies(table, study.plan), study.plan)
    return Candidates.of(found.some(passing & is_carried(study.plan, sums)), study.plan)


def people_counted(chromosome: str, founders: np.ndarray) -> float:
    """Return the sum of all founders' weights on a class of chromosomes."""
    return float(
        sum(weight * size_of(group, founders) for group, weight in questions.weights(chromosome).items())
    )


def size_of(group: tuple[str, ...], people: np.ndarray) -> int:
    """Count the people in a group, given those in each of `EVERY_FOUNDER`, and perhaps `EVERY_OTHER`."""
    named = zip((*questions.EVERY_FOUNDER, *questions.EVERY_OTHER), people.tolist(), strict=False)
    return sum(size for finest, size in named if set(group) <= set(finest))


@procedure("ld/chromosome")
def prune_chromosome(study: Study, candidates: Candidates, founders: np.ndarray) -> Asks[np.ndarray]:
    """The variants of a chromosome that remain: panel indices, uint32 (k,)."""
    _, band = _windows(study, candidates)
    if band.widest > options.MOST_AHEAD:
        raise Refuse(
            options.INDEP_PAIRWISE.name,
            f"a window holds more than {options.MOST_AHEAD:,} variants",
            "Choose a smaller window, or leave rare variants out first.",
        )
    known = np.zeros(band.pairs, np.uint8)
    most = max(_FIRST_AHEAD, _FEW // max(1, len(candidates.variants)))
    return (yield from Go(walk_on(study, candidates, founders, known, most, 1)))


def _windows(study: Study, candidates: Candidates) -> tuple[tuple[np.ndarray, np.ndarray], Band]:
    bounds = options.Windows.read(options.windows_of(study.plan)).bounds(
        study.panel.position[candidates.variants]
    )
    return bounds, Band.of(*bounds, len(candidates.variants))


@procedure("ld/walk")
def walk_on(
    study: Study, candidates: Candidates, founders: np.ndarray, known: np.ndarray, most: int, turn: int
) -> Asks[np.ndarray]:
    """Prune by the pairs that are known, and ask about those that were met; again until all are known."""
    windows, band = _windows(study, candidates)
    places = study.panel.position[candidates.variants]
    certain = ~candidates.varies & ~options.Windows.read(options.windows_of(study.plan)).alone(places)
    # In the last round whatever may still be met.
    ahead = most if turn < questions.MOST_ROUNDS else options.MOST_AHEAD
    found = walk(windows, band, known, candidates.majority, certain, ahead)
    if not len(found.first):
        return np.asarray(candidates.variants[~found.removed])
    if turn > questions.MOST_ROUNDS:
        raise AssertionError("each round makes more pairs known")
    ends = ends_of_parts(found.first)
    linked = yield Each(
        compare(study, candidates, founders, found.first[part], found.second[part])
        for part in np.split(np.arange(len(found.first)), ends)
    )
    known = known.copy()
    known[band.at(found.first, found.second)] = np.where(np.concatenate(linked), LINKED, UNLINKED)
    return (yield from Go(walk_on(study, candidates, founders, known, 2 * most, turn + 1)))


def ends_of_parts(first: np.ndarray) -> np.ndarray:
    """Find where to split pairs so that those of one variant stay together."""
    at = np.arange(questions.PAIRS_AT_ONCE, len(first), questions.PAIRS_AT_ONCE)
    return np.unique(np.searchsorted(first, first[at]))


def about_pairs(
    kind: type[questions.SumPairs],
    candidates: Candidates,
    founders: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> tuple[questions.SumPairs, Candidates, questions.Pairs]:
    """The question about pairs of variants, those that are in any, and the pairs' places among these."""
    named = np.unique(np.concatenate([first, second]))
    places = np.searchsorted(named, first), np.searchsorted(named, second)
    some = candidates.some(named)
    question = kind(
        some.variants,
        some.mean,
        np.bincount(places[0], minlength=len(named)).astype(np.uint32),
        (places[1] - places[0]).astype(np.uint32),
        int(founders.sum(dtype=np.int64)),
        candidates.chromosome,
    )
    return question, some, places


@procedure("ld/compare")
def compare(
    study: Study, candidates: Candidates, founders: np.ndarray, first: np.ndarray, second: np.ndarray
) -> Asks[np.ndarray]:
    """Find which pairs are linked; `first` and `second` are places of variants: bool (pairs,)."""
    question, some, places = about_pairs(questions.SumPairs, candidates, founders, first, second)
    sums = yield question
    people = people_counted(candidates.chromosome, founders)
    r2 = options.Windows.read(options.windows_of(study.plan)).r2
    return some.linked(*places, sums["products"], people, r2)
