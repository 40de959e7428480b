"""Questions of tests of sets of variants: genotypes of the variants, carriers of rare ones, sums of a set.

A set's columns are the copies of the rarer allele of each variant that enough people carry, and one column of
its other variants, collapsed: of each person the most copies of any of them (Zhou and others, SAIGE-GENE+,
Nature Genetics 2022). So no sum is of few carriers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, blocks, dosages_of
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Real, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods.genes.base import ALONE, columns_among
from unpooled.methods.genes.options import masks_of, sets_of
from unpooled.methods.regression import linear_questions, logistic_questions
from unpooled.methods.regression.counts import wanted_groups
from unpooled.methods.regression.floors import has_floors
from unpooled.methods.regression.null_model import BesideNull
from unpooled.methods.regression.pool import everyone
from unpooled.methods.shared import filters
from unpooled.methods.shared.chunks import DIPLOID
from unpooled.methods.shared.dosage_counts import SumListed
from unpooled.methods.shared.genotype_counts import CountListed
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.standardise import is_number
from unpooled.methods.shared.without_any import ON_RUNGS, capped, on_rungs
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

MOST_COLUMNS = 1000
"""Largest number of columns of a set; their products take four megabytes then."""
_PAIRS_AT_ONCE, VARIANTS_AT_ONCE = 1 << 18, 4000
"""Largest numbers of pairs and of variants in one question, but for a set that has more by itself."""
_VALUES_AT_ONCE = 1 << 20
"""Copies that are multiplied at once: eight megabytes."""


@dataclass(frozen=True, eq=False)
class SumColumns(linear_questions.SumColumns, name="gene-tests/columns"):
    """Asks for the sums of covariates and phenotype, from which the model without genotypes follows."""

    asked_if: ClassVar[Condition] = is_number


@dataclass(frozen=True, eq=False)
class FitCovariates(logistic_questions.FitCovariates, name="gene-tests/null"):
    """Evaluates the covariates' model of cases and controls."""

    asked_if: ClassVar[Condition] = lambda plan: not is_number(plan)


@dataclass(frozen=True, eq=False)
class CountGenotypes(CountListed, name="gene-tests/genotypes", title="Count genotypes"):
    """Genotype counts of variants that are in sets, and who carries each allele, capped."""

    asked_if: ClassVar[Condition] = filters.counts_calls

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        groups = tuple(wanted_groups(DIPLOID, everyone(plan), plan))
        listed = {name for each in sets_of(plan) for name in each.variants}
        whole, rest = divmod(len(listed), plan.chunk_size)
        parts = [*([plan.chunk_size] * whole), rest]
        return Foreseen([cls(np.arange(size, dtype=np.uint32), groups, 0) for size in parts], exact=False)


@dataclass(frozen=True, eq=False)
class CountDosages(CountGenotypes, SumListed, name="gene-tests/dosages", title="Sum dosages", ring_bits=64):
    """Sums of dosages of variants that are in sets, and who carries each allele, capped."""

    asked_if: ClassVar[Condition] = DOSAGES.of


def batches(plan: Plan) -> list[slice]:
    """The sets of a plan in stretches that are asked about together: all masks of a set are."""
    masks = len(masks_of(plan))
    ends, variants, pairs = [0], 0, 0
    sizes = [len(each.variants) for each in sets_of(plan)]
    for number in range(0, len(sizes), masks):
        some = sizes[number : number + masks]
        own = sum(_pairs(min(size, MOST_COLUMNS)) for size in some)
        if number and (variants + sum(some) > VARIANTS_AT_ONCE or pairs + own > _PAIRS_AT_ONCE):
            ends.append(number)
            variants = pairs = 0
        variants, pairs = variants + sum(some), pairs + own
    return [slice(*each) for each in pairwise([*ends, len(sizes)])]


def _pairs(columns: int) -> int:
    return columns * (columns + 1) // 2


