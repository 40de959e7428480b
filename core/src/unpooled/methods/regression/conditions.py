"""Regressions that condition on variants: which allele of these counts, and whether they may be covariates.

The copies themselves are added to a cohort's covariates before it is asked anything
(`unpooled.methods.shared.conditions`). What is asked here is the pool's genotype counts, for A1, the filters
and the floors, so that a variant that cannot be conditioned on ends the study at once.
"""

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
from unpooled.methods.regression.counts import CountGenotypes, counts_table, wanted_groups
from unpooled.methods.regression.options import is_apart
from unpooled.methods.regression.pool import Pool
from unpooled.methods.shared import filters, genotype_counts
from unpooled.methods.shared.chunks import DIPLOID, Chunk, chromosome_class
from unpooled.methods.shared.conditions import places_of
from unpooled.methods.shared.genotype_counts import Counted, carriers, most_say_first
from unpooled.methods.shared.groups import COMPLETE
from unpooled.methods.shared.standardise import PooledColumns, standardise
from unpooled.plan.common_options import CONDITION
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, FEWEST_COHORTS, Plan

_ANOTHER = "Condition on another variant, such as one in linkage disequilibrium with it"


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
    columns = yield from standardise(study, pool.complete, apart=is_apart(study.plan))
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
        sums = yield CountConditions(place, place + 1, tuple(groups), max(groups.values()))
        counted = Counted.of(chunk, counts_table(plan, sums["genotypes"], groups, DIPLOID))
        if not plan.alone:
            _refuse_few(plan, CONDITION.of(plan)[k], _carriers(counted), sums["enough"][0])
            _refuse_filtered(plan, CONDITION.of(plan)[k], counted)
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


def _refuse_filtered(plan: Plan, name: str, counted: Counted) -> None:
    if not filters.passing(counted.genotypes, plan).all():
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


@dataclass(frozen=True)
class CountConditions(CountGenotypes):
    """Genotype counts of a variant that is conditioned on."""

    name: ClassVar[str] = "regression/conditions"
    title: ClassVar[str] = "Count genotypes that are conditioned on"
    sends: ClassVar[tuple[Count, ...]] = (*CountGenotypes.sends, _ENOUGH)
    asked_if: ClassVar[Condition] = lambda plan: CONDITION.of(plan)

    @classmethod
    def goes_over_variants(cls) -> bool:
        return False  # it is about single ones

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        question = cls(0, 1, cls.foreseen_groups(DIPLOID, plan), 0)
        return Foreseen([question] * max(1, len(CONDITION.of(plan))), exact=False)

    def local(self, cohort: Cohort) -> Arrays:
        counts = genotype_counts.counted(cohort, slice(self.start, self.stop), ((COMPLETE,),))[:, 0]
        enough = (carriers(counts) >= FEWEST_AT_A_LEVEL).astype(np.int64)
        return {**super().local(cohort), "enough": enough}


@dataclass(frozen=True, eq=False)
class OrderConditions(genotype_counts.AlleleOrder):
    """Asks which allele is A1 where both are equally frequent, for variants that are conditioned on."""

    name: ClassVar[str] = "regression/condition-order"
    title: ClassVar[str] = "Order the alleles of ties that are conditioned on"
    asked_if: ClassVar[Condition] = lambda plan: CONDITION.of(plan)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(np.arange(len(CONDITION.of(plan))))], exact=False)
