"""The people of a regression's pool, in groups, and the chunks that it asks about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Rows, Study
from unpooled.asking.question import Arrays, Count, Real, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.methods.regression.options import is_exact
from unpooled.methods.shared import chunks, filters, groups, summary
from unpooled.methods.shared.allele_coding import has_plink2, with_plink2
from unpooled.methods.shared.chunks import DIPLOID, Chunk
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.without_any import capped, is_few_without_any
from unpooled.plan.common_options import COHORT_SUMS, COVARIATES
from unpooled.plan.genotype_model import GENOTYPE_MODEL, INTERACTION, terms_of
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, FEWEST_COHORTS, Plan

_QUANTITATIVE: tuple[groups.Group, ...] = tuple(
    (completeness, founder, *sex)
    for completeness in (groups.COMPLETE, groups.INCOMPLETE)
    for founder in (groups.FOUNDER, groups.NONFOUNDER)
    for sex in ((groups.MEN,), (groups.NOT_MEN, groups.WOMEN), (groups.NOT_MEN, groups.UNKNOWN))
)

_CASE_CONTROL: tuple[groups.Group, ...] = tuple(
    (phenotype, *group) for phenotype in groups.PHENOTYPES for group in _QUANTITATIVE
)


def finest(trait: str) -> tuple[groups.Group, ...]:
    """The groups of which all others are unions; together they are everyone."""
    return _QUANTITATIVE if trait == "quantitative" else _CASE_CONTROL


def count_people(study: Study) -> Asks[Pool]:
    """Count the people in the pool; refuse one without cases or controls, or with too rare levels."""
    plan = study.plan
    sums = yield Census(plan)
    pool = Pool(plan.trait, tuple(sums["people"].tolist()))
    if not plan.alone:
        pool.refuse_if_empty(plan)
        refuse_rare_levels(plan, sums)
    yield pool.rows()
    return pool


@dataclass(frozen=True)
class Census(UnderPlan, name="regression/census", title="Count people", ring_bits=64):
    """Asks for the number of people in each group."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            ("group_count",),
            MOST_PEOPLE,
            "number of people by phenotype (if case/control), complete data or not, founder or not, sex",
            "how many people of the pool are in each group",
        ),
        Count(
            "levels",
            ("level_count",),
            MOST_PEOPLE,
            "per level of a categorical covariate: number of people with complete data",
            f"how many people of the pool have each level; fewer than {FEWEST_AT_A_LEVEL} end the study",
        ),
        Count(
            "enough",
            ("level_count",),
            1,
            f"per level of a categorical covariate: 1 if these are {FEWEST_AT_A_LEVEL} or more, else 0",
            f"how many cohorts have that many people at each level; fewer than {FEWEST_COHORTS} end the "
            "study, unless the plan allows sums over one cohort",
        ),
        Count(
            "capped_levels",
            ("level_count",),
            FEWEST_AT_A_LEVEL,
            f"the number of these people, {FEWEST_AT_A_LEVEL} where there are more",
            f"whether {FEWEST_AT_A_LEVEL} have each level without any one cohort; fewer end the study",
        ),
    )
    each: ClassVar[dict[str, str]] = {"group_count": "group of people", "level_count": "level"}

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Count | Real, ...]:
        return cls.sends if plan.dummies else cls.sends[:1]

    @property
    def group_count(self) -> int:
        return len(finest(self.plan.trait))

    @property
    def level_count(self) -> int:
        return sum(1 + len(columns) for columns in self.plan.dummies)

    def local(self, cohort: Cohort) -> Arrays:
        samples = cohort.samples
        levels = at_each_level(samples.covariates[groups.complete(samples)], self.plan.dummies)
        enough = (levels >= FEWEST_AT_A_LEVEL).astype(np.int64)
        people = groups.sizes(finest(self.plan.trait), samples)
        return {"people": people, "levels": levels, "enough": enough, "capped_levels": capped(levels)}


def at_each_level(covariates: np.ndarray, dummies: Sequence[Sequence[int]]) -> np.ndarray:
    """Count the people at each level of each categorical covariate, the first included: int64 (levels,).

    `covariates`, (n, c), are of people who have all of them: whoever has no other level has the first.
    """
    found: list[int] = []
    for columns in dummies:
        others = np.count_nonzero(covariates[:, list(columns)] == 1, axis=0).tolist()
        found += [len(covariates) - sum(others), *others]
    return np.array(found, np.int64)


