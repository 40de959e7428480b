"""Principal components of the pool, as `plink2 --pca meanimpute` finds them on pooled files.

    found = yield from components(study)

With x = (g - 2p) / √(2p(1 - p)) for g copies of an allele of frequency p, and 0 for a missing call, they are
the first eigenvectors of X X' / m. Those of X'X, the loadings, are found from products X'(X q).

A study that has them lists `ASKS` among its questions and `COMPONENTS` among its options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Each, Go, Study, procedure
from unpooled.errors import Refuse
from unpooled.methods.components.blocks import first_block
from unpooled.methods.components.krylov import Krylov
from unpooled.methods.components.options import (
    COMPONENT_TOLERANCE,
    COMPONENTS,
    LEAST_ROUNDS,
    PEOPLE_PER_DIRECTION,
    STANDS_OUT,
    WORST_COVARIATE,
    block_of,
    number_of,
)
from unpooled.methods.components.questions import (
    CountGenotypes,
    CountPeople,
    Multiply,
    bound,
    groups_of,
    scale_of,
)
from unpooled.methods.ld.options import PRUNE_COMPONENTS
from unpooled.methods.ld.pruning import prune_autosomes
from unpooled.methods.shared import filters
from unpooled.methods.shared.chunks import Chunk, autosomal_chunks
from unpooled.methods.shared.genotype_counts import Counted, is_carried
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.without_any import people_without_any
from unpooled.plan.common_options import MAF
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

FEWEST_FOUNDERS = 50
"""Minimum number of founders to estimate a frequency from, as in PLINK."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """m variants, about their means and in their units."""

    name: ClassVar[str] = "components/scaled"

    variants: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    first_is_a1: np.ndarray
    """bool (m,)"""
    copies: np.ndarray
    """int64 (m,): copies of the panel's first allele among those who count in frequencies"""
    alleles: np.ndarray
    """int64 (m,): all alleles among them"""
    squares: np.ndarray
    """float64 (m,): of everyone's copies about the mean, summed; of a missing call 0"""

    @classmethod
    def of(cls, counted: Counted) -> Scaled:
        """Take those that vary in frequencies, of variants of which each allele has enough carriers."""
        counts = counted.table.counts
        two, one, none = np.moveaxis(counts.sum(axis=1, dtype=int), 1, 0)
        first, second = counted.table.frequency_alleles()
        some = np.flatnonzero((np.minimum(two + one, one + none) > 0) & (np.minimum(first, second) > 0))
        n = (two + one + none)[some]
        copies, squared = (2 * two + one)[some], (4 * two + one)[some]
        mean = 2 * first[some] / (first + second)[some]
        return cls(
            counted.variants[some].astype(np.uint32),
            np.asarray(first <= second)[some],
            first[some].astype(np.int64),
            (first + second)[some].astype(np.int64),
            squared - 2 * mean * copies + n * mean * mean,
        )

    @classmethod
    def joined(cls, parts: Sequence[Scaled]) -> Scaled:
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))

    def some(self, which: np.ndarray) -> Scaled:
        """Select variants: bool (m,)."""
        return Scaled(*(getattr(self, name)[which] for name in _COLUMNS))

    @property
    def mean(self) -> np.ndarray:
        """Copies of the panel's first allele: float64 (m,)."""
        return np.asarray(2 * self.copies / self.alleles)

    @property
    def scale(self) -> np.ndarray:
        """1 / √(2p(1 - p)): float64 (m,)."""
        return scale_of(self.mean)

    @property
    def kept(self) -> np.ndarray:
        """bool (variants of the panel up to the last,)"""
        found = np.zeros(int(self.variants.max(initial=0)) + 1, bool)
        found[self.variants] = True
        return found


_COLUMNS = tuple(field.name for field in fields(Scaled))


@dataclass(frozen=True, eq=False)
class Components:
    """k principal components of m variants."""

    name: ClassVar[str] = "components"

    scaled: Scaled
    people: int
    without_any: int
    """People of the pool without any one cohort, at least."""
    loadings: np.ndarray
    """float64 (k, m): of length 1 each, for copies of the panel's first allele in their units"""
    values: np.ndarray
    """float64 (k,): eigenvalues of X X' / m, falling"""
    following: float
    """The eigenvalue after these, about."""
    error: np.ndarray
    """float64 (k,): at most how far each is off, as 1 - |cos|"""
    rounds: int
    block: int


