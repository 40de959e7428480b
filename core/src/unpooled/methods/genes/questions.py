"""Questions of tests of sets of variants: genotypes of the variants, carriers of rare ones, sums of a set.

A set's columns are the copies of the rarer allele of each variant that enough people carry, and one column of
its other variants, collapsed: of each person the most copies of any of them (Zhou and others, SAIGE-GENE+,
Nature Genetics 2022). So no sum is of few carriers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, Samples, blocks, dosages_of
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods.genes.options import SET_LIST, read_sets
from unpooled.methods.regression import linear_questions, logistic_questions
from unpooled.methods.regression.counts import wanted_groups
from unpooled.methods.regression.floors import has_floors
from unpooled.methods.regression.logistic_questions import People
from unpooled.methods.regression.pool import everyone
from unpooled.methods.shared import genotype_counts
from unpooled.methods.shared.chunks import DIPLOID
from unpooled.methods.shared.genotype_counts import CountCarried, carriers, counted
from unpooled.methods.shared.groups import COMPLETE, Group, complete
from unpooled.methods.shared.standardise import column_names, is_number, standardised
from unpooled.methods.shared.without_any import ON_RUNGS, capped, on_rungs
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

MOST_COLUMNS = 1000
"""Largest number of columns of a set; their products take four megabytes then."""
_PAIRS_AT_ONCE, VARIANTS_AT_ONCE = 1 << 18, 4000
"""Largest numbers of pairs and of variants in one question, but for a set that has more by itself."""

NO_CALL = -1


@dataclass(frozen=True, eq=False)
class SumColumns(linear_questions.SumColumns, name="gene-tests/columns"):
    """Asks for the sums of covariates and phenotype, from which the model without genotypes follows."""

    asked_if: ClassVar[Condition] = is_number


@dataclass(frozen=True, eq=False)
class FitCovariates(logistic_questions.FitCovariates, name="gene-tests/null"):
    """Evaluates the covariates' model of cases and controls."""

    asked_if: ClassVar[Condition] = lambda plan: not is_number(plan)


@dataclass(frozen=True, eq=False)
class CountGenotypes(Question, name="gene-tests/genotypes", title="Count genotypes"):
    """Genotype counts of variants that are in sets, and who carries each allele, capped."""

    sends: ClassVar[tuple[Count, ...]] = CountCarried.sends
    each: ClassVar[dict[str, str]] = CountCarried.each

    items: np.ndarray
    """Panel indices: uint32 (m,)."""
    groups: tuple[Group, ...]
    most: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        groups = tuple(wanted_groups(DIPLOID, everyone(plan), plan))
        whole, rest = divmod(sum(map(len, _listed(plan))), plan.chunk_size)
        parts = [*([plan.chunk_size] * whole), rest]
        return Foreseen([cls(np.arange(size, dtype=np.uint32), groups, 0) for size in parts], exact=False)

    @property
    def variants(self) -> int:
        return len(self.items)

    @property
    def group_count(self) -> int:
        return len(self.groups)

    @property
    def reach(self) -> int:
        return int(self.items.max(initial=-1)) + 1

    def local(self, cohort: Cohort) -> Arrays:
        counts = counted(cohort, self.items.astype(np.int64), self.groups)
        inside = [COMPLETE in group for group in self.groups]
        carried = carriers(counts[:, inside].sum(axis=1, dtype=np.int64))
        return {"genotypes": counts, genotype_counts.CAPPED.name: capped(carried)}

    def parts(self, cohort: Cohort) -> Iterable[Question]:
        return (replace(self, items=self.items[part]) for part in blocks(self.variants, len(cohort.samples)))


def _listed(plan: Plan) -> list[tuple[str, ...]]:
    """The IDs of each set of a plan."""
    return [each.variants for each in read_sets(SET_LIST.of(plan))] if SET_LIST.of(plan) else []


def batches(plan: Plan) -> list[slice]:
    """The sets of a plan in stretches that are asked about together."""
    ends, variants, pairs = [0], 0, 0
    sizes = list(map(len, _listed(plan)))
    for number, size in enumerate(sizes):
        own = _pairs(min(size, MOST_COLUMNS))
        if number and (variants + size > VARIANTS_AT_ONCE or pairs + own > _PAIRS_AT_ONCE):
            ends.append(number)
            variants = pairs = 0
        variants, pairs = variants + size, pairs + own
    return [slice(*each) for each in pairwise([*ends, len(sizes)])]


