"""Counts of a regression before any fit: people, what is conditioned on, then genotypes chunk by chunk.

From these follow A1, the filters, the number of calls, and the sums of the genotype and of its square: no
later question asks for them again. The questions about the variants that remain also settle ties;
`OrderAlleles` is only for ties that are reported without being fitted. On X and Y men are counted separately;
`unpooled.methods.shared.allele_coding` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Later, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.kernels.dosages import COPY
from unpooled.methods.frequencies import count_far
from unpooled.methods.regression.floors import CountInside, find_few, has_floors
from unpooled.methods.regression.heterogeneity import compare_cohorts
from unpooled.methods.regression.options import is_exact
from unpooled.methods.regression.pool import (
    Census,
    Pool,
    are_fitted,
    chunks_of,
    count_people,
    everyone,
    finest,
    foreseen_chunks,
    foreseen_fits,
)
from unpooled.methods.shared import filters, genotype_counts
from unpooled.methods.shared.allele_coding import PLACES, X2_KNOWN, by_plink2
from unpooled.methods.shared.chunks import DIPLOID, MT, Chunk, Y, chromosome_class, foreseen_of
from unpooled.methods.shared.conditions import places_of
from unpooled.methods.shared.dosage_counts import OfDosages
from unpooled.methods.shared.dosage_table import counted_up_to_one, nearest
from unpooled.methods.shared.filters import COUNTED
from unpooled.methods.shared.genotype_counts import (
    FIRST_ALLELE_TELLS,
    AlleleOrder,
    Counted,
    carriers,
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
from unpooled.methods.shared.standardise import Magnitude, Mean, PooledColumns, Spread, standardise
from unpooled.plan.common_options import CONDITION, GENO
from unpooled.plan.genotype_model import ADDITIVE, GENOTYPE_MODEL, terms_of
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, FEWEST_COHORTS, Plan


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

    asked_if: ClassVar[Condition] = lambda plan: not DOSAGES.of(plan) or filters.of_calls(plan)

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
    found, passing, _ = yield from _sum_dosages(study, chunk, pool, dosed, CountGenotypes)
    return found.some(passing), found.some(np.zeros(chunk.variants, bool))


def _sum_dosages(
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


_ANOTHER = "Condition on another variant, such as one in linkage disequilibrium with it"


# The copies of a variant that is conditioned on are added to a cohort's covariates before it is asked
# anything (`shared.conditions`). What is asked here is the pool's counts, for A1, the filters and the floors,
# so that a variant that cannot be conditioned on ends the study at once.
def find_conditions(study: Study) -> tuple[int, ...]:
    """Panel indices of the variants that the plan conditions on.

    Refuses one that the cohorts have not agreed on, or that is not counted alike in men and women.
    """
    return tuple(_place(study, name) for name in CONDITION.of(study.plan))


def _place(study: Study, name: str) -> int:
    places = places_of(name, study.panel)
    if len(places) != 1:
        several = "more than one of" if len(places) else "not among"
        raise Refuse(
            CONDITION.name,
            f"the variant {name} is {several} the variants that all cohorts have",
            f"Look at its spelling. {_ANOTHER}; or leave out the cohorts that lack it.",
        )
    place = int(places[0])
    code = int(study.panel.chromosome[place])
    if (where := chromosome_class(code, study.plan.autosomes)) != DIPLOID:
        raise Refuse(
            CONDITION.name,
            f"the variant {name} is on {where}, where PLINK 1.9 and plink2 count copies in different ways",
            "Condition on variants of the autosomes; or have the cohorts give its copies as a covariate.",
        )
    return place


def pooled_columns(study: Study, pool: Pool, conditions: Sequence[int]) -> Asks[PooledColumns]:
    """Standardise the columns of a regression; a report has conditions as copies of A1."""
    first_is_a1 = yield from _order(study, pool, conditions)
    columns = yield from standardise(study, pool.complete)
    turned = np.zeros(len(columns.centre), bool)
    turned[: len(conditions)] = ~first_is_a1
    return replace(
        columns,
        origin=np.where(turned, 2, columns.origin),
        unit=np.where(turned, -1, columns.unit),
        conditions=np.array(conditions, np.int64),
    )


def _order(study: Study, pool: Pool, conditions: Sequence[int]) -> Asks[np.ndarray]:
    """Find whether the first allele of each variant to condition on is A1: bool (k,)."""
    plan, groups = study.plan, wanted_groups(DIPLOID, pool, study.plan)
    first, tied = np.zeros(len(conditions), bool), np.zeros(len(conditions), bool)
    for k, place in enumerate(conditions):
        chunk = Chunk(place, place + 1, DIPLOID)
        if DOSAGES.of(plan):
            counted, passing, sums = yield from _sum_dosages(
                study, chunk, pool, SumConditions, CountConditions
            )
            people = sums["carriers"][0]
        else:
            sums = yield CountConditions(place, place + 1, tuple(groups), max(groups.values()))
            counted = Counted.of(chunk, counts_table(plan, sums["genotypes"], groups, DIPLOID))
            people, passing = _carriers(counted), filters.passing(counted.genotypes, plan)
        if not plan.alone:
            _refuse_few(plan, CONDITION.of(plan)[k], people, sums["enough"][0])
            _refuse_filtered(CONDITION.of(plan)[k], passing)
        first[k], tied[k] = (flags.item() for flags in counted.order())
    if tied.any():
        sums = yield OrderConditions(np.array(conditions, np.uint32)[tied])
        first[tied] = most_say_first(sums["first"], plan.cohorts)
    return first


def _carriers(counted: Counted) -> np.ndarray:
    """Count the people with complete data who carry one variant's first allele, and its second."""
    inside = [COMPLETE in group for group in counted.table.groups]
    return carriers(counted.table.counts[0, inside].sum(axis=0, dtype=np.int64))


