"""Shared steps of linear and logistic regression: who is included, which allele is A1, which variants remain.

The genotype counts of a chunk come first. From these follow A1, the filters, the number of calls, and the
sums of the genotype and of its square: no later question asks for them again. The questions about those that
remain also settle ties; `OrderAlleles` is only for ties that are reported without being fitted. On X and Y
men are counted separately; `unpooled.methods.shared.allele_coding` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Later, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real
from unpooled.asking.result_columns import Chosen
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.kernels.dosages import COPY
from unpooled.kernels.fixed_order import total
from unpooled.methods.regression.heterogeneity import with_meta
from unpooled.methods.shared import chunks, filters, genotype_counts, groups, summary
from unpooled.methods.shared.allele_coding import (
    PLACES,
    X2_KNOWN,
    by_plink2,
    haploid,
    has_plink2,
    heterozygous_missing,
    sexes,
    with_plink2,
)
from unpooled.methods.shared.chunks import DIPLOID, MT, Chunk, Y
from unpooled.methods.shared.dosage_table import DosageTable, mach_r2
from unpooled.methods.shared.filters import COUNTED
from unpooled.methods.shared.genotype_counts import (
    FIRST_ALLELE_TELLS,
    MOST_PEOPLE,
    Counted,
    most_say_first,
    order_ties,
)
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import (
    CASE,
    COMPLETE,
    CONTROL,
    FOUNDER,
    INCOMPLETE,
    MEN,
    NONFOUNDER,
    NOT_MEN,
    PHENOTYPES,
    UNKNOWN,
    WOMEN,
    Group,
)
from unpooled.methods.shared.without_any import capped, is_few_without_any
from unpooled.plan.common_options import COHORT_SUMS, COVARIATES, GENO, GLM_COLS, MISSING
from unpooled.plan.dosage_option import DOSAGES
from unpooled.plan.genotype_model import GENOTYPE_MODEL, INTERACTION, terms_of
from unpooled.plan.glm_columns import MACH_R2
from unpooled.plan.heterogeneity_option import META
from unpooled.plan.plan import EXACT, FEWEST_AT_A_LEVEL, FEWEST_COHORTS, Plan

TABLE = summary.VARIANTS
"""A row per variant that passes the filters. Columns, beside those of `GenotypeTable`:

variant, first_is_a1    the panel index; whether the panel's first allele is A1
n                       people in this variant's regression
a1_freq                 frequency of A1 among them
beta, se                (m, tests): effect per copy of A1 and per unit of each covariate; NaN without a result
neg_log10_p             (m, tests)
code                    why there is no result, or none in PLINK 1.9's files: `unpooled.kernels.least_squares`