def _pairs(columns: int) -> int:
    return columns * (columns + 1) // 2


class OfSets(UnderPlan):
    """About some sets of variants, one after the other."""

    items: np.ndarray
    """Panel indices of the variants of all sets: uint32 (v,). A variant may be in several."""
    sizes: np.ndarray
    """uint32 (sets,): how many of these are of each set."""
    collapsed: np.ndarray
    """bool (v,): it is collapsed with others of the set."""
    counts_first: np.ndarray
    """bool (v,): the panel's first allele is the rarer one, whose copies count."""

    @classmethod
    def foreseen_sets(cls, plan: Plan, which: slice) -> dict[str, np.ndarray]:
        """The fields of a question about the sets of a plan if every variant has a column."""
        sizes = np.array([min(len(each), MOST_COLUMNS) for each in _listed(plan)[which]], np.uint32)
        none = np.zeros(int(sizes.sum(dtype=np.int64)), bool)
        return {
            "items": np.zeros(len(none), np.uint32),
            "sizes": sizes,
            "collapsed": none,
            "counts_first": none,
        }

    @property
    def sets(self) -> int:
        return len(self.sizes)

    @property
    def reach(self) -> int:
        return int(self.items.max(initial=-1)) + 1

    @property
    def stretches(self) -> Iterator[slice]:
        """The places of the variants of each set."""
        ends = np.cumsum(self.sizes, dtype=np.int64).tolist()
        return (slice(*each) for each in pairwise([0, *ends]))

    def copies(self, cohort: Cohort, some: slice) -> np.ndarray:
        """Copies of the rarer alleles of some variants, int8 (v, n); `NO_CALL` is missing."""
        found = np.empty((some.stop - some.start, len(cohort.samples)), np.int8)
        for part in blocks(*found.shape):
            here = slice(some.start + part.start, some.start + part.stop)
            packed = cohort.packed(self.items[here].astype(np.int64))
            dosages = dosages_of(packed, found.shape[1]).values
            copies = (dosages // COPY).astype(np.int8)
            turned = packed.swapped == self.counts_first[here]
            copies[turned] = 2 - copies[turned]
            copies[dosages == NO_DOSAGE] = NO_CALL
            found[part] = copies
        return found


@dataclass(frozen=True, eq=False)
class CountRare(OfSets, name="gene-tests/rare", title="Count carriers of rare variants", ring_bits=32):
    """Counts, capped, who carries a variant of those of a set that too few carry one by one."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "capped",
            ("sets", 2),
            FEWEST_AT_A_LEVEL,
            "per set of variants: number of people who carry one of those variants of which each has too few "
            f"carriers, and of people who carry none, {FEWEST_AT_A_LEVEL} where there are more",
            f"whether {FEWEST_AT_A_LEVEL} people of the pool do without any one cohort: else these variants "
            "are in no sum",
        ),
        ON_RUNGS,
    )
    each: ClassVar[dict[str, str]] = {"sets": "set of variants"}
    asked_if: ClassVar[Condition] = has_floors

    items: np.ndarray
    sizes: np.ndarray
    collapsed: np.ndarray
    counts_first: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        asked = batches(plan) if cls.asked_if(plan) else []
        return Foreseen([cls(plan, **cls.foreseen_sets(plan, which)) for which in asked], exact=False)

    def local(self, cohort: Cohort) -> Arrays:
        inside, found = complete(cohort.samples), []
        for some in self.stretches:
            copies = self.copies(cohort, some)[self.collapsed[some]]
            carry = np.count_nonzero((copies > 0).any(axis=0) & inside)
            found.append((carry, np.count_nonzero(inside) - carry))
        return {
            "capped": capped(np.array(found, np.int64).reshape(self.sets, 2)),
            ON_RUNGS.name: on_rungs(int(np.count_nonzero(inside))),
        }


@dataclass(frozen=True, eq=False)
class SumSets(OfSets, name="gene-tests/sums", title="Sum the variants of sets", ring_bits=64):
    """Sums of the columns of sets with covariates and phenotype, and of products of two columns of a set."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("columns", "width"),
            "bound",
            "per variant, and per set of its collapsed ones: sums of the copies, and of copies times "
            "covariate and times phenotype; of cases and controls times the residual of the covariates' "
            "model, and times covariate and its weight there",
            "how each variant is associated with the phenotype and the covariates in the pool; none of "
            f"fewer than {FEWEST_AT_A_LEVEL} carriers without any one cohort",
        ),
        Real(
            "products",
            ("pairs",),
            "bound",
            "per pair of these of a set: sum of the products of their copies; of cases and controls each "
            "person times the weight in the covariates' model",
            "how variants go together in the pool; of cases and controls, where one person carries both, "
            "that person's weight by the covariates, without name or cohort",
            of_one=True,
        ),
    )
    each: ClassVar[dict[str, str]] = {"columns": "variant", "width": "column", "pairs": "pair of variants"}
    only_server: ClassVar[Condition] = lambda plan: True

    items: np.ndarray
    sizes: np.ndarray
    collapsed: np.ndarray
    counts_first: np.ndarray
    mean: np.ndarray
    """float64 (v,): mean copies in the pool, which stand for missing calls unless a variant is collapsed."""
    centre: np.ndarray
    exponent: np.ndarray
    beta: np.ndarray
    """float64 (1 + covariates,): the covariates' model of cases and controls; 0 for a number."""
    people: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = len(column_names(plan))
        model: dict[str, Any] = {
            "centre": np.zeros(columns),
            "exponent": np.zeros(columns, np.int64),
            "beta": np.zeros(1 + len(plan.covariate_columns)),
            "people": 1,
        }
        asked = [model | cls.foreseen_sets(plan, which) for which in batches(plan)]
        return Foreseen([cls(plan, mean=np.zeros(len(a["items"])), **a) for a in asked], exact=False)

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Return what is sent; unweighted products are counts of carriers, and without covariates all weights
        are alike."""
        of_one = not is_number(plan) and bool(plan.covariate_columns)
        return tuple(replace(array, of_one=array.of_one and of_one) for array in cls.sends)

    @property
    def in_sets(self) -> list[int]:
        """Number of columns of each set."""
        each = (self.collapsed[some] for some in self.stretches)
        return [int(np.count_nonzero(~rare) + rare.any()) for rare in each]

    @property
    def columns(self) -> int:
        return sum(self.in_sets)

    @property
    def pairs(self) -> int:
        return sum(map(_pairs, self.in_sets))

    @property
    def width(self) -> int:
        """One; the model's columns, of which one is the first for a number; phenotype, or residual."""
        return len(self.beta) + (1 if is_number(self.plan) else 2)

    @property
    def bound(self) -> int:
        return 4 * self.people

    def local(self, cohort: Cohort) -> Arrays:
        columns, weight = self._design(cohort.samples)
        sums, products = [np.zeros((0, self.width))], [np.zeros(0)]
        for some in self.stretches:
            copies = self.copies(cohort, some)
            who = np.flatnonzero(copies.any(axis=0))  # few: variants are rare
            own = self._columns(copies[:, who], some)
            sums.append(own @ columns[who])
            products.append((own * weight[who] @ own.T)[np.triu_indices(len(own))])
        return {"sums": np.concatenate(sums), "products": np.concatenate(products)}

    def _columns(self, copies: np.ndarray, some: slice) -> np.ndarray:
        """A set's columns, float64 (columns, n): variants by themselves, then the collapsed ones."""
        rare = self.collapsed[some]
        alone = copies[~rare].astype(float)
        np.copyto(alone, self.mean[some][~rare][:, None], where=alone == NO_CALL)
        most = np.maximum(copies[rare].max(axis=0, keepdims=True, initial=0), 0)
        return np.concatenate([alone, most[: int(rare.any())]])

    def _design(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return what copies are multiplied with, (n, width), and weights, (n,); 0 for who lacks a value."""
        if is_number(self.plan):
            inside = complete(samples).astype(float)
            return np.column_stack([inside, standardised(samples, self.centre, self.exponent)]), inside
        people = People.of(samples, DIPLOID, False, self.centre, self.exponent)
        x, weight, residual, _ = people.null(self.beta)
        return np.column_stack([people.inside, weight[:, None] * x, residual]), weight
