"""Linkage around the variants that lead associations: for `.clumped`, and for the colours of a region.

A lead is a variant whose P is small enough and that no stronger lead has in its clump, as in PLINK's --clump.
Which they are is found while the study runs: the strongest within reach certainly lead; of these products
with their neighbours are asked for; then come the strongest of what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.procedure import (
    PROCEDURES,
    Asks,
    Call,
    Each,
    Finish,
    Go,
    Later,
    Procedure,
    Rows,
    Study,
    procedure,
    through,
)
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real
from unpooled.asking.sizes import Sizes
from unpooled.formats.clumped import is_above, of_printed, printed, printed_tail, write_clumped
from unpooled.kernels import pairs as kernel
from unpooled.methods.algorithm import AboutFile
from unpooled.methods.features import Feature, FeatureFile
from unpooled.methods.ld import questions
from unpooled.methods.ld.candidates import Candidates
from unpooled.methods.ld.options import CLUMPING, KB, MOST_AHEAD, P1, P2, R2, is_clumped
from unpooled.methods.ld.pruning import people_counted, size_of
from unpooled.methods.ld.questions import Pairs, SumPairs
from unpooled.methods.shared.chunks import ByVariant, Chunk, chromosome_class, foreseen_chunks, foreseen_of
from unpooled.methods.shared.genotype_counts import CAPPED, Counted, carriers, counted, is_carried
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import Group
from unpooled.methods.shared.summary import VARIANTS
from unpooled.methods.shared.without_any import capped
from unpooled.panel.panel import Panel
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.plan.result_files import CLUMPED
from unpooled.protocol import codec

MOST_TURNS = 100
"""Largest number of turns in which leads are chosen. Leads of one turn are further apart than a window
reaches to one side.
"""

_MOST_PAIRS = 2 * MOST_TURNS
"""Largest number of leads that one variant is paired with: in each turn, one before and one behind it are
within reach.
"""


def groups_on(chromosome: str) -> tuple[Group, ...]:
    """The groups of founders that are counted on a class of chromosomes."""
    return tuple(questions.weights(chromosome))


@dataclass(frozen=True)
class CountFounders(questions.CountFounders, name="leads/founders"):
    """Asks for the number of founders, whose haplotypes are compared."""

    asked_if: ClassVar[Condition] = is_clumped

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        """Only if there are leads."""
        return Foreseen([cls()], exact=False)


@dataclass(frozen=True, eq=False)
class CountAround(Question, name="leads/genotypes", title="Count genotypes around lead variants"):
    """Genotype counts of founders of the variants around leads."""

    asked_if: ClassVar[Condition] = is_clumped
    sends: ClassVar[tuple[Count, ...]] = questions.CountGenotypes.sends
    each: ClassVar[dict[str, str]] = {**questions.CountGenotypes.each}

    indices: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    groups: tuple[Group, ...]
    most: int
    chromosome: str
    """The class of chromosomes that the variants are on."""

    @property
    def variants(self) -> int:
        return len(self.indices)

    @property
    def group_count(self) -> int:
        return len(self.groups)

    @property
    def reach(self) -> int:
        return int(self.indices[-1]) + 1 if len(self.indices) else 0

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Every variant beside as many leads as there can be; as a rule few are near one."""

        def all_of(chunk: Chunk) -> CountAround:
            every = np.arange(chunk.variants, dtype=np.uint32)
            return cls(every, groups_on(chunk.chromosome), 0, chunk.chromosome)

        return foreseen_of(foreseen_chunks(plan, sizes), all_of, rounds=MOST_TURNS, usual_rounds=1)

    def parts(self, cohort: Cohort) -> Iterator[CountAround]:
        for part in blocks(self.variants, len(cohort.samples)):
            yield replace(self, indices=self.indices[part])

    def local(self, cohort: Cohort) -> Arrays:
        found = counted(cohort, self.indices.astype(np.int64), self.groups)
        return {"genotypes": found, CAPPED.name: capped(carriers(found.sum(axis=1, dtype=np.int64)))}