def refuse_rare_levels(plan: Plan, total: Arrays) -> None:
    """Refuse if too few people, or too few cohorts, have some level of a categorical covariate.

    `total` is what `Census` asks for, summed.
    """
    levels = [(level, covariate.title) for covariate in COVARIATES.of(plan) for level in covariate.levels]
    few = is_few_without_any(plan, total["levels"], total["capped_levels"])
    few = few | (total["levels"] < FEWEST_AT_A_LEVEL)
    for (level, title), is_few, cohorts in zip(levels, few, total["enough"].tolist(), strict=True):
        at = f"the level {level} of the covariate {title}"
        if is_few:
            raise Refuse(
                COVARIATES.name,
                f"fewer than {FEWEST_AT_A_LEVEL} people in the pool have {at}, perhaps without one of the "
                "cohorts, and sums over so few would reveal single people",
                f"{_WITHOUT_THE_LEVEL}.",
            )
        if cohorts < FEWEST_COHORTS and not COHORT_SUMS.of(plan):
            raise Refuse(
                COVARIATES.name,
                f"fewer than {FEWEST_COHORTS} cohorts have at least {FEWEST_AT_A_LEVEL} people each with "
                f"{at}, and sums over these would reveal one cohort's numbers",
                f"{_WITHOUT_THE_LEVEL}; or let the plan allow sums over one cohort, which every cohort is "
                "then asked to accept.",
            )


_WITHOUT_THE_LEVEL = "Merge the level with another in the files and in the plan, or leave the covariate out"


@dataclass(frozen=True)
class Pool:
    """Number of people in the pool, in the finest groups."""

    name: ClassVar[str] = "pool"

    trait: str
    people: tuple[int, ...]

    def of(self, *words: str) -> int:
        """Count the people who are in all the groups of these words."""
        named = zip(finest(self.trait), self.people, strict=True)
        return sum(size for group, size in named if set(words) <= set(group))

    @property
    def complete(self) -> int:
        """Count the people with a phenotype and every covariate, who are in regressions."""
        return self.of(groups.COMPLETE)

    def rows(self) -> Rows:
        """Return the numbers of people with complete data, as rows of the result."""
        classes = () if self.trait == "quantitative" else (groups.CASE, groups.CONTROL)
        return summary.pool(self.complete, *(self.of(groups.COMPLETE, word) for word in classes))

    def refuse_if_empty(self, plan: Plan) -> None:
        """Refuse if nobody has complete data, or too few for a model's columns, or if nobody is a case, or a
        control."""
        if not self.complete:
            raise Refuse(
                "phenotype",
                "nobody in the pool has the phenotype and all covariates",
                "Have the cohorts check the columns of phenotype and covariates, or leave covariates out.",
            )
        terms, people = terms_of(plan), self.complete
        columns = len(terms.own) + len(plan.covariate_columns)
        if not terms.is_plain and people <= columns + 1:
            raise Refuse(
                INTERACTION.name if terms.interacting else GENOTYPE_MODEL.name,
                f"the regression of a variant has {columns} columns beside the intercept, and {people} "
                "people of the pool have the phenotype and all covariates, which is too few for an estimate",
                "Choose the additive model, leave interactions or covariates out, or invite further cohorts.",
            )
        if self.trait != "quantitative":
            groups.refuse_one_class(
                self.of(groups.COMPLETE, groups.CASE), self.of(groups.COMPLETE, groups.CONTROL)
            )

    @property
    def sex_varies(self) -> bool:
        """True if sex becomes a covariate on X: there are men and women with complete data."""
        return bool(self.of(groups.COMPLETE, groups.WOMEN) and self.of(groups.COMPLETE, groups.MEN))


def chunks_of(study: Study, pool: Pool) -> tuple[Chunk, ...]:
    """The chunks to ask about."""
    return asked_chunks(chunks.chunks_of(study), pool, study.plan)


def asked_chunks(chunks: Iterable[Chunk], pool: Pool, plan: Plan) -> tuple[Chunk, ...]:
    """The chunks to ask about; with plink2's report those that it codes in another way once more.

    People of unknown sex may be few: what is known with them and without them is known of them. So they are
    left out, as plink2 does, only by the rule that shows single people anyway.
    """
    if terms_of(plan).is_autosomal:
        counted = filters.reports_filtered(plan)
        return tuple(chunk for chunk in chunks if counted or are_fitted(chunk.chromosome, plan))
    if not has_plink2(plan):
        return tuple(chunks)
    unknown = bool(pool.of(groups.COMPLETE, groups.UNKNOWN)) and pool.sex_varies and is_exact(plan)
    return tuple(with_plink2(chunks, unknown, alone=DOSAGES.of(plan)))


def are_fitted(chromosome: str, plan: Plan) -> bool:
    """Tell whether variants of a class of chromosomes are fitted; the others are at most counted."""
    return chromosome == DIPLOID or not terms_of(plan).is_autosomal


def everyone(plan: Plan) -> Pool:
    """A pool with people in every group: it is asked everything that a study of a plan can ask."""
    return Pool(plan.trait, (1,) * len(finest(plan.trait)))


def foreseen_chunks(plan: Plan, sizes: Sizes | None) -> tuple[Chunk, ...] | None:
    """The chunks of a panel with all of a cohort's variants, as often as they can be asked about."""
    found = chunks.foreseen_chunks(plan, sizes)
    return None if found is None else asked_chunks(found, everyone(plan), plan)


def foreseen_fits(plan: Plan, sizes: Sizes | None) -> tuple[Chunk, ...] | None:
    """Return the foreseen chunks whose variants can be fitted."""
    found = foreseen_chunks(plan, sizes)
    return found and tuple(chunk for chunk in found if are_fitted(chunk.chromosome, plan))
