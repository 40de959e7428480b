"""The beginning of a regression: what is conditioned on, people, and columns in the pool's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Condition, Count, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.methods.regression import normal_scores
from unpooled.methods.regression.counts import (
    CountDosages,
    CountGenotypes,
    counts_table,
    sum_dosages,
    wanted_groups,
)
from unpooled.methods.regression.floors import CountInside, find_few
from unpooled.methods.regression.pool import Census, Pool, chunks_of, count_people
from unpooled.methods.shared import filters, genotype_counts
from unpooled.methods.shared.chunks import DIPLOID, Chunk, chromosome_class
from unpooled.methods.shared.conditions import places_of
from unpooled.methods.shared.dosage_table import nearest
from unpooled.methods.shared.genotype_counts import Counted, carriers, most_say_first
from unpooled.methods.shared.groups import COMPLETE
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.standardise import Magnitude, Mean, PooledColumns, Spread, standardise
from unpooled.plan.common_options import CONDITION
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, FEWEST_COHORTS, Plan

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
            counted, passing, sums = yield from sum_dosages(
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
    yield from normal_scores.transform(study, pool.complete)
    columns = yield from pooled_columns(study, pool, conditions)
    few = yield from find_few(study, columns)
    return pool, columns, few, chunks_of(study, pool)


BEFORE_GENOTYPES = (
    Census,
    *normal_scores.ASKS,
    SumConditions,
    CountConditions,
    OrderConditions,
    Magnitude,
    Mean,
    Spread,
    CountInside,
)
"""The kinds of questions of `count_and_standardise`, in the order in which they are asked."""