`tests` are ADD, then, unless they are hidden, the covariates and, if X is in the panel and there are men and
women, SEX.
"""

TABLE_BY_PLINK2 = "variants by plink2"
"""The same for variants that plink2 codes in another way."""


TABLE_BY_FIRTH = "variants by Firth"
"""The same for variants of plink2's report that are fitted by Firth's penalised likelihood."""


def table_of(chromosome: str, plan: Plan) -> str:
    return TABLE_BY_PLINK2 if by_plink2(chromosome) and not DOSAGES.of(plan) else TABLE


def columns_of(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    """The result columns that a file is written from."""
    if file == META:
        return with_meta(tables)
    columns = filters.lines(file, tables)
    for table in (TABLE_BY_PLINK2, TABLE_BY_FIRTH):
        if file == "glm" and table in tables:
            columns = _replaced(columns, tables[table])
    return columns


def _replaced(columns: Arrays, others: Arrays) -> Arrays:
    """The same variants, those that the others are about as they have them."""
    order = np.arange(len(columns["variant"]))
    replaced = np.searchsorted(columns["variant"][:], others["variant"])
    order[replaced] = len(order) + np.arange(len(replaced))
    return Chosen(columns, others, order)


_QUANTITATIVE: tuple[Group, ...] = tuple(
    (completeness, founder, *sex)
    for completeness in (COMPLETE, INCOMPLETE)
    for founder in (FOUNDER, NONFOUNDER)
    for sex in ((MEN,), (NOT_MEN, WOMEN), (NOT_MEN, UNKNOWN))
)
_CASE_CONTROL: tuple[Group, ...] = tuple(
    (phenotype, *group) for phenotype in PHENOTYPES for group in _QUANTITATIVE
)


def finest(trait: str) -> tuple[Group, ...]:
    """The groups of which all others are unions; together they are everyone."""
    return _QUANTITATIVE if trait == "quantitative" else _CASE_CONTROL


def count_people(study: Study) -> Asks[Pool]:
    """Count the people in the pool; refuse one without cases or controls, or with too rare levels."""
    plan = study.plan
    sums = yield Census(plan.trait, plan.dummies)
    pool = Pool(plan.trait, tuple(sums["people"].tolist()))
    if not plan.alone:
        pool.refuse_if_empty(plan)
        refuse_rare_levels(plan, sums)
    yield pool.rows()
    return pool


@dataclass(frozen=True)
class Census(Question):
    """Asks for the number of people in each group."""

    name: ClassVar[str] = "regression/census"
    title: ClassVar[str] = "Count people"
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
    ring_bits: ClassVar[int] = 64

    trait: str
    dummies: tuple[tuple[int, ...], ...]
    """Columns of each categorical covariate that indicate its levels: one for each level but the first."""

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Count | Real, ...]:
        return cls.sends if plan.dummies else cls.sends[:1]

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan.trait, plan.dummies)])

    @property
    def group_count(self) -> int:
        return len(finest(self.trait))

    @property
    def level_count(self) -> int:
        return sum(1 + len(columns) for columns in self.dummies)

    def local(self, cohort: Cohort) -> Arrays:
        samples = cohort.samples
        sizes = [np.count_nonzero(groups.members(group, samples)) for group in finest(self.trait)]
        levels = at_each_level(samples.covariates[groups.complete(samples)], self.dummies)
        enough = (levels >= FEWEST_AT_A_LEVEL).astype(np.int64)
        people = np.array(sizes)
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

    def rows(self) -> Rows:
        """Return the numbers of people with complete data, as rows of the result."""
        classes = () if self.trait == "quantitative" else (CASE, CONTROL)
        return summary.pool(self.of(COMPLETE), *(self.of(COMPLETE, word) for word in classes))

    def refuse_if_empty(self, plan: Plan) -> None:
        """Refuse if nobody has complete data, or too few for a model's columns, or if nobody is a case, or a
        control."""
        if not self.of(COMPLETE):
            raise Refuse(
                "phenotype",
                "nobody in the pool has the phenotype and all covariates",
                "Have the cohorts check the columns of phenotype and covariates, or leave covariates out.",
            )
        terms, people = terms_of(plan), self.of(COMPLETE)
        columns = len(terms.own) + len(plan.covariate_columns)
        if not terms.is_plain and people <= columns + 1:
            raise Refuse(
                INTERACTION.name if terms.interacting else GENOTYPE_MODEL.name,
                f"the regression of a variant has {columns} columns beside the intercept, and {people} "
                "people of the pool have the phenotype and all covariates, which is too few for an estimate",
                "Choose the additive model, leave interactions or covariates out, or invite further cohorts.",
            )
        if self.trait != "quantitative":
            groups.refuse_one_class(self.of(COMPLETE, CASE), self.of(COMPLETE, CONTROL))

    @property
    def sex_varies(self) -> bool:
        """True if sex becomes a covariate on X: there are men and women with complete data."""
        return bool(self.of(COMPLETE, WOMEN) and self.of(COMPLETE, MEN))


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
    unknown = bool(pool.of(COMPLETE, UNKNOWN)) and pool.sex_varies and MISSING.of(plan) == EXACT
    return tuple(with_plink2(chunks, unknown, alone=DOSAGES.of(plan)))


def are_fitted(chromosome: str, plan: Plan) -> bool:
    """Tell whether variants of a class of chromosomes are fitted; the others are at most counted."""
    return chromosome == DIPLOID or not terms_of(plan).is_autosomal


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


@dataclass(frozen=True)
class CountGenotypes(genotype_counts.CountGenotypes):
    """Genotype counts of one chunk in each group."""

    name: ClassVar[str] = "regression/genotypes"
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
    place, halves = PLACES[chromosome], by_plink2(chromosome) and MISSING.of(plan) == EXACT
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
class OrderAlleles(genotype_counts.AlleleOrder):
    """Asks which allele is A1 where both are equally frequent, for variants reported but not fitted."""

    name: ClassVar[str] = "regression/allele-order"
    asked_if: ClassVar[Condition] = filters.reports_filtered


@procedure("regression/ties")
def report_ties(study: Study, ties: tuple[Counted, ...]) -> Asks[None]:
    """Order the alleles of the ties of all chunks that are not fitted, and report them."""
    yield from order_ties(study, OrderAlleles, ties, report_filtered)


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of people with complete data, sums of copies and of squares, for m variants in each of s sexes.

    Copies of the panel's first allele, 0 to 2, or 0 to 1 where haploid. (m, s) each; `people` (s,). Whole
    numbers, of dosages float64: whole multiples of 1 / `COPY` and its square, exact up to 2^23 people.
    """

    people: np.ndarray
    called: np.ndarray
    copies: np.ndarray
    squares: np.ndarray
    genotypes: np.ndarray
    """int64 (m, s, 3): how many of those called have two copies, one, none; of dosages (m, s, 0)."""

    @classmethod
    def of(cls, table: GenotypeTable | DosageTable, chromosome: str, pool: Pool, exact: bool) -> Calls:
        """Build from a table of counts. `exact` is the rule for missing calls."""
        if isinstance(table, DosageTable):
            return cls._of_dosages(table, chromosome, pool)
        counts, counted = table.counts, table.groups
        people, called, copies, squares, genotypes = [], [], [], [], []
        for sex in sexes(chromosome):
            every = {COMPLETE, *([sex] if sex else [])}
            inside = [k for k, group in enumerate(counted) if every <= set(group)]
            two, one, none = np.moveaxis(counts[:, inside].sum(axis=1, dtype=np.int64), 1, 0)
            single = haploid(chromosome, sex)
            people.append(pool.of(*every))
            if heterozygous_missing(chromosome, sex, exact):
                one = np.zeros_like(one)
            called.append(two + one + none)
            copies.append(two if single else 2 * two + one)
            squares.append(two if single else 4 * two + one)
            genotypes.append(np.stack([two, one, none], axis=1))
        each = (called, copies, squares, genotypes)
        return cls(np.array(people), *(np.stack(column, axis=1) for column in each))

    @classmethod
    def _of_dosages(cls, table: DosageTable, chromosome: str, pool: Pool) -> Calls:
        people, sums = [], []
        for sex in sexes(chromosome):
            every = {COMPLETE, *([sex] if sex else [])}
            inside = [k for k, group in enumerate(table.groups) if every <= set(group)]
            people.append(pool.of(*every))
            sums.append(table.counts[:, inside].sum(axis=1, dtype=np.int64))
        called, copies, squares = np.moveaxis(np.stack(sums, axis=1), -1, 0)
        no_genotypes = np.zeros((*called.shape, 0), np.int64)
        return cls(np.array(people), called, copies / COPY, squares / COPY**2, no_genotypes)

    def some(self, which: np.ndarray) -> Calls:
        """Select some of the variants: bool (m,)."""
        each = (self.called, self.copies, self.squares, self.genotypes)
        return Calls(self.people, *(column[which] for column in each))

    @property
    def means(self) -> np.ndarray:
        """Mean copies among those called, float64 (m, s); 0 where nobody is."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.nan_to_num(self.copies / self.called))

    @property
    def mach_r2(self) -> np.ndarray:
        """Imputation quality of the people in the regression, float64 (m,); NaN where it is 0/0."""
        return mach_r2(*self._in_all)

    @property
    def alike(self) -> np.ndarray:
        """True where everyone called has the same number of copies: bool (m,)."""
        n, copies, squares = self._in_all
        return np.asarray(n * squares == copies * copies)

    @property
    def _in_all(self) -> tuple[np.ndarray, ...]:
        """Calls, copies and squares of all sexes: (m,) each."""
        return tuple(total(part, 1) for part in (self.called, self.copies, self.squares))

    def quality(self, plan: Plan) -> dict[str, np.ndarray]:
        """The column of a result with this, where it is asked for."""
        return {MACH_R2: self.mach_r2} if MACH_R2 in GLM_COLS.of(plan) else {}

    @property
    def incomplete(self) -> np.ndarray:
        """True for variants with a missing call among people with complete data: bool (m,)."""
        return np.asarray((self.called < self.people).any(axis=1))