@dataclass(frozen=True, eq=False)
class OfSets(UnderPlan):
    """About some sets of variants, one after the other."""

    items: np.ndarray
    """Panel indices of the variants of all sets: uint32 (v,). A variant may be in several."""
    sizes: np.ndarray
    """uint32 (sets,): how many of these are of each set."""
    counts_first: np.ndarray
    """bool (v,): the panel's first allele is the rarer one, whose copies count."""

    @classmethod
    def foreseen_sets(cls, plan: Plan, which: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The fields of a question about the sets of a plan if every variant has a column."""
        listed = [each.variants for each in sets_of(plan)[which]]
        sizes = np.array([min(len(each), MOST_COLUMNS) for each in listed], np.uint32)
        none = np.zeros(int(sizes.sum(dtype=np.int64)), bool)
        return np.zeros(len(none), np.uint32), sizes, none

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

    @property
    def copy(self) -> int:
        """The number that one copy is in `copies`."""
        return COPY if DOSAGES.of(self.plan) else 1

    @property
    def missing(self) -> int:
        """The number that stands for a missing call or dosage there."""
        return NO_DOSAGE // (COPY // self.copy)

    def copies(self, cohort: Cohort, some: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """Read copies of the rarer alleles of some variants in parts, (v, n), as small whole numbers."""
        for part in blocks(some.stop - some.start, len(cohort.samples)):
            here = slice(some.start + part.start, some.start + part.stop)
            items = self.items[here].astype(np.int64)
            if DOSAGES.of(self.plan):
                found = cohort.dosages(items)
            else:
                found = dosages_of(cohort.packed(items), len(cohort.samples))
            turned = (found.swapped == self.counts_first[here])[:, None] & (found.values != NO_DOSAGE)
            values = np.where(turned, np.uint16(2 * COPY) - found.values, found.values)
            yield here, values if self.copy == COPY else (values // COPY).astype(np.uint8)


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

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        masks = len(masks_of(plan))
        asked = batches(plan) if cls.asked_if(plan) else []
        of_one = (slice(which.start, which.stop, masks) for which in asked)
        return Foreseen([cls(plan, *cls.foreseen_sets(plan, some)) for some in of_one], masks, exact=False)

    def local(self, cohort: Cohort) -> Arrays:
        inside, found = complete(cohort.samples), []
        for some in self.stretches:
            carries = np.zeros(len(inside), bool)
            for _, copies in self.copies(cohort, some):
                # Of dosages whoever has a copy rather than none.
                carries |= ((copies >= max(1, self.copy // 2)) & (copies != self.missing)).any(axis=0)
            carry = np.count_nonzero(carries & inside)
            found.append((carry, np.count_nonzero(inside) - carry))
        return {
            "capped": capped(np.array(found, np.int64).reshape(self.sets, 2)),
            ON_RUNGS.name: on_rungs(int(np.count_nonzero(inside))),
        }


@dataclass(frozen=True, eq=False)
class SumSets(BesideNull, OfSets, name="gene-tests/sums", title="Sum the variants of sets", ring_bits=64):
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
            "how variants go together in the pool; where one person carries both, of cases and controls that "
            "person's weight by the covariates, and of dosages their product, without name or cohort",
            of_one=True,
        ),
    )
    each: ClassVar[dict[str, str]] = {"columns": "variant", "width": "column", "pairs": "pair of variants"}
    only_server: ClassVar[Condition] = lambda plan: True

    column: np.ndarray
    """int32 (v,): 0 for a column of its own, else which column it is collapsed into."""
    mean: np.ndarray
    """float64 (v,): mean copies in the pool, which stand for missing calls unless a variant is collapsed."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        def whole(which: slice) -> SumSets:
            items, sizes, counts_first = cls.foreseen_sets(plan, which)
            column, mean = np.zeros(len(items), np.int32), np.zeros(len(items))
            return cls(plan, items, sizes, counts_first, *cls.foreseen_null(plan), column, mean)

        return Foreseen([whole(which) for which in batches(plan)], exact=False)

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Return what is sent; unweighted products of calls are counts of carriers, and without covariates
        all weights are alike."""
        of_one = DOSAGES.of(plan) or (not is_number(plan) and bool(plan.covariate_columns))
        return tuple(replace(array, of_one=array.of_one and of_one) for array in cls.sends)

    @property
    def in_sets(self) -> list[int]:
        """Number of columns of each set."""
        return [columns_among(self.column[some]) for some in self.stretches]

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

    def local(self, cohort: Cohort) -> Arrays:
        columns, weight = self.null_design(cohort.samples)
        if not is_number(self.plan):
            columns = np.column_stack([complete(cohort.samples), columns])
        sums, products = [np.zeros((0, self.width))], [np.zeros(0)]
        for some, size in zip(self.stretches, self.in_sets, strict=True):
            copies, mean = self._columns(cohort, some)
            who = np.flatnonzero(copies.any(axis=0))  # of calls few: variants are rare
            sums.append(np.zeros((size, self.width)))
            pairs = np.zeros((size, size))
            for part in np.array_split(who, 1 + len(who) * size // _VALUES_AT_ONCE):
                own = copies[:, part]
                own = np.where(own == self.missing, mean[:, None], own / self.copy)
                sums[-1] += own @ columns[part]
                pairs += own * weight[part] @ own.T
            products.append(pairs[np.triu_indices(size)])
        return {"sums": np.concatenate(sums), "products": np.concatenate(products)}

    def _columns(self, cohort: Cohort, some: slice) -> tuple[np.ndarray, np.ndarray]:
        """A set's columns as `copies` has them, (columns, n): variants by themselves, then collapsed ones;
        and what stands for a missing call in each.
        """
        column = self.column[some]
        alone = np.flatnonzero(column == ALONE)
        row = np.empty(len(column), np.int64)
        row[alone] = np.arange(len(alone))
        row[column > ALONE] = len(alone) + np.unique(column[column > ALONE], return_inverse=True)[1]
        found = np.zeros(
            (columns_among(column), len(cohort.samples)), np.uint16 if self.copy > 1 else np.uint8
        )
        for here, copies in self.copies(cohort, some):
            for place, own in zip(
                range(here.start - some.start, here.stop - some.start), copies, strict=True
            ):
                if column[place] == ALONE:
                    found[row[place]] = own
                else:
                    np.maximum(found[row[place]], own, out=found[row[place]], where=own != self.missing)
        mean = np.zeros(len(found))
        mean[: len(alone)] = self.mean[some][alone]
        return found, mean
