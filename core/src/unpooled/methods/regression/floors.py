"""Floors of a regression, so that cohorts may be told its sums.

With these each cohort finds the next questions itself. It subtracts its own sums and sees those of all
others. So without any one cohort there are enough cases, controls, people above and below the mean of each
column, and people with each allele, or with each genotype where that is more than copies. Of a variant of
fewer no sums are told: a logistic regression has no estimate of it, nor has a linear one with robust errors,
and it leads no clump of another. By the rule `exact` sums are of single people anyway, as the plan says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.methods.ld.options import is_clumped
from unpooled.methods.regression.calls import Calls
from unpooled.methods.regression.options import ROBUST, is_exact
from unpooled.methods.regression.pool import Pool, foreseen_fits
from unpooled.methods.shared import dosage_table, genotype_counts
from unpooled.methods.shared.allele_coding import heterozygous_missing, sexes
from unpooled.methods.shared.beside_means import CountBeside, few_beside, refuse_few_beside
from unpooled.methods.shared.chunks import Chunk, OfChunk, foreseen_of
from unpooled.methods.shared.genotype_counts import Counted, carriers
from unpooled.methods.shared.groups import COMPLETE, MEN, NOT_MEN, complete, members
from unpooled.methods.shared.options import DOSAGES, is_apart
from unpooled.methods.shared.standardise import Columns, about_own_means, column_names
from unpooled.methods.shared.without_any import capped, is_few_without_any
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

SEXES = ("", MEN, NOT_MEN)
"""Everyone, and whose sums are apart on X and Y."""


def has_floors(plan: Plan) -> bool:
    """Tell whether no sum may be of few people."""
    return not is_exact(plan) and not plan.alone


def tells_of_variants(plan: Plan) -> bool:
    """Tell whether cohorts are told sums of genotypes, which must not be of few people.

    Those of a linear regression only make rows, unless it is looked for clumps among these, or for residuals.
    """
    return has_floors(plan) and (plan.trait != "quantitative" or is_clumped(plan) or ROBUST.of(plan))


@dataclass(frozen=True, eq=False)
class CountInside(CountBeside, name="regression/beside"):
    """Counts who is in a regression, of everyone and by sex."""

    sends: ClassVar[tuple[Count, ...]] = CountBeside.sends_of(
        "per covariate, and phenotype: number of people with complete data above the mean and below it, of "
        "case/control traits of cases and controls: of everyone, of men, and of all others"
    )
    asked_if: ClassVar[Condition] = has_floors

    @classmethod
    def of(cls, plan: Plan, centre: np.ndarray) -> CountInside:
        """Cases lie above, and controls below, what divides them."""
        between = np.full(len(_titles(plan)) - len(centre), 0.5)
        return cls(plan, np.zeros(len(centre)) if is_apart(plan) else np.append(centre, between))

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        centre = np.zeros(len(column_names(plan)))
        return Foreseen([cls.of(plan, centre)] if has_floors(plan) else [])

    @property
    def groups(self) -> int:
        return len(SEXES)

    def members(self, cohort: Cohort) -> list[np.ndarray]:
        samples = cohort.samples
        return [complete(samples) & members((sex,) if sex else (), samples) for sex in SEXES]

    def values(self, cohort: Cohort) -> np.ndarray:
        found, inside = super().values(cohort), complete(cohort.samples)
        if is_apart(self.plan):
            found[inside] = about_own_means(found[inside])
        return found


def _titles(plan: Plan) -> tuple[str, ...]:
    return plan.covariate_columns + plan.phenotype_names


def find_few(study: Study, columns: Columns) -> Asks[tuple[str, ...]]:
    """Find those of the `SEXES` of which there are too few of some kind; Refuse if that is everyone."""
    plan = study.plan
    if not has_floors(plan):
        return ()
    few = few_beside(plan, (yield CountInside.of(plan, columns.centre)))
    refuse_few_beside(plan, few[:1], _titles(plan), "people in the pool", "Invite further cohorts")
    return tuple(sex for sex, kinds in zip(SEXES, few, strict=True) if kinds.any())


def are_few(chromosome: str, few: tuple[str, ...]) -> bool:
    """Tell whether sums on a class of chromosomes would be apart for a sex of too few people."""
    return not {*few}.isdisjoint(sexes(chromosome))


@dataclass(frozen=True)
class CountCarriers(OfChunk, UnderPlan, name="regression/carriers", title="Count carriers"):
    """Counts, capped, who has each allele, or each genotype where these are more than copies."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "capped",
            ("variants", "sexes", "kinds"),
            FEWEST_AT_A_LEVEL,
            "per variant, and on X and Y by sex: number of people in the regression who carry each allele, "
            f"or who have each genotype, {FEWEST_AT_A_LEVEL} where there are more",
            f"whether {FEWEST_AT_A_LEVEL} people of the pool have it without any one cohort: else no cohort "
            "is told a sum of the variant, and a logistic regression has no estimate of it",
        ),
    )
    each: ClassVar[dict[str, str]] = {"variants": "variant", "sexes": "sex", "kinds": "allele or genotype"}
    asked_if: ClassVar[Condition] = tells_of_variants

    start: int
    stop: int
    chromosome: str

    @classmethod
    def of(cls, plan: Plan, chunk: Chunk) -> CountCarriers:
        return cls(plan, chunk.start, chunk.stop, chunk.chromosome)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_fits(plan, sizes)
        return foreseen_of(
            chunks and (chunks if cls.asked_if(plan) else ()), lambda chunk: cls.of(plan, chunk)
        )

    @property
    def sexes(self) -> int:
        return len(sexes(self.chromosome))

    @property
    def by_genotype(self) -> bool:
        return not terms_of(self.plan).is_plain

    @property
    def kinds(self) -> int:
        return 3 if self.by_genotype else 2

    def local(self, cohort: Cohort) -> Arrays:
        groups = [(COMPLETE, *filter(None, [sex])) for sex in sexes(self.chromosome)]
        count = dosage_table.nearest if DOSAGES.of(self.plan) else genotype_counts.counted
        counts = count(cohort, slice(self.start, self.stop), groups)
        for k, sex in enumerate(sexes(self.chromosome)):
            if heterozygous_missing(self.chromosome, sex, exact=False):
                counts[:, k, 1] = 0
        return {"capped": capped(counts if self.by_genotype else carriers(counts))}


