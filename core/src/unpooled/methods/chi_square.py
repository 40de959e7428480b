"""Allelic chi-square test (PLINK's --assoc), with allele frequency, missingness and Hardy-Weinberg test.

All four reports follow from one kind of number: how many people in a group have two, one or no copies of an
allele. A group is asked for only if the pool has anyone in it, and if a wanted report needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Each, Finish, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question
from unpooled.asking.sizes import Sizes
from unpooled.formats import plink
from unpooled.formats.adjusted import write_adjusted
from unpooled.methods.features import variant_method
from unpooled.methods.frequencies import FAR_FREQUENCIES, count_far
from unpooled.methods.ld.leads import CLUMPS
from unpooled.methods.ld.options import is_clumped
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared import filters, genotype_counts, summary
from unpooled.methods.shared import groups as people
from unpooled.methods.shared.chunks import Chunk, X, Y, chunks_of
from unpooled.methods.shared.genotype_counts import A1_IN_FILES, MOST_PEOPLE, Counted, most_say_first
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import CASE, CONTROL, FINEST, FOUNDER, MEN, NO_PHENOTYPE, Group
from unpooled.methods.shared.layout import laid_out
from unpooled.methods.shared.options import FREQUENCY_FLAGS
from unpooled.plan import common_options as options
from unpooled.plan.common_options import GENO
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import FILES
from unpooled.plan.templates import QUALITY, Template


@procedure("chi-square")
def chi_square(study: Study) -> Asks[None]:
    """Count people, then genotypes chunk by chunk."""
    sizes = (yield Census())["people"]
    cases, controls = _cases_and_controls(sizes)
    if "assoc" in _counted_files(study.plan) and not study.plan.alone:
        people.refuse_one_class(cases, controls)
    yield summary.pool(cases + controls, cases, controls)
    chunks = [about_chunk(study, chunk, sizes) for chunk in chunks_of(study)]
    if FREQUENCY_FLAGS.of(study.plan):
        yield Each(chunks)  # what is asked next about a chunk follows from its counts
    for chunk in chunks if not FREQUENCY_FLAGS.of(study.plan) else ():
        yield Finish(chunk, may_lead=True)


@procedure("chi-square/chunk")
def about_chunk(study: Study, chunk: Chunk, sizes: np.ndarray) -> Asks[None]:
    """Count the genotypes of a chunk, and report its variants.

    `sizes`, int64 (groups,), are those of the `FINEST` groups of the pool.
    """
    plan, wanted = study.plan, _groups(chunk.chromosome, sizes.tolist(), study.plan)
    most = max(wanted.values(), default=0)
    sums = yield CountGenotypes(chunk.start, chunk.stop, tuple(wanted), most, chunk.chromosome)
    table = GenotypeTable(
        sums["genotypes"], tuple(wanted), sum(wanted.values()), chunk.chromosome, _counted_files(plan)
    )
    found = Counted.of(chunk, table)
    passing = filters.passing(table, plan)
    yield from count_far(study, chunk, found.some(passing))
    first_is_a1, tied = found.order()
    first_is_a1[tied] = most_say_first(sums["first"][tied], plan.cohorts)
    told = passing | filters.reports_filtered(plan)
    yield Rows.later(lambda: _rows(study, found.some(told), first_is_a1[told]))


def _rows(study: Study, found: Counted, first_is_a1: np.ndarray) -> Iterator[Rows]:
    passing = filters.passing(found.genotypes, study.plan)
    if not passing.all() and filters.reports_filtered(study.plan):
        out = found.some(~passing)
        yield filters.filtered(study.plan, out.variants, out.genotypes, first_is_a1[~passing])
    if passing.any():
        kept = found.some(passing)
        columns = kept.table.columns(first_is_a1[passing])
        yield Rows(summary.VARIANTS, {"variant": kept.variants, **columns})


@dataclass(frozen=True)
class Census(Question, name="chi-square/census", title="Count people", ring_bits=64):
    """Question that counts the people in each group."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            (len(FINEST),),
            MOST_PEOPLE,
            "number of people by case, control or no phenotype, founder or not, and male or not",
            "how many people of the pool are in each group",
        ),
    )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls()])

    def local(self, cohort: Cohort) -> Arrays:
        return {"people": people.sizes(FINEST, cohort.samples)}


