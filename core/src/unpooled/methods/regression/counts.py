"""Counts of a regression before any fit: genotypes, chunk by chunk.

From these follow A1, the filters, the number of calls, and the sums of the genotype and of its square: no
later question asks for them again. The questions about the variants that remain also settle ties;
`OrderAlleles` is only for ties that are reported without being fitted. On X and Y men are counted separately;
`unpooled.methods.shared.allele_coding` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Later, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.kernels.dosages import COPY
from unpooled.methods.frequencies import count_far
from unpooled.methods.regression.floors import has_floors
from unpooled.methods.regression.heterogeneity import compare_cohorts
from unpooled.methods.regression.options import is_exact
from unpooled.methods.regression.pool import (
    Pool,
    are_fitted,
    everyone,
    finest,
    foreseen_chunks,
    foreseen_fits,
)
from unpooled.methods.shared import filters, genotype_counts
from unpooled.methods.shared.allele_coding import PLACES, X2_KNOWN, by_plink2
from unpooled.methods.shared.chunks import DIPLOID, MT, Chunk, Y, foreseen_of
from unpooled.methods.shared.dosage_counts import OfDosages
from unpooled.methods.shared.dosage_table import counted_up_to_one
from unpooled.methods.shared.filters import COUNTED
from unpooled.methods.shared.genotype_counts import (
    FIRST_ALLELE_TELLS,
    AlleleOrder,
    Counted,
    most_say_first,
)
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import (
    COMPLETE,
    FOUNDER,
    INCOMPLETE,
    MEN,
    NONFOUNDER,
    NOT_MEN,
    UNKNOWN,
    WOMEN,
    Group,
)
from unpooled.methods.shared.options import DOSAGES, is_apart
from unpooled.plan.common_options import GENO
from unpooled.plan.genotype_model import ADDITIVE, GENOTYPE_MODEL, terms_of
from unpooled.plan.plan import Plan


def wanted_groups(chromosome: str, pool: Pool, plan: Plan) -> dict[Group, int]:
    """The groups to count genotypes in, on a class of chromosomes, with the number of people in the pool."""
    dropped = {FOUNDER, NONFOUNDER} if plan.nonfounders else set()
    dropped |= {MEN, NOT_MEN} if PLACES[chromosome] in (DIPLOID, MT) else set()
    everyone_matters = plan.nonfounders or GENO.of(plan) < 1 or "lmiss" in plan.files
    wanted: dict[Group, int] = {}
    for finest_group, size in zip(finest(pool.trait), pool.people, strict=True):
        if not size or (PLACES[chromosome] == Y and MEN not in finest_group):
            continue
        if {INCOMPLETE, NONFOUNDER} <= set(finest_group) and not everyone_matters:
            continue
        known = chromosome == X2_KNOWN and COMPLETE in finest_group
        left_out = dropped if known else dropped | {WOMEN, UNKNOWN}
        group = tuple(word for word in finest_group if word not in left_out)
        wanted[group] = wanted.get(group, 0) + size
    return wanted


@dataclass(frozen=True)
class CountGenotypes(genotype_counts.CountGenotypes, name="regression/genotypes"):
    """Genotype counts of one chunk in each group."""

    asked_if: ClassVar[Condition] = filters.counts_calls

    @classmethod
    def foreseen_chunks(cls, plan: Plan, sizes: Sizes | None) -> tuple[Chunk, ...] | None:
        return foreseen_chunks(plan, sizes)

    @classmethod
    def foreseen_groups(cls, chromosome: str, plan: Plan) -> tuple[Group, ...]:
        return tuple(wanted_groups(chromosome, everyone(plan), plan))


def count_genotypes(study: Study, chunk: Chunk, pool: Pool) -> Asks[tuple[Counted, Counted]]:
    """Count the genotypes of a chunk, and report the variants that do not pass the filters.

    Returns those that pass, and the ties among the others, which are reported once they are ordered.
    """
    plan, wanted = study.plan, wanted_groups(chunk.chromosome, pool, study.plan)
    most = max(wanted.values(), default=0)
    sums = yield CountGenotypes(chunk.start, chunk.stop, tuple(wanted), most, chunk.chromosome)
    table = counts_table(plan, sums["genotypes"], wanted, chunk.chromosome)
    found = Counted.of(chunk, table)
    passing = filters.passing(table, plan) & are_fitted(chunk.chromosome, plan)
    # What plink2 counts in another way is in PLINK 1.9's reports by the first counts.
    told = ~passing & (filters.reports_filtered(plan) and not by_plink2(chunk.chromosome))
    first_is_a1, tied = found.order()
    if (ready := told & ~tied).any():
        yield from report_filtered(study, found.some(ready), first_is_a1[ready])
    return found.some(passing), found.some(told & tied)


def report_filtered(study: Study, found: Counted, first_is_a1: np.ndarray) -> Iterator[Later]:
    """Rows of variants that do not pass the filters."""
    yield Rows.later(lambda: [filters.filtered(study.plan, found.variants, found.genotypes, first_is_a1)])


def counts_table(
    plan: Plan, counts: np.ndarray, wanted: Mapping[Group, int], chromosome: str
) -> GenotypeTable:
    """The pool's genotype counts, (m, groups, 3), of the groups that are wanted."""
    files = tuple(file for file in COUNTED if file == "frq" or file in plan.files)
    if "glm" in plan.files and plan.trait != "quantitative":
        files += ("glm",)
    place, halves = PLACES[chromosome], by_plink2(chromosome) and is_exact(plan)
    return GenotypeTable(counts, tuple(wanted), sum(wanted.values()), place, files, hwe_rows(plan), halves)