def components(study: Study) -> Asks[Components]:
    """Prune, if the plan says so; count; then multiply, until the components that stand out are known."""
    remain = (yield from prune_autosomes(study)) if PRUNE_COMPONENTS.of(study.plan) else None
    counted = yield CountPeople(groups_of(study.plan))
    people, everyone = counted["people"], int(counted["people"].sum(dtype=int))
    without_any = people_without_any(study.plan, counted, everyone)
    if not study.plan.alone:
        _refuse_few(study.plan, int(people[0]), without_any)
    chunks = autosomal_chunks(study)
    scaled = Scaled.joined((yield Each(count_chunk(study, chunk, people) for chunk in chunks)))
    if remain is not None:
        scaled = scaled.some(np.isin(scaled.variants, remain))
    count = number_of(study.plan)
    if len(scaled.variants) <= count:
        raise Refuse(
            MAF.name,
            f"no more than {count} variants of the autosomes pass the plan's filters and have "
            f"{FEWEST_AT_A_LEVEL} carriers of each allele in the pool without any one cohort",
            "Choose other filters, or fewer components.",
        )
    block, _ = block_of(count, len(scaled.variants), without_any, alone=study.plan.alone)
    (found,) = yield Each([begin(study, scaled, everyone, without_any, block)])
    return found  # type: ignore[no-any-return]


def _refuse_few(plan: Plan, founders: int, without_any: int) -> None:
    """Refuse a pool with too few founders, or without any one cohort too few people for the components."""
    if founders < FEWEST_FOUNDERS:
        raise Refuse(
            "nonfounders",
            f"the pool has fewer than {FEWEST_FOUNDERS} founders, people neither of whose parents is named, "
            "and frequencies of so few are mostly chance",
            "Count nonfounders in frequencies too, or invite further cohorts.",
        )
    count = number_of(plan)
    least = LEAST_ROUNDS * PEOPLE_PER_DIRECTION * count
    if without_any < least:
        raise Refuse(
            PCA_COUNT.name if plan.test == PCA_COUNT.name else COMPONENTS.name,
            f"{count} components take {least:,} people beside those of any one cohort: sums in as many "
            "directions as there are people would tell all their genotypes. In the pool only "
            f"{without_any:,} are counted without its largest cohort",
            "Choose fewer components, or invite further cohorts.",
        )


@procedure("components/chunk")
def count_chunk(study: Study, chunk: Chunk, people: np.ndarray) -> Asks[Scaled]:
    """Count the genotypes of a chunk; what passes the filters and has enough carriers is in."""
    plan = study.plan
    inside = tuple(group for group, n in zip(groups_of(plan), people.tolist(), strict=True) if n)
    groups = inside or groups_of(plan)
    sums = yield CountGenotypes(chunk.start, chunk.stop, groups, int(people.max()), chunk.chromosome)
    table = GenotypeTable(sums["genotypes"], groups, int(people.sum(dtype=int)), chunk.chromosome, ())
    found = Counted.of(chunk, table)
    code = study.panel.chromosome[chunk.start : chunk.stop]
    placed = (code >= 1) & (code <= plan.autosomes)  # not those without a place, nor XY
    good = filters.passing(table, plan) & placed & is_carried(plan, sums)
    return Scaled.of(found.some(good))


@procedure("components/begin")
def begin(study: Study, scaled: Scaled, people: int, without_any: int, block: int) -> Asks[Components]:
    """Begin with a block from a stream of the plan."""
    krylov = Krylov.begin(first_block(study.plan, block, len(scaled.variants)))
    return (yield from Go(climb(study, scaled, people, without_any, krylov, 1)))


@procedure("components/climb")
def climb(
    study: Study, scaled: Scaled, people: int, without_any: int, krylov: Krylov, turn: int
) -> Asks[Components]:
    """Multiply one block, until there is enough."""
    plan, scale = study.plan, scaled.scale
    sums = yield Multiply(
        scaled.kept,
        scaled.mean,
        krylov.next.packed,
        krylov.next.exponent,
        bound(scaled.squares, scale),
        plan.cohorts,
        without_any,
        turn,
    )
    krylov = krylov.advance(sums.pop("products") * scale)  # popped: large, and no longer needed
    block, rounds = block_of(number_of(plan), len(scale), without_any, alone=plan.alone)
    found = krylov.found(number_of(plan))
    has_ended = not krylov.next.shape[0] or turn >= rounds
    worst = WORST_COVARIATE if COMPONENTS.of(plan) else 1.0
    if not has_ended and not found.is_enough(STANDS_OUT, COMPONENT_TOLERANCE.of(plan), worst):
        return (yield from Go(climb(study, scaled, people, without_any, krylov, turn + 1)))
    m, loadings = len(scale), krylov.vectors(found)
    following = float(found.following / m)
    values, error = found.values / m, found.error
    return Components(scaled, people, without_any, loadings, values, following, error, turn, block)