def find_few_carriers(
    study: Study, chunk: Chunk, pool: Pool, counted: Counted, few: tuple[str, ...]
) -> Asks[np.ndarray]:
    """Tell of which variants of a chunk there may be no sums: bool (m,). `few` is as of `find_few`."""
    all_few = tells_of_variants(study.plan) and are_few(chunk.chromosome, few)
    if all_few or not tells_of_variants(study.plan) or not len(counted.variants):
        return np.full(len(counted.variants), all_few)
    asked = CountCarriers.of(study.plan, chunk)
    found = (yield asked)["capped"][counted.variants.astype(np.int64) - chunk.start]
    people = found  # of dosages: then an allele that one cohort alone has is not told apart
    if not DOSAGES.of(study.plan):
        genotypes = Calls.of(counted.table, chunk.chromosome, pool, exact=False).genotypes
        people = genotypes if asked.by_genotype else carriers(genotypes)
    return np.asarray(is_few_without_any(study.plan, people, found).any(axis=(1, 2)))


def split_by_carriers(
    study: Study, chunk: Chunk, pool: Pool, counted: Counted, few: tuple[str, ...]
) -> Asks[list[tuple[bool, np.ndarray]]]:
    """Split variants whose sums may be told, False, from those of too few carriers, True: bool (m,) each."""
    found = yield from find_few_carriers(study, chunk, pool, counted, few)
    return [(is_few, found == is_few) for is_few in (False, True) if (found == is_few).any()]


def foreseen_parts(plan: Plan, sizes: Sizes | None) -> tuple[Chunk, ...] | None:
    """The chunks whose variants can be fitted, and where they are split, others without variants."""
    chunks = foreseen_fits(plan, sizes)
    if chunks is None or not tells_of_variants(plan):
        return chunks
    return chunks + tuple(replace(chunk, stop=chunk.start) for chunk in chunks)
