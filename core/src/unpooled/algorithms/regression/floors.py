"""Floors of a logistic regression, so that cohorts may be told the sums of its models.

With these each cohort finds the next questions itself. It subtracts its own sums and sees those of all
others. So without any one cohort there are enough cases, controls, people above and below the mean of each
covariate, and people with each allele, or with each genotype where that is more than copies. A variant of
fewer has no estimate. By the rule `exact` sums are of single people anyway, as the plan says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.algorithms.regression.pool import Calls, Pool, foreseen_fits
from unpooled.algorithms.shared import dosage_table, genotype_counts
from unpooled.algorithms.shared.chunks import Chunk
from unpooled.algorithms.shared.coding import heterozygous_missing, sexes
from unpooled.algorithms.shared.genotype_counts import MOST_PEOPLE, Counted, carriers
from unpooled.algorithms.shared.groups import CASE, COMPLETE, CONTROL, MEN, NOT_MEN, complete, members
from unpooled.algorithms.shared.people_without_any import is_few_without_any
from unpooled.algorithms.shared.standardise import Columns
from unpooled.algorithms.shared.without_any import capped
from unpooled.cohort import Cohort, blocks
from unpooled.errors import Refuse
from unpooled.genotype_model import terms_of
from unpooled.plan import FEWEST_AT_A_LEVEL, MEAN, Plan
from unpooled.procedure import Asks, Study
from unpooled.question import Arrays, Condition, Count, Foreseen, Question
from unpooled.sizes import Sizes

SEXES = ("", MEN, NOT_MEN)
"""Everyone, and whose sums are apart on X and Y."""


def has_floors(plan: Plan) -> bool:
    """Tell whether no sum may be of few people."""
    return plan.missing == MEAN and not plan.alone


@dataclass(frozen=True, eq=False)
class CountInside(Question):
    """Counts cases, controls, and people above and below the mean of each covariate, and the same capped.

    A covariate that is 0 for all but one person would tell that person's genotypes, variant by variant.
    """

    name: ClassVar[str] = "logistic/inside"
    title: ClassVar[str] = "Count cases, controls, and people beside the means"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            (len(SEXES), "kinds"),
            MOST_PEOPLE,
            "number of cases, of controls, and per covariate of people above and below its mean, all with "
            "complete data: of everyone, of men, and of all others",
            "how many people of the pool are above and below the mean of each covariate",
        ),
        Count(
            "capped",
            (len(SEXES), "kinds"),
            FEWEST_AT_A_LEVEL,
            f"the same, {FEWEST_AT_A_LEVEL} where there are more",
            f"whether these are {FEWEST_AT_A_LEVEL} without any one cohort; fewer end the study",
        ),
    )
    each: ClassVar[dict[str, str]] = {"kinds": "kind of people"}
    ring_bits: ClassVar[int] = 64
    asked_if: ClassVar[Condition] = has_floors

    centre: np.ndarray
    """float64 (covariates,)"""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(np.zeros(len(plan.covariate_columns)))] if has_floors(plan) else [])

    @property
    def kinds(self) -> int:
        return 2 + 2 * len(self.centre)

    def local(self, cohort: Cohort) -> Arrays:
        samples = cohort.samples
        inside, values = complete(samples), samples.covariates
        phenotypes = [members((word,), samples) for word in (CASE, CONTROL)]
        kinds = np.column_stack([*phenotypes, values > self.centre, values < self.centre])
        apart = [inside & members((sex,) if sex else (), samples) for sex in SEXES]
        people = np.array([np.count_nonzero(kinds[some], axis=0) for some in apart])
        return {"people": people, "capped": capped(people)}


def find_few(study: Study, columns: Columns) -> Asks[tuple[str, ...]]:
    """Find those of the `SEXES` of which there are too few of some kind; Refuse if that is everyone."""
    plan = study.plan
    if not has_floors(plan):
        return ()
    sums = yield CountInside(columns.centre)
    few = is_few_without_any(plan, sums["people"], sums["capped"])
    of_everyone = few[SEXES.index("")]
    if of_everyone[:2].any():
        raise Refuse(
            "phenotype",
            f"perhaps without one of the cohorts the pool has fewer than {FEWEST_AT_A_LEVEL} "
            f"{'cases' if of_everyone[0] else 'controls'} with complete data, and sums over so few would "
            "reveal them",
            "Invite further cohorts, or leave covariates out that few people have.",
        )
    titles = plan.covariate_columns * 2
    for k in np.flatnonzero(of_everyone[2:]).tolist():
        raise Refuse(
            plan.field_of(titles[k]),
            f"{titles[k]}: fewer than {FEWEST_AT_A_LEVEL} people in the pool, perhaps without one of the "
            f"cohorts, are {'below' if k >= len(titles) // 2 else 'above'} the mean of all, and sums over "
            "this column would reveal them",
            "Leave the covariate out, or have the cohorts look for values that are far off, such as a code "
            "for a missing one.",
        )
    return tuple(sex for sex, kinds in zip(SEXES, few.tolist(), strict=True) if any(kinds))


@dataclass(frozen=True)
class CountCarriers(Question):
    """Counts, capped, who has each allele, or each genotype where these are more than copies."""

    name: ClassVar[str] = "logistic/carriers"
    title: ClassVar[str] = "Count carriers"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "capped",
            ("variants", "sexes", "kinds"),
            FEWEST_AT_A_LEVEL,
            "per variant, and on X and Y by sex: number of people in the regression who carry each allele, "
            f"or who have each genotype, {FEWEST_AT_A_LEVEL} where there are more",
            f"whether {FEWEST_AT_A_LEVEL} people of the pool have it without any one cohort: else a variant "
            "has no estimate",
        ),
    )
    each: ClassVar[dict[str, str]] = {"variants": "variant", "sexes": "sex", "kinds": "allele or genotype"}
    asked_if: ClassVar[Condition] = has_floors

    start: int
    stop: int
    chromosome: str
    by_genotype: bool
    dosages: bool

    @classmethod
    def of(cls, plan: Plan, chunk: Chunk) -> CountCarriers:
        return cls(chunk.start, chunk.stop, chunk.chromosome, not terms_of(plan).is_plain, plan.dosages)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_fits(plan, sizes)
        if chunks is None:
            return None
        return Foreseen([cls.of(plan, chunk) for chunk in chunks] if has_floors(plan) else [], exact=False)

    @property
    def variants(self) -> int:
        return self.stop - self.start

    @property
    def sexes(self) -> int:
        return len(sexes(self.chromosome))

    @property
    def kinds(self) -> int:
        return 3 if self.by_genotype else 2

    def local(self, cohort: Cohort) -> Arrays:
        groups = [(COMPLETE, *filter(None, [sex])) for sex in sexes(self.chromosome)]
        count = dosage_table.nearest if self.dosages else genotype_counts.counted
        found = [np.zeros((0, len(groups), 3), np.int64)]
        for part in blocks(self.variants, len(cohort.samples)):
            found.append(count(cohort, slice(self.start + part.start, self.start + part.stop), groups))
        counts = np.concatenate(found)
        for k, sex in enumerate(sexes(self.chromosome)):
            if heterozygous_missing(self.chromosome, sex, exact=False):
                counts[:, k, 1] = 0
        return {"capped": capped(counts if self.by_genotype else carriers(counts))}


def find_few_carriers(
    study: Study, chunk: Chunk, pool: Pool, counted: Counted, few: tuple[str, ...]
) -> Asks[np.ndarray]:
    """Tell of which variants of a chunk there may be no sums: bool (m,). `few` is as of `find_few`."""
    all_few = not {*few}.isdisjoint(sexes(chunk.chromosome))
    if all_few or not has_floors(study.plan) or not len(counted.variants):
        return np.full(len(counted.variants), all_few)
    asked = CountCarriers.of(study.plan, chunk)
    found = (yield asked)["capped"][counted.variants.astype(np.int64) - chunk.start]
    people = found  # of dosages: then an allele that one cohort alone has is not told apart
    if not asked.dosages:
        genotypes = Calls.of(counted.table, chunk.chromosome, pool, exact=False).genotypes
        people = genotypes if asked.by_genotype else carriers(genotypes)
    return np.asarray(is_few_without_any(study.plan, people, found).any(axis=(1, 2)))