def hwe_rows(plan: Plan) -> tuple[str, ...]:
    """Return the groups of people that a report's Hardy-Weinberg tests are about."""
    return ("all",) if plan.trait == "quantitative" else ("all", "case", "control")


TIES = Count(
    "first",
    ("tied",),
    1,
    "per variant of two equally frequent alleles: 1 if this cohort's files call its first allele A1",
    FIRST_ALLELE_TELLS,
)


def ordered(first_is_a1: np.ndarray, tied: np.ndarray, first: np.ndarray, cohorts: int) -> np.ndarray:
    """Mark the variants whose first allele is A1, once the sums of `TIES` are known: bool (m,)."""
    found = first_is_a1.copy()
    found[tied] = most_say_first(first, cohorts)
    return found


@dataclass(frozen=True, eq=False)
class OrderAlleles(genotype_counts.AlleleOrder, name="regression/allele-order"):
    """Asks which allele is A1 where both are equally frequent, for variants reported but not fitted."""

    asked_if: ClassVar[Condition] = filters.reports_filtered
    only_server: ClassVar[Condition] = lambda plan: True


@procedure("regression/ties")
def report_ties(study: Study, ties: tuple[Counted, ...]) -> Asks[None]:
    """Order the alleles of the ties of all chunks that are not fitted, in one question; then report them."""
    variants = np.concatenate([np.zeros(0, np.uint32), *(some.variants for some in ties)])
    if not len(variants):
        return
    sums = yield OrderAlleles(variants)
    first_is_a1 = most_say_first(sums["first"], study.plan.cohorts)
    # Rows of one chunk stay together: tables are merged chunk by chunk.
    ends = np.cumsum([len(some.variants) for some in ties])[:-1]
    for some, order in zip(ties, np.split(first_is_a1, ends), strict=True):
        if len(order):
            yield from report_filtered(study, some, order)


# Counting copies of the other allele gives another fit, unless the model is of copies alone.
@dataclass(frozen=True, eq=False)
class OrderBeforeFit(AlleleOrder):
    """Asks which allele is A1 where both are equally frequent, for variants of a chunk to be fitted."""

    name: ClassVar[str] = "regression/order-before-fit"
    title: ClassVar[str] = "Order the alleles of ties before they are fitted"
    asked_if: ClassVar[Condition] = lambda plan: (
        comes_before_fit(plan) or (plan.trait != "quantitative" and has_floors(plan))
    )

    chromosome: str

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_fits(plan, sizes)
        return foreseen_of(chunks, lambda chunk: cls(np.arange(chunk.start, chunk.stop), chunk.chromosome))


def comes_before_fit(plan: Plan) -> bool:
    """Tell whether A1 is settled before fits: where the other allele gives another one, or their sums have no
    place for it.
    """
    return not terms_of(plan).is_plain or (plan.trait != "quantitative" and is_apart(plan))


def order_of(
    study: Study, chunk: Chunk, counted: Counted, few: np.ndarray | np.bool_ = np.False_
) -> Asks[tuple[np.ndarray, np.ndarray]]:
    """Find which variants have the first allele as A1, and which are still ties: bool (m,) each.

    A regression on copies is settled with its own sums; every other one here, and that of too `few` carriers,
    bool (m,), of which there are no sums.
    """
    first_is_a1, tied = counted.order()
    now = tied & (few | comes_before_fit(study.plan))
    if not now.any():
        return first_is_a1, tied
    sums = yield OrderBeforeFit(counted.variants[now], chunk.chromosome)
    found = first_is_a1.copy()
    found[now] = most_say_first(sums["first"], study.plan.cohorts)
    return found, tied & ~now