@dataclass(frozen=True, eq=False)
class SumWithLeads(SumPairs, name="leads/pairs", title="Compare variants with lead variants"):
    """Sums over lead variants and others: of products, and of who is heterozygous at both."""

    asked_if: ClassVar[Condition] = is_clumped
    sends: ClassVar[tuple[Real, ...]] = (
        *SumPairs.sends,
        Real(
            "both_heterozygous",
            ("pairs",),
            "bound",
            "per pair of variants: number of founders who are heterozygous at both; a missing call is the "
            "pool's share",
            "how many of the pool have both alleles of both variants, which tells haplotypes apart; only of "
            f"variants of which each allele has at least {FEWEST_AT_A_LEVEL} carriers there without any one "
            "cohort",
        ),
    )

    heterozygous: np.ndarray
    """float64 (v,): share of heterozygous people, which stands for missing calls."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Every variant beside as many leads as there can be; as a rule few are near one."""
        chunks = foreseen_chunks(plan, sizes)
        return foreseen_of(
            chunks, lambda chunk: cls.sized(chunk.variants), rounds=_MOST_PAIRS, usual_rounds=1
        )

    @classmethod
    def sized(cls, pairs: int) -> SumWithLeads:
        """About so many pairs: only the size is meant."""
        of_size = questions.of_size(pairs)
        return cls(**vars(of_size), heterozygous=np.zeros(len(of_size.variants)))

    def of_members(
        self, words: np.ndarray, members: np.ndarray, sign: np.ndarray, here: slice, pair: Pairs
    ) -> Mapping[str, np.ndarray]:
        sums = super().of_members(words, members, sign, here, pair)
        both = kernel.both_heterozygous(words, members, self.heterozygous[here], *pair)
        return {**sums, "both_heterozygous": both}


LEADS_ASKS = (CountFounders, CountAround, SumWithLeads)
"""Questions that may be asked about the variants around leads, in this order."""

LEADS_AT_ONCE = 250
"""Largest number of leads in one question: a few hundred thousand pairs where variants are dense."""

_ROOM = 1e-3
"""Margin in -log10 P that exceeds differences between machines and rounding to four digits."""


LINKAGE = "linkage"
"""The result table of leads and variants near them:

variant    the lead
other      a variant within reach of it; the lead itself comes first
r2         between haplotypes; a pair with one that is too rare has no row
"""


@dataclass(frozen=True, eq=False)
class Hits(ByVariant):
    """Variants that may lead, with their -log10 P as it is printed."""

    name: ClassVar[str] = "leads/hits"

    variants: np.ndarray
    """uint32 (k,): panel indices."""
    neg_log10_p: np.ndarray
    """float64 (k,)"""

    @classmethod
    def none(cls) -> Hits:
        return cls(np.zeros(0, np.uint32), np.zeros(0))

    @classmethod
    def of(cls, rows: Rows, plan: Plan) -> Hits:
        """Find the hits among some finished rows."""
        if rows.table != VARIANTS:
            return cls.none()
        limit = of_printed(P1.of(plan))
        near = np.flatnonzero(printed(rows.columns) >= limit - _ROOM)
        size = printed_tail(rows.columns, near)
        few = size >= limit
        return cls(rows.columns["variant"][near[few]].astype(np.uint32), size[few])


@dataclass(frozen=True, eq=False)
class Watched:
    """Return value of a procedure, encoded, with the hits among the rows that it gave."""

    name: ClassVar[str] = "leads/watched"

    value: bytes
    hits: Hits


@dataclass(frozen=True, eq=False)
class Led:
    """Return value of a method, encoded, and the variants that lead."""

    name: ClassVar[str] = "leads/led"

    method: str
    """Name of the method's procedure."""
    value: bytes
    leads: Hits

    def value_of(self, study: Study) -> Any:
        """The value that the method has returned."""
        return PROCEDURES[self.method].value(study, self.value)


def with_leads(method: Procedure[[], Any]) -> Procedure[[], Any]:
    """A method for variants that in the end looks at the linkage around leads, if its plan has `.clumped`."""

    @procedure(f"{method.name} with leads")
    def whole(study: Study) -> Asks[Led | None]:
        if not is_clumped(study.plan):
            yield from method(study)
            return None
        found = yield from watch(study, *method(study).stored, Hits.none())
        leads = yield from look_around(study, found.hits)
        return Led(method.name, found.value, leads)

    return whole


@procedure("leads/watch")
def watch(study: Study, name: str, arguments: bytes, hits: Hits) -> Asks[Watched]:
    """A procedure with its encoded arguments, with all that it runs: takes note of hits among their rows."""

    def watched(call: Call[Any], before: Hits) -> Call[Watched]:
        return watch(study, *call.stored, before)

    def noted(event: Any) -> Asks[Any]:
        nonlocal hits
        match event:
            case Rows() | Later():
                # Made here even by who drops rows: which variants lead decides what is asked next.
                for rows in event.make() if isinstance(event, Later) else [event]:
                    hits = Hits.joined([hits, Hits.of(rows, study.plan)])
                    yield rows
                return None
            case Each() | Finish(may_lead=True):  # whose sums cohorts are told, so they find the same hits
                calls = event.calls if isinstance(event, Each) else (event.call,)
                found = yield Each(watched(call, Hits.none()) for call in calls)
                hits = Hits.joined([hits, *(each.hits for each in found)])
                return [c.procedure.value(c.study, f.value) for c, f in zip(calls, found, strict=True)]
            case Finish():
                return (yield replace(event, call=report_alone(study, *event.call.stored)))
        return (yield event)

    call = PROCEDURES[name].call(study, arguments)
    value = yield from through(call, lambda following: watched(following, hits), noted)
    return Watched(codec.encode(value), hits)