def _refuse_few(plan: Plan, name: str, people: np.ndarray, cohorts: np.ndarray) -> None:
    """Refuse a variant of which too few people, or people of too few cohorts, carry an allele."""
    if not people.min():
        raise Refuse(
            CONDITION.name,
            f"everybody in the pool with complete data has only one allele of the variant {name}",
            "Leave it out: it explains nothing.",
        )
    if people.min() < FEWEST_AT_A_LEVEL:
        raise Refuse(
            CONDITION.name,
            f"fewer than {FEWEST_AT_A_LEVEL} people in the pool carry the rarer allele of the variant {name},"
            " and sums over so few would reveal single people",
            f"{_ANOTHER}, or leave it out.",
        )
    if cohorts.min() < FEWEST_COHORTS and not plan.shows_cohort_sums:
        raise Refuse(
            CONDITION.name,
            f"fewer than {FEWEST_COHORTS} cohorts have at least {FEWEST_AT_A_LEVEL} carriers each of the "
            f"rarer allele of the variant {name}, and sums over these would reveal one cohort's numbers",
            f"{_ANOTHER}, or leave it out.",
        )


def _refuse_filtered(name: str, passing: np.ndarray) -> None:
    if not passing.all():
        raise Refuse(
            CONDITION.name,
            f"the variant {name} does not pass the study's own filters of variants",
            f"{_ANOTHER}, or lower what the filters ask for.",
        )


_ENOUGH = Count(
    "enough",
    ("variants", 2),
    1,
    f"per variant that is conditioned on, and allele: 1 if {FEWEST_AT_A_LEVEL} people or more with complete "
    "data carry it, else 0",
    f"how many cohorts have that many carriers of each allele; fewer than {FEWEST_COHORTS} end the study, "
    "unless the plan allows sums over one cohort",
)


_CARRIERS = Count(
    "carriers",
    ("variants", 2),
    genotype_counts.MOST_PEOPLE,
    "per variant that is conditioned on, and allele: number of people with complete data who carry it, by "
    "their dosages to whole copies",
    "how many people of the pool carry each allele",
)


class _OfConditions(CountGenotypes):
    """About a variant that is conditioned on."""

    @classmethod
    def goes_over_variants(cls) -> bool:
        return False  # it is about single ones

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        question = cls(0, 1, cls.foreseen_groups(DIPLOID, plan), 0)
        return Foreseen([question] * max(1, len(CONDITION.of(plan))), exact=False)


@dataclass(frozen=True)
class SumConditions(_OfConditions, CountDosages):
    """Sums of dosages of a variant that is conditioned on."""

    name: ClassVar[str] = "regression/condition-dosages"
    title: ClassVar[str] = "Sum dosages that are conditioned on"
    sends: ClassVar[tuple[Count, ...]] = (*CountDosages.sends, _CARRIERS, _ENOUGH)
    asked_if: ClassVar[Condition] = lambda plan: DOSAGES.of(plan) and CONDITION.of(plan)

    def local(self, cohort: Cohort) -> Arrays:
        found = carriers(nearest(cohort, slice(self.start, self.stop), ((COMPLETE,),))[:, 0])
        return {**super().local(cohort), "carriers": found, "enough": _enough(found)}


@dataclass(frozen=True)
class CountConditions(_OfConditions):
    """Genotype counts of a variant that is conditioned on."""

    name: ClassVar[str] = "regression/conditions"
    title: ClassVar[str] = "Count genotypes that are conditioned on"
    sends: ClassVar[tuple[Count, ...]] = (*CountGenotypes.sends, _ENOUGH)
    asked_if: ClassVar[Condition] = lambda plan: CONDITION.of(plan) and CountGenotypes.asked_if(plan)

    def local(self, cohort: Cohort) -> Arrays:
        counts = genotype_counts.counted(cohort, slice(self.start, self.stop), ((COMPLETE,),))[:, 0]
        return {**super().local(cohort), "enough": _enough(carriers(counts))}


def _enough(people: np.ndarray) -> np.ndarray:
    return (people >= FEWEST_AT_A_LEVEL).astype(np.int64)


@dataclass(frozen=True, eq=False)
class OrderConditions(genotype_counts.AlleleOrder):
    """Asks which allele is A1 where both are equally frequent, for variants that are conditioned on."""

    name: ClassVar[str] = "regression/condition-order"
    title: ClassVar[str] = "Order the alleles of ties that are conditioned on"
    asked_if: ClassVar[Condition] = lambda plan: CONDITION.of(plan)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(np.arange(len(CONDITION.of(plan))))], exact=False)


Begun = tuple[Pool, PooledColumns, tuple[str, ...], tuple[Chunk, ...]]


def count_and_standardise(study: Study) -> Asks[Begun]:
    """Count people, and standardise the columns.

    Returns the pool, its columns, those of the `SEXES` of whom there are too few to tell sums of, and the
    chunks to ask about.
    """
    if study.begun is not None:
        pool, columns, few = study.begun
        return pool, columns, few, chunks_of(study, pool)
    conditions = find_conditions(study)
    pool = yield from count_people(study)
    columns = yield from pooled_columns(study, pool, conditions)
    few = yield from find_few(study, columns)
    return pool, columns, few, chunks_of(study, pool)


BEFORE_GENOTYPES = (
    Census,
    SumConditions,
    CountConditions,
    OrderConditions,
    Magnitude,
    Mean,
    Spread,
    CountInside,
)
"""The kinds of questions of `count_and_standardise`, in the order in which they are asked."""