@dataclass(frozen=True)
class CountGenotypes(genotype_counts.CountGenotypes, name="chi-square/genotypes"):
    """Genotype counts of one chunk in each group, and which allele is A1 where the counts do not tell."""

    only_server: ClassVar[Condition] = lambda plan: not (is_clumped(plan) or FREQUENCY_FLAGS.of(plan))
    sends: ClassVar[tuple[Count, ...]] = (*genotype_counts.CountGenotypes.sends, A1_IN_FILES)

    @classmethod
    def foreseen_groups(cls, chromosome: str, plan: Plan) -> tuple[Group, ...]:
        return tuple(_groups(chromosome, [1] * len(FINEST), plan))

    def local(self, cohort: Cohort) -> Arrays:
        swapped = cohort.packed(slice(self.start, self.stop)).swapped
        return {**super().local(cohort), A1_IN_FILES.name: 1 - swapped.astype(np.int64)}


def _cases_and_controls(sizes: np.ndarray) -> tuple[int, ...]:
    return tuple(
        sum(int(size) for group, size in zip(FINEST, sizes, strict=True) if word in group)
        for word in (CASE, CONTROL)
    )


def _counted_files(plan: Plan) -> tuple[str, ...]:
    """The reports whose columns are needed: adjusted P values are those of the test."""
    return tuple(dict.fromkeys("assoc" if file == "adjusted" else file for file in plan.files))


def _groups(chromosome: str, sizes: list[int], plan: Plan) -> dict[Group, int]:
    """The groups to ask for on a chromosome, each with the number of people in the pool."""
    wanted: dict[Group, int] = {}
    for (phenotype, founder, sex), size in zip(FINEST, sizes, strict=True):
        if size and _needed(phenotype, founder, plan) and (chromosome != Y or sex == MEN):
            parts = (phenotype, "" if plan.nonfounders else founder, sex if chromosome in (X, Y) else "")
            group = tuple(filter(None, parts))
            wanted[group] = wanted.get(group, 0) + size
    return wanted


def _needed(phenotype: str, founder: str, plan: Plan) -> bool:
    # Founders decide on A1, whatever their phenotype; other people without one matter for missingness.
    in_reports = plan.nonfounders or founder == FOUNDER or phenotype != NO_PHENOTYPE
    return in_reports or "lmiss" in plan.files or GENO.of(plan) < 1


CHI_SQUARE = variant_method(
    name="chi-square",
    title="Allelic chi-square test",
    purpose=Purpose.ASSOCIATION,
    method="Allele counts of cases and controls were compared by Pearson's chi-square test with one degree "
    "of freedom, without correction, as plink1.9 --assoc computes it.",
    traits=("case/control",),
    asks=(Census, CountGenotypes),
    procedure=chi_square,
    files={file: laid_out(write) for file, write in (plink.WRITERS | {"adjusted": write_adjusted}).items()},
    usual_files=FILES,
    options=(
        *options.SEVERAL,
        options.SEXES,
        options.BY_PLACE,
        *options.FILTERS,
        FAR_FREQUENCIES,
        options.CI,
        CLUMPS,
    ),
    templates=(
        Template(
            "chi-square-qc",
            "Chi-square with QC",
            "Usual filters of people and variants, and confidence limits; no covariates.",
            {**QUALITY, options.CI: 0.95},
        ),
    ),
    file_name=lambda file, plan: "assoc.adjusted" if file == "adjusted" else file,
    columns=filters.lines,
)