@procedure("leads/alone")
def report_alone(study: Study, name: str, arguments: bytes) -> Asks[None]:
    """Run a procedure whose rows no cohort is told of: each hit among them is alone in its clump."""
    found = yield from watch(study, name, arguments, Hits.none())
    yield from _alone(found.hits)


def look_around(study: Study, hits: Hits) -> Asks[Hits]:
    """Report the linkage around all leads among the hits; give these."""
    if not len(hits.variants):
        return hits
    founders = (yield CountFounders())["people"]
    order = np.lexsort([hits.variants, -hits.neg_log10_p])
    found = yield Each([walk(study, hits.some(order), founders, 1, Hits.none())])
    return Hits.joined(found)


@procedure("leads/walk")
def walk(study: Study, hits: Hits, founders: np.ndarray, turn: int, leads: Hits) -> Asks[Hits]:
    """Look around those that certainly lead, the hits being sorted by strength; then at what is left.

    Gives the leads, of which those of turns before are known.
    """
    leading = _leading(study, hits)
    if not leading.any():
        return leads
    enough = int(founders.sum(dtype=np.int64)) >= FEWEST_AT_A_LEVEL or study.plan.alone
    if not enough or turn > MOST_TURNS:
        yield from _alone(hits)  # nothing more is asked
        return Hits.joined([leads, hits])
    found = yield Each(around(study, some, founders) for some in _parts(study, hits.variants[leading]))
    left = ~leading & ~np.isin(hits.variants, np.concatenate([np.zeros(0, np.uint32), *found]))
    leads = Hits.joined([leads, hits.some(leading)])
    return (yield from Go(walk(study, hits.some(left), founders, turn + 1, leads)))


