"""Regressions of imputed dosages: what is counted of them before a fit.

People with a dosage, the sum of dosages and that of their squares take the place of genotype counts: from
these follow A1, --maf, the number of people, and the sums of the genotype and of its square. Dosages are
whole numbers of 1/16384, as plink2 keeps them, so these sums are exact. --geno and --hwe are of calls, as in
plink2, and genotypes are counted only where a plan has one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Condition, Count
from unpooled.kernels.dosages import COPY
from unpooled.methods.regression import pool as of_calls
from unpooled.methods.regression.pool import CountGenotypes, Pool, counts_table, wanted_groups
from unpooled.methods.shared import filters
from unpooled.methods.shared.allele_coding import PLACES
from unpooled.methods.shared.chunks import Chunk
from unpooled.methods.shared.dosage_table import DosageTable, counted
from unpooled.methods.shared.frequencies import count_far
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.plan.dosage_option import DOSAGES


@dataclass(frozen=True)
class CountDosages(CountGenotypes):
    """Sums of dosages of one chunk in each group."""

    name: ClassVar[str] = "regression/dosages"
    title: ClassVar[str] = "Sum dosages"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            ("variants", "group_count"),
            "most",
            "per variant and group of people: how many have a dosage",
            "how many people of each group of the pool have a dosage",
        ),
        Count(
            "dosages",
            ("variants", "group_count"),
            "most_dosages",
            "per variant and group of people: sum of dosages, in units of 1/16384 of a copy",
            "allele frequencies in each group of the pool; for a group of one person, that person's dosage",
            of_one=True,
        ),
        Count(
            "squares",
            ("variants", "group_count"),
            "most_squares",
            "per variant and group of people: sum of squared dosages, likewise",
            "how far dosages vary in each group of the pool; for a group of one person, that person's "
            "dosage, for one of two, both, without name or cohort",
            of_one=True,
        ),
    )
    ring_bits: ClassVar[int] = 64
    asked_if: ClassVar[Condition] = lambda plan: DOSAGES.of(plan)

    @property
    def most_dosages(self) -> int:
        return self.most * 2 * COPY

    @property
    def most_squares(self) -> int:
        return self.most * (2 * COPY) ** 2

    def local(self, cohort: Cohort) -> Arrays:
        found = counted(cohort, slice(self.start, self.stop), self.groups)
        return {array.name: found[..., k] for k, array in enumerate(self.sends)}


def count(study: Study, chunk: Chunk, pool: Pool) -> Asks[tuple[Counted, Counted]]:
    """Count what a study is of in a chunk, dosages or genotypes, as `of_calls.count_genotypes` says."""
    plan = study.plan
    if not DOSAGES.of(plan):
        kept, ties = yield from of_calls.count_genotypes(study, chunk, pool)
        yield from count_far(study, chunk, kept)
        return kept, ties
    wanted = wanted_groups(chunk.chromosome, pool, plan)
    about = chunk.start, chunk.stop, tuple(wanted), max(wanted.values(), default=0), chunk.chromosome
    sums = yield CountDosages(*about)
    counts = np.stack([sums[array.name] for array in CountDosages.sends], axis=-1)
    table = DosageTable(counts, tuple(wanted), PLACES[chunk.chromosome])
    passing = filters.passing_maf(table, plan) & filters.passing_mach_r2(table, plan)
    if filters.of_calls(plan):
        sums = yield CountGenotypes(*about)
        calls = counts_table(plan, sums["genotypes"], wanted, chunk.chromosome)
        passing &= filters.passing_geno(calls, plan) & filters.passing_hwe(calls, plan)
    found = Counted.of(chunk, table)
    kept = found.some(passing)
    yield from count_far(study, chunk, kept)
    return kept, found.some(np.zeros(chunk.variants, bool))
