"""Allelic chi-square test (PLINK's --assoc), with allele frequency, missingness and Hardy-Weinberg test.

All four reports follow from one kind of number: how many people of a group have two, one or no copies of
an allele. Three steps:

    Census          how many people there are in each group
    CountGenotypes  per variant and group, the three genotypes; a group is asked for only if the pool has
                    anyone in it, and if a wanted report needs it
    AlleleOrder     only for variants both of whose alleles are equally frequent: which one is A1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

import numpy as np

from unpooled.algorithms import filters, summary
from unpooled.algorithms import groups as people
from unpooled.algorithms.algorithm import Algorithm
from unpooled.algorithms.genotype_table import DIPLOID, MT, GenotypeTable, X, Y
from unpooled.algorithms.groups import CASE, CONTROL, FINEST, FOUNDER, MEN, NO_PHENOTYPE, Group
from unpooled.cohort import Cohort
from unpooled.errors import ProtocolError
from unpooled.formats import plink
from unpooled.formats.adjusted import write_adjusted
from unpooled.kernels.counts import count_genotypes, group_masks
from unpooled.panel import Panel
from unpooled.plan import FILES, Plan
from unpooled.protocol import codec
from unpooled.sizes import Sizes, chromosomes
from unpooled.step import Arrays, Asking, Count, Foreseen, Rows, Step, server_only

TABLE = summary.VARIANTS
"""A row per variant, with the columns that `GenotypeTable.columns` lists."""

FIRST_ALLELE_TELLS = "how many cohorts' files call which allele A1"

MOST_PEOPLE = (1 << 30) - 1  # more than are in any pool; their alleles can still be counted in 32 bits

Chunk = tuple[int, int, str]
"""Neighbouring variants of one class of chromosomes: panel indices from the first to before the second."""


@dataclass(frozen=True)
class Census(Step):
    """How many people there are in each group."""

    name: ClassVar[str] = "chi-square/census"
    title: ClassVar[str] = "Count people"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            (len(FINEST),),
            MOST_PEOPLE,
            "number of people by case, control or no phenotype, founder or not, and male or not",
            "how many people of the pool are in each group",
        ),
    )
    ring_bits: ClassVar[int] = 64

    chunks: tuple[Chunk, ...] = server_only(())
    plan: bytes = server_only(b"")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls()])

    def local(self, cohort: Cohort) -> Arrays:
        sizes = [np.count_nonzero(people.members(group, cohort.samples)) for group in FINEST]
        return {"people": np.array(sizes)}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        sizes = dict(zip(FINEST, total["people"].tolist(), strict=True))
        cases, controls = (sum(sizes[group] for group in FINEST if word in group) for word in (CASE, CONTROL))
        yield summary.pool(cases + controls, cases, controls)
        plan = filters.plan_of(self.plan)
        for start, stop, chromosome in self.chunks:
            wanted = _groups(chromosome, sizes, plan)
            yield CountGenotypes(
                start=start,
                stop=stop,
                groups=tuple(wanted),
                most=max(wanted.values(), default=0),
                chromosome=chromosome,
                people=sum(wanted.values()),
                files=_counted_files(plan),
                cohorts=plan.cohorts,
                plan=self.plan,
            )


def _counted_files(plan: Plan) -> tuple[str, ...]:
    """The reports whose columns are needed: adjusted P values are those of the test."""
    return tuple(dict.fromkeys("assoc" if file == "adjusted" else file for file in plan.files))


def _groups(chromosome: str, sizes: dict[Group, int], plan: Plan) -> dict[Group, int]:
    """The groups to ask for on a chromosome, each with the number of people in the pool."""
    wanted: dict[Group, int] = {}
    for (phenotype, founder, sex), size in sizes.items():
        if size and _needed(phenotype, founder, plan) and (chromosome != Y or sex == MEN):
            parts = (phenotype, "" if plan.nonfounders else founder, sex if chromosome in (X, Y) else "")
            group = tuple(filter(None, parts))
            wanted[group] = wanted.get(group, 0) + size
    return wanted


def _needed(phenotype: str, founder: str, plan: Plan) -> bool:
    # Founders decide on A1, whatever their phenotype; other people without one matter for missingness.
    in_reports = plan.nonfounders or founder == FOUNDER or phenotype != NO_PHENOTYPE
    return in_reports or "lmiss" in plan.files or plan.geno < 1


@dataclass(frozen=True)
class CountGenotypes(Step):
    """Genotype counts of one chunk in each group."""

    name: ClassVar[str] = "chi-square/genotypes"
    title: ClassVar[str] = "Count genotypes"
    settles_ties: ClassVar[bool] = False
    """Whether `fit` asks on, and finds out which of two equally frequent alleles is A1."""
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "genotypes",
            ("variants", "group_count", 3),
            "most",
            "per variant and group of people: how many have two copies of an allele, one, none",
            "the genotypes of each group of the pool; of a group of one person, that person's",
        ),
    )
    each: ClassVar[dict[str, str]] = {"variants": "variant", "group_count": "group of people"}

    start: int
    stop: int
    groups: tuple[Group, ...]
    most: int
    chromosome: str = DIPLOID
    """The class of chromosomes that the variants are on."""
    people: int = server_only(0)
    files: tuple[str, ...] = server_only(())
    cohorts: int = server_only(0)
    plan: bytes = server_only(b"")

    def __post_init__(self) -> None:
        people.check(self.groups)
        if not 0 <= self.start <= self.stop or not 0 <= self.most <= MOST_PEOPLE:
            raise ProtocolError("a question about variants has bounds that cannot be")

    @property
    def variants(self) -> int:
        return self.stop - self.start

    @property
    def group_count(self) -> int:
        return len(self.groups)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = cls.foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        questions = (
            cls(start, stop, cls.foreseen_groups(chromosome, plan), 0) for start, stop, chromosome in chunks
        )
        return Foreseen(questions, exact=False)

    @classmethod
    def foreseen_chunks(cls, plan: Plan, sizes: Sizes | None) -> Iterable[Chunk] | None:
        """The chunks that are asked about, as `foreseen_chunks` has them."""
        return foreseen_chunks(plan, sizes)

    @classmethod
    def foreseen_groups(cls, chromosome: str, plan: Plan) -> tuple[Group, ...]:
        """The groups that are asked for if the pool has people in all of them."""
        return tuple(_groups(chromosome, dict.fromkeys(FINEST, 1), plan))

    def agrees(self, plan: Plan) -> bool:
        """Only groups that the plan has on these chromosomes: others may set few people apart."""
        return set(self.groups) <= set(self.foreseen_groups(self.chromosome, plan))

    def fits_panel(self, chromosomes: np.ndarray, plan: Plan) -> bool:
        """On X, Y and MT people count by sex: elsewhere these would be other groups."""
        codes = np.unique(chromosomes[self.start : self.stop]).tolist()
        places = {chromosome_class(code, plan.autosomes) for code in codes}
        return super().fits_panel(chromosomes, plan) and places <= {self.chromosome}

    def asking(self) -> Asking:
        return Asking(self.chromosome, np.arange(self.start, self.stop))

    def local(self, cohort: Cohort) -> Arrays:
        packed = cohort.packed(slice(self.start, self.stop))
        inside = [people.members(group, cohort.samples) for group in self.groups]
        masks = group_masks(np.array(inside, bool).reshape(len(inside), len(cohort.samples)))
        counts = count_genotypes(packed.words, masks)
        counts[packed.swapped] = counts[packed.swapped, :, ::-1]
        return {"genotypes": counts}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        plan, table = filters.plan_of(self.plan), self.table(total["genotypes"])
        passing = filters.passing(table, plan)
        told = passing | self.reports_filtered(plan)
        first, second = table.frequency_alleles()
        tied = told & (first == second) & ~(passing & self.settles_ties)
        if tied.any():
            yield self.allele_order(self._variants(tied), table.counts[tied])
        if (ready := told & ~tied).any():
            yield from self.ordered(self._variants(ready), table.counts[ready], (first < second)[ready])

    def reports_filtered(self, plan: Plan) -> bool:
        """Whether a report has lines about variants that do not pass the filters."""
        return filters.reports_filtered(plan)

    def allele_order(self, variants: np.ndarray, counts: np.ndarray) -> Step:
        """Asks which allele of these variants is A1."""
        return AlleleOrder(variants, self, counts)

    def ordered(
        self, variants: np.ndarray, counts: np.ndarray, first_is_a1: np.ndarray
    ) -> Iterator[Step | Rows]:
        """What follows for variants (panel indices) whose A1 is known, or settled by `fit`."""
        plan, table = filters.plan_of(self.plan), self.table(counts)
        passing = filters.passing(table, plan)
        if not passing.all() and self.reports_filtered(plan):
            out = ~passing
            yield filters.filtered(table.take(out), variants[out], first_is_a1[out], plan)
        if passing.any():
            yield from self.fit(variants[passing], counts[passing], first_is_a1[passing])

    def fit(self, variants: np.ndarray, counts: np.ndarray, first_is_a1: np.ndarray) -> Iterator[Step | Rows]:
        """What follows for those that pass the filters."""
        yield Rows(TABLE, {"variant": variants} | self.table(counts).columns(first_is_a1))

    def table(self, counts: np.ndarray) -> GenotypeTable:
        return GenotypeTable(counts, self.groups, self.people, self.chromosome, self.files)

    def _variants(self, which: np.ndarray) -> np.ndarray:
        return (self.start + np.flatnonzero(which)).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class AlleleOrder(Step):
    """Which allele is A1 where both are equally frequent: as in most cohorts' files, else the alphabet."""

    name: ClassVar[str] = "chi-square/allele-order"
    title: ClassVar[str] = "Order the alleles of ties"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "first",
            ("count",),
            1,
            "per variant: 1 if this cohort's files call its first allele A1",
            FIRST_ALLELE_TELLS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"count": "variant of two equally frequent alleles"}

    variants: np.ndarray
    question: CountGenotypes | None = server_only(None)  # noqa: RUF009
    genotypes: np.ndarray | None = server_only(None)  # noqa: RUF009

    @property
    def count(self) -> int:
        return len(self.variants)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        return Foreseen((cls(np.arange(start, stop)) for start, stop, _ in chunks), exact=False)

    @property
    def reach(self) -> int:
        return int(self.variants.max()) + 1 if len(self.variants) else 0

    def asking(self) -> Asking:
        return Asking(items=self.variants.astype(np.int64))

    def local(self, cohort: Cohort) -> Arrays:
        return {"first": 1 - cohort.packed(self.variants).swapped.astype(np.int64)}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        if self.question is None or self.genotypes is None:
            raise ProtocolError("the order of alleles can only be settled where the counts are")
        first_is_a1 = most_say_first(total["first"], self.question.cohorts)
        yield from self.question.ordered(self.variants, self.genotypes, first_is_a1)