# --geno and --hwe are of calls, as in plink2, and genotypes are counted only where a plan has one of them.
@dataclass(frozen=True)
class CountDosages(OfDosages, CountGenotypes, name="regression/dosages"):
    """Sums of dosages of one chunk in each group, for a model of copies as they are."""

    asked_if: ClassVar[Condition] = lambda plan: DOSAGES.of(plan) and GENOTYPE_MODEL.of(plan) == ADDITIVE


_TELLS = (
    "how far dosages are between whole copies in each group of the pool; of a group of few, with the sums "
    "above, the dosages of single people, without name or cohort"
)


@dataclass(frozen=True)
class CountCodedDosages(CountDosages):
    """Sums of dosages of one chunk in each group, for a model in which they count otherwise."""

    name: ClassVar[str] = "regression/coded-dosages"
    title: ClassVar[str] = "Sum dosages up to one copy"
    sends: ClassVar[tuple[Count, ...]] = (
        *CountDosages.sends,
        Count(
            "up_to_one",
            ("variants", "group_count"),
            "most_up_to_one",
            "per variant and group of people: sum of dosages, of which no more than one copy counts",
            _TELLS,
            of_one=True,
        ),
        Count(
            "up_to_one_squares",
            ("variants", "group_count"),
            "most_up_to_one_squares",
            "per variant and group of people: sum of their squares, likewise",
            _TELLS,
            of_one=True,
        ),
    )
    asked_if: ClassVar[Condition] = lambda plan: DOSAGES.of(plan) and GENOTYPE_MODEL.of(plan) != ADDITIVE

    @property
    def most_up_to_one(self) -> int:
        return self.most * COPY

    @property
    def most_up_to_one_squares(self) -> int:
        return self.most * COPY**2

    def local(self, cohort: Cohort) -> Arrays:
        found = counted_up_to_one(cohort, slice(self.start, self.stop), self.groups)
        return {**super().local(cohort), "up_to_one": found[..., 0], "up_to_one_squares": found[..., 1]}


def count(study: Study, chunk: Chunk, pool: Pool, exponent: int) -> Asks[tuple[Counted, Counted]]:
    """Count what a study is of in a chunk, dosages or genotypes, as `count_genotypes` says.

    If the plan asks for it, cohorts compare their own frequencies with the pool's, and their own estimates,
    of a phenotype in units of 2^exponent, at the variants that pass.
    """
    kept, ties = yield from count_variants(study, chunk, pool)
    # Stored branches are replayed by the order of what was asked: frequencies come before estimates.
    yield from count_far(study, chunk, kept)
    yield from compare_cohorts(study, chunk, kept, exponent)
    return kept, ties


def count_variants(study: Study, chunk: Chunk, pool: Pool) -> Asks[tuple[Counted, Counted]]:
    """Count dosages or genotypes as the plan says; returns what `count_genotypes` does."""
    counted_by = count_dosages if DOSAGES.of(study.plan) else count_genotypes
    return (yield from counted_by(study, chunk, pool))


def count_dosages(study: Study, chunk: Chunk, pool: Pool) -> Asks[tuple[Counted, Counted]]:
    """Sum the dosages of a chunk; of the variants that do not pass the filters none is reported."""
    dosed = CountDosages if CountDosages.asked_if(study.plan) else CountCodedDosages
    found, passing, _ = yield from sum_dosages(study, chunk, pool, dosed, CountGenotypes)
    return found.some(passing), found.some(np.zeros(chunk.variants, bool))


def sum_dosages(
    study: Study, chunk: Chunk, pool: Pool, dosed: type[CountDosages], called: type[CountGenotypes]
) -> Asks[tuple[Counted, np.ndarray, Arrays]]:
    """Ask these kinds about a chunk; return its variants, which of them pass, and the sums of dosages."""
    plan, wanted = study.plan, wanted_groups(chunk.chromosome, pool, study.plan)
    about = chunk.start, chunk.stop, tuple(wanted), max(wanted.values(), default=0), chunk.chromosome
    sums = yield dosed(*about)
    table, calls = dosed.table(sums, tuple(wanted), PLACES[chunk.chromosome]), None
    if filters.of_calls(plan):
        calls = counts_table(plan, (yield called(*about))["genotypes"], wanted, chunk.chromosome)
    return Counted.of(chunk, table), filters.passing_of_dosages(table, calls, plan), sums
