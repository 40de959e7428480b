"""Counts of allele frequencies that are far from the pool's, over all cohorts together.

A cohort is a part of the pool. If its people are like the others, the frequency among its n alleles has mean
p and variance p(1-p)(1/n - 1/N), where p is the frequency among the pool's N. Of a rare allele it is far from
normal, and chance is soon many deviations away. So the smaller of two scores counts, that and the one of
arcsin √p: the first is the cautious one below p, the second above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.kernels.dosages import COPY
from unpooled.methods.features import Feature
from unpooled.methods.shared import dosage_table, genotype_counts
from unpooled.methods.shared.chunks import DIPLOID, Chunk, OfAsked, flags, foreseen_autosomal, foreseen_of
from unpooled.methods.shared.dosage_table import DosageTable
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.groups import COMPLETE, FOUNDER, Group
from unpooled.methods.shared.options import DOSAGES, FAR, FREQUENCY_FLAGS
from unpooled.methods.shared.summary import FREQUENCIES
from unpooled.plan.plan import Plan


def count_far(study: Study, chunk: Chunk, counted: Counted) -> Asks[None]:
    """Have it counted in a chunk where cohorts' frequencies are far from the pool's, if the plan asks for it.

    `counted` are the variants that are in the results.
    """
    plan = study.plan
    if not FREQUENCY_FLAGS.of(plan) or chunk.chromosome != DIPLOID:
        return
    codes = study.panel.chromosome[counted.variants]
    some = counted.some(np.asarray((codes >= 1) & (codes <= plan.autosomes)))
    if not len(some.variants):
        return
    first, alleles = _in_pool(some, plan)
    frequency = first / np.where(alleles > 0, alleles, 1)
    asked = CountFar(plan, chunk.start, flags(chunk, some.variants), frequency, alleles)
    yield Finish(report_far(study, asked))


def scores(own: np.ndarray, of_own: np.ndarray, pool: np.ndarray, of_pool: np.ndarray) -> np.ndarray:
    """Return by how many standard deviations frequencies, float64 (k,), among so many alleles differ from the
    pool's; NaN where there is nothing to compare.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 1 / of_own - 1 / of_pool
        plain = (own - pool) / np.sqrt(pool * (1 - pool) * spread)
        angle = 2 * (np.arcsin(np.sqrt(own)) - np.arcsin(np.sqrt(pool.clip(0, 1)))) / np.sqrt(spread)
    found = np.where(np.abs(plain) < np.abs(angle), plain, angle)
    return np.where((of_own > 0) & (spread > 0) & np.isfinite(found), found, np.nan)


@dataclass(frozen=True, eq=False)
class CountFar(
    OfAsked, UnderPlan, name="frequencies/far", title="Compare allele frequencies with the pool's"
):
    """Question that counts the variants of a chunk whose frequency in a cohort is far from the pool's."""

    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "far",
            (1,),
            "variants",
            "per chunk of variants: number of those on the autosomes whose allele frequency here is more "
            f"than {FAR} standard deviations from the pool's",
            "how often frequencies of cohorts are far from the pool's, of all cohorts and of a chunk of "
            "variants together; one of three cohorts that subtracts its own number knows that of the two "
            "others together",
        ),
    )
    asked_if: ClassVar[Condition] = lambda plan: FREQUENCY_FLAGS.of(plan)

    start: int
    asked: np.ndarray
    """1 for each variant of the chunk that is asked about, else 0: uint8."""
    frequency: np.ndarray
    """Frequency of the panel's first allele in the pool, for each variant asked about: float64 (m,)."""
    alleles: np.ndarray
    """Number of alleles in the pool that it is among: float64 (m,)."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        def all_of(chunk: Chunk) -> CountFar:
            one = np.ones(chunk.variants)
            return cls(plan, chunk.start, one.astype(np.uint8), one, one)

        return foreseen_of(foreseen_autosomal(plan, sizes), all_of)

    def local(self, cohort: Cohort) -> Arrays:
        far = 0
        for part in blocks(self.variants, len(cohort.samples)):
            own, of_own = self._of_cohort(cohort, self.items[part])
            far += int(
                np.count_nonzero(np.abs(scores(own, of_own, self.frequency[part], self.alleles[part])) > FAR)
            )
        return {"far": np.array([far])}

    def _of_cohort(self, cohort: Cohort, variants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """This cohort's frequency of the panel's first allele, and among how many alleles."""
        who = (_who(self.plan),)
        if DOSAGES.of(self.plan):
            people, sums, _ = dosage_table.counted(cohort, variants, who)[:, 0].T
            first, alleles = sums / COPY, 2 * people
        else:
            counts = genotype_counts.counted(cohort, variants, who)[:, 0]
            first, alleles = counts @ [2, 1, 0], 2 * counts.sum(axis=1)
        return first / np.where(alleles > 0, alleles, 1), alleles


@procedure("frequencies/report")
def report_far(study: Study, asked: CountFar) -> Asks[None]:
    """Count, and report it of the chunk as a whole."""
    sums = yield asked
    yield Rows(FREQUENCIES, {"variant": np.array([asked.start], np.uint32), "far": sums["far"]})


def _who(plan: Plan) -> Group:
    """Return the group whose frequencies are compared.

    It is the founders, as in `.frq`, or all people as the plan says; with dosages, those of a regression.
    """
    if DOSAGES.of(plan):
        return (COMPLETE,)
    return () if plan.nonfounders else (FOUNDER,)


def _in_pool(counted: Counted, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Copies of the panel's first allele in the pool, and how many alleles that is among: float64 (m,)."""
    table = counted.table
    if not isinstance(table, DosageTable):
        first, second = table.frequency_alleles()
        return first.astype(float), (first + second).astype(float)
    inside = [COMPLETE in group for group in table.groups]
    people, sums = table.counts[:, inside, :2].sum(axis=1, dtype=np.int64).T
    return sums / COPY, 2.0 * people


FAR_FREQUENCIES = Feature((FREQUENCY_FLAGS,), (CountFar,), behind=genotype_counts.CountGenotypes)