def most_say_first(first: np.ndarray, cohorts: int) -> np.ndarray:
    """Whether the panel's first allele is A1, given how many cohorts' files call it so: bool (m,)."""
    # On a tie here, too, the first allele: the panel's pairs are in alphabetical order.
    return np.asarray(2 * first >= cohorts)


def chromosome_class(code: int, autosomes: int) -> str:
    """`DIPLOID`, `X`, `Y` or `MT` for a chromosome code, where X is one more than the number of autosomes."""
    return {autosomes + 1: X, autosomes + 2: Y, autosomes + 4: MT}.get(code, DIPLOID)


def chunks(panel: Panel, plan: Plan) -> Iterator[Chunk]:
    """The panel in chunks of at most `plan.chunk_size` variants of one class of chromosomes."""
    return _chunks(panel.chromosome, plan)


def foreseen_chunks(plan: Plan, sizes: Sizes | None) -> tuple[Chunk, ...] | None:
    """Those of a panel with all of a cohort's variants: no panel has more. None without the sizes."""
    codes = chromosomes(sizes, plan.autosomes)
    return None if codes is None else tuple(_chunks(codes, plan))


def _chunks(codes: np.ndarray, plan: Plan) -> Iterator[Chunk]:
    edges = (np.flatnonzero(np.diff(codes)) + 1).tolist()
    runs = [
        (start, stop, chromosome_class(int(codes[start]), plan.autosomes))
        for start, stop in zip([0, *edges], [*edges, len(codes)], strict=True)
        if start < stop
    ]
    for chromosome, parts in groupby(runs, key=lambda run: run[2]):
        bounds = [bound for start, stop, _ in parts for bound in (start, stop)]
        for start in range(bounds[0], bounds[-1], plan.chunk_size):
            yield start, min(start + plan.chunk_size, bounds[-1]), chromosome


def first(plan: Plan, panel: Panel) -> Iterable[Step]:
    """A study starts with the census."""
    return [Census(tuple(chunks(panel, plan)), codec.encode(plan))]


CHI_SQUARE = Algorithm(
    name="chi-square",
    title="Allelic chi-square test",
    method="Allele counts of cases and controls were compared by Pearson's chi-square test with one degree "
    "of freedom, without correction, as plink1.9 --assoc computes it.",
    traits=("case/control",),
    steps=(Census, CountGenotypes, AlleleOrder),
    first=first,
    files={**plink.WRITERS, "adjusted": write_adjusted},
    usual_files=FILES,
    options=frozenset({"maf", "geno", "hwe", "mind", "ci"}),
    file_name=lambda file, plan: "assoc.adjusted" if file == "adjusted" else file,
    columns=filters.lines,
)
