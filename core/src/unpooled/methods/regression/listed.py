"""Variants of the autosomes that are counted one by one, beside a model without genotypes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.methods.regression.calls import Calls
from unpooled.methods.regression.counts import counts_table, wanted_groups
from unpooled.methods.regression.pool import Pool, everyone
from unpooled.methods.shared import filters
from unpooled.methods.shared.chunks import DIPLOID, Chunk, foreseen_autosomal, foreseen_of
from unpooled.methods.shared.dosage_counts import OfDosages, SumListed
from unpooled.methods.shared.dosage_table import DosageTable
from unpooled.methods.shared.genotype_counts import CountListed
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.options import DOSAGES
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class CountAutosomes(CountListed):
    """Genotype counts of variants of the autosomes."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Foresee every variant of the autosomes."""
        groups = tuple(wanted_groups(DIPLOID, everyone(plan), plan))

        def about(chunk: Chunk) -> CountListed:
            return cls(np.arange(chunk.start, chunk.stop, dtype=np.uint32), groups, 0)

        return foreseen_of(foreseen_autosomal(plan, sizes), about)


def count_listed(
    study: Study,
    items: np.ndarray,
    pool: Pool,
    called: type[CountListed],
    dosed: type[SumListed] | None = None,
) -> Asks[tuple[Calls, np.ndarray, Arrays]]:
    """Count the genotypes of variants, or sum their dosages, by questions of these kinds.

    `dosed` is None where no plan is of dosages. Returns the calls of people with complete data, which
    variants pass the filters, bool (m,), and the sums.
    """
    plan, wanted = study.plan, wanted_groups(DIPLOID, pool, study.plan)
    about = items, tuple(wanted), max(wanted.values(), default=0)
    table: GenotypeTable | DosageTable
    if dosed and DOSAGES.of(plan):
        sums, counts = (yield dosed(*about)), None
        if filters.of_calls(plan):
            counts = counts_table(plan, (yield called(*about))["genotypes"], wanted, DIPLOID)
        table = OfDosages.table(sums, tuple(wanted), DIPLOID)
        passing = filters.passing_of_dosages(table, counts, plan)
    else:
        sums = yield called(*about)
        table = counts_table(plan, sums["genotypes"], wanted, DIPLOID)
        passing = filters.passing(table, plan)
    return Calls.of(table, DIPLOID, pool, exact=False), passing, sums