def _parts(study: Study, leads: np.ndarray) -> Iterator[np.ndarray]:
    """Leads, rising, that are asked about together: on chromosomes of one class, and not too many."""
    leads = np.sort(leads)
    classes = np.array([_class_of(study, lead) for lead in leads.tolist()])
    for chromosome in dict.fromkeys(classes.tolist()):
        some = leads[classes == chromosome]
        yield from np.array_split(some, -(-len(some) // LEADS_AT_ONCE))


def _class_of(study: Study, variant: int) -> str:
    return chromosome_class(int(study.panel.chromosome[variant]), study.plan.autosomes)


def _leading(study: Study, hits: Hits) -> np.ndarray:
    """Mark the hits without a stronger one within reach: bool (k,)."""
    panel = study.panel
    chromosome = panel.chromosome[hits.variants].astype(np.int64)
    place = chromosome << 32 | panel.position[hits.variants]
    rank = np.argsort(place, kind="stable")
    reach, strongest = reach_of(study.plan), np.zeros(len(rank), bool)
    low = np.searchsorted(place[rank], place - reach, "left")
    high = np.searchsorted(place[rank], place + reach, "right")
    for k, (start, stop) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        strongest[k] = rank[start:stop].min() == k
    return strongest


def reach_of(plan: Plan) -> int:
    """Base pairs to either side of a lead."""
    return int(KB.of(plan) * 1000)


@procedure("leads/around")
def around(study: Study, leads: np.ndarray, founders: np.ndarray) -> Asks[np.ndarray]:
    """Report the linkage around some leads; the panel indices of their clumps, uint32 (k,)."""
    chromosome = _class_of(study, int(leads[0]))
    groups, windows = groups_on(chromosome), [window_of(study, lead) for lead in leads.tolist()]
    near = np.unique(np.concatenate([np.arange(*window, dtype=np.uint32) for window in windows]))
    sizes = [size_of(group, founders) for group in groups]
    sums = yield CountAround(near, groups, max(sizes), chromosome)
    table = GenotypeTable(sums["genotypes"], groups, sum(sizes), chromosome, ())
    common = Candidates.of(Counted(near, table).some(is_carried(study.plan, sums)), study.plan)
    common = common.some(common.varies)
    pairs = _Pairs.of(common.variants, leads, windows)
    r2 = np.zeros(0)
    if len(pairs.lead):
        asked = SumWithLeads(
            common.variants,
            common.mean,
            *pairs.asked(len(common.variants)),
            int(founders.sum(dtype=np.int64)),
            chromosome,
            common.heterozygous,
        )
        sums = yield asked
        r2 = common.r_squared(*asked.places(), sums, people_counted(chromosome, founders))
    yield from _rows(leads, common.variants[pairs.lead], common.variants[pairs.other], r2)
    return np.asarray(common.variants[pairs.other[is_above(r2, R2.of(study.plan))]])


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Leads and the variants within their reach, by their places among those that are common enough.

    In the order of `SumPairs`: by the one that comes first in the panel, then by the other.
    """

    lead: np.ndarray
    other: np.ndarray

    @classmethod
    def of(cls, common: np.ndarray, leads: np.ndarray, windows: Sequence[tuple[int, int]]) -> _Pairs:
        starts, stops = np.searchsorted(common, np.array(windows, np.uint32)).T
        place = np.searchsorted(common, leads)
        is_common = np.isin(leads, common)
        size = np.where(is_common, stops - starts, 0)
        lead = np.repeat(place, size)
        other = np.arange(size.sum(dtype=np.int64)) - np.repeat(np.cumsum(size) - size - starts, size)
        lead, other = (each[lead != other] for each in (lead, other))
        order = np.lexsort([np.maximum(lead, other), np.minimum(lead, other)])
        return cls(lead[order], other[order])

    def asked(self, variants: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs in the form of `SumPairs`: for each variant, how many pairs it comes first in; and
        the lags.
        """
        first = np.minimum(self.lead, self.other)
        ahead = np.bincount(first, minlength=variants).astype(np.uint32)
        return ahead, np.abs(self.lead - self.other).astype(np.uint32)


def window_of(study: Study, lead: int) -> tuple[int, int]:
    """Find the range of panel indices, start and stop, of the variants within reach of a lead."""
    panel = study.panel
    code, position = int(panel.chromosome[lead]), int(panel.position[lead])
    first, last = np.searchsorted(panel.chromosome, [code, code + 1])
    here = panel.position[first:last]
    start = first + np.searchsorted(here, position - reach_of(study.plan), "left")
    stop = first + np.searchsorted(here, position + reach_of(study.plan), "right")
    return max(int(start), lead - MOST_AHEAD), min(int(stop), lead + MOST_AHEAD + 1)


def _alone(hits: Hits) -> Iterator[Rows]:
    """Rows of hits that are alone in their clumps."""
    none = np.zeros(0, np.uint32)
    yield from _rows(hits.variants, none, none, np.zeros(0))


def _rows(leads: np.ndarray, lead: np.ndarray, other: np.ndarray, r2: np.ndarray) -> Iterator[Rows]:
    """A row of each pair, and for each lead one with itself, which comes first."""
    leads_first = np.concatenate([leads, lead]), np.concatenate([leads, other])
    r2 = np.concatenate([np.ones(len(leads)), r2])
    order = np.lexsort([leads_first[1], leads_first[0] != leads_first[1], leads_first[0]])
    variant, others = (each[order].astype(np.uint32) for each in leads_first)
    yield Rows(LINKAGE, {"variant": variant, "other": others, "r2": r2[order]})


def _clump_columns(tables: Mapping[str, Arrays]) -> Arrays:
    """Return the columns that `.clumped` is written from: `LINKAGE`, and the P of the other variant."""
    none: Arrays = {"variant": np.zeros(0, np.uint32), "other": np.zeros(0, np.uint32), "r2": np.zeros(0)}
    found, tested = tables.get(LINKAGE, none), tables[VARIANTS]
    other, variants = found["other"][:], tested["variant"][:]
    place = np.minimum(np.searchsorted(variants, other), len(variants) - 1)
    size = np.where(variants[place] == other, printed(tested, place), np.nan)
    return {**{name: found[name][:] for name in none}, "neg_log10_p": size}


def _write(file: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    write_clumped(file, panel, columns, P2.of(plan), R2.of(plan))


_ABOUT = AboutFile(
    "Clumps",
    ".clumped: lead variants and those in linkage with them; also colours regions by linkage. Leads of a "
    "regression follow from sums that the server and the cohorts learn; under the exact rule for "
    "missing calls those of a variant with one carrier are that person's covariates and phenotype",
    "Associations were clumped by r² between haplotypes of the founders of all cohorts together, as "
    "plink1.9 --clump does.",
)
CLUMPS = Feature(
    CLUMPING,
    LEADS_ASKS,
    file=FeatureFile(CLUMPED, "adjusted", _ABOUT, _write, _clump_columns),
    around=with_leads,
)
