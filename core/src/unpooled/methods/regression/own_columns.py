"""Sums over a variant's own columns: those that its genotype becomes, and their products with covariates.

With f, h columns of the model, s, t covariates that interact, and z any real column, the sums are of f z and
f s z, and with interactions of f h s and f h s t. Sums without a real column follow from the counts; those of
products with sex are the sums over men, since sums are apart by sex on X.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unpooled.kernels.fixed_order import congruent, of_rows
from unpooled.methods.regression.calls import Calls, CodedCalls
from unpooled.methods.shared.allele_coding import by_plink2, most_copies
from unpooled.plan.genotype_model import Terms

_ONE = -1
"""Stands for the column of ones among real columns."""

_Factors = tuple[tuple[int, ...], tuple[int, int]]
"""One or two columns of the model, and two real columns."""


@dataclass(frozen=True)
class OwnSums:
    """Sums for each variant, given the number of real columns."""

    terms: Terms
    columns: int

    @cached_property
    def factors(self) -> tuple[_Factors, ...]:
        """Factors of each sum, in the order in which the sums are sent."""
        return tuple(dict.fromkeys((*self._of_one(), *self._of_two())))

    @cached_property
    def places(self) -> dict[_Factors, int]:
        """Index of each sum in that order."""
        return {factors: k for k, factors in enumerate(self.factors)}

    def places_among(self, wider: OwnSums, own: Sequence[int]) -> list[int]:
        """Find the indices of these sums among those of more columns; `own` are the columns shared."""
        at = {_ONE: _ONE, **dict(enumerate(own))}
        return [wider.places[model, (at[i], at[j])] for model, (i, j) in self.factors]

    def _of_one(self) -> Iterator[_Factors]:
        alone = range(len(self.terms.coded))
        for a, i, j in itertools.product(alone, (_ONE, *self.terms.interacting), range(self.columns)):
            yield (a,), (min(i, j), max(i, j))

    def _of_two(self) -> Iterator[_Factors]:
        model = itertools.combinations_with_replacement(range(len(self.terms.coded)), 2)
        real = list(itertools.combinations_with_replacement((_ONE, *self.terms.interacting), 2))[1:]
        yield from itertools.product(model, real)

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def coded(self) -> np.ndarray:
        """Values of 0, 1 and 2 copies in both factors of each sum, 1 for one that it lacks: float64 (2, 3,
        sums).
        """
        values = np.array([*(coded.values for coded in self.terms.coded), (1, 1, 1)], np.float64)
        return np.array([values[[model[0], *model[1:], -1][:2]] for model, _ in self.factors]).transpose(
            1, 2, 0
        )

    def of_people(self, z: np.ndarray) -> np.ndarray:
        """Return the factors of each person's genotype, (n, sums), from the real columns (n, columns)."""
        with_one = np.concatenate([z, np.ones((len(z), 1))], axis=1)  # where -1 finds it
        first, second = np.array([real for _, real in self.factors]).T
        return np.asarray(with_one[:, first] * with_one[:, second])

    def filled(self, fill: np.ndarray) -> np.ndarray:
        """Return the value of missing calls in each sum, (m, sums), given those in the model, (m, k)."""
        return np.stack([_product(fill, model) for model, _ in self.factors], axis=1)

    def units(self, chromosome: str) -> np.ndarray:
        """Return the factors, (s, sums), that correct sums where one copy counts 1, but homozygous calls were
        taken for 2 copies.
        """
        half = most_copies(chromosome)[:, None] / 2
        return np.where([len(model) > 1 for model, _ in self.factors], half * half, half)


def _product(values: np.ndarray, model: tuple[int, ...]) -> np.ndarray:
    """One column of the model, or the product of two."""
    first = values[:, model[0]]
    return np.asarray(first * values[:, model[1]] if len(model) > 1 else first)


@dataclass(frozen=True, eq=False)
class OwnColumns:
    """Sums over the t own columns of m variants in each of s sexes; `z` are covariates and the phenotype."""

    people: np.ndarray
    """float64 (m, s)"""
    sums: np.ndarray
    """(m, s, t)"""
    products: np.ndarray
    """(m, s, t, t)"""
    with_columns: np.ndarray
    """(m, s, t, columns)"""

    @classmethod
    def of(cls, asked: OwnSums, coded: CodedCalls, found: np.ndarray) -> OwnColumns:
        """Build from the calls and the sums that were asked for, (m, s, sums)."""

        def summed(model: tuple[int, ...], i: int, j: int) -> np.ndarray:
            if (i, j) == (_ONE, _ONE):
                return (
                    coded.sums[:, :, model[0]]
                    if len(model) == 1
                    else coded.products[:, :, model[0], model[1]]
                )
            return np.asarray(found[:, :, asked.places[tuple(sorted(model)), (min(i, j), max(i, j))]])

        own, columns = asked.terms.own, range(asked.columns)
        sums = np.stack([summed((a,), _ONE, i) for a, i in own], axis=-1)
        products = np.stack(
            [np.stack([summed((a, b), i, j) for b, j in own], axis=-1) for a, i in own], axis=-2
        )
        empty = np.zeros((*coded.people.shape, 0))
        with_columns = [
            np.stack([*(summed((a,), i, j) for j in columns)] or [empty], axis=-1) for a, i in own
        ]
        return cls(coded.people, sums, products, np.stack(with_columns, axis=-2))

    def times_sex(self) -> OwnColumns:
        """Append the product of the first column and sex, which is 1 for men; men come first."""
        men = np.zeros(self.people.shape[1])
        men[0] = 1
        every = [*range(self.sums.shape[2]), 0]
        is_in = np.ones((len(men), len(every)))
        is_in[:, -1] = men
        return OwnColumns(
            self.people,
            self.sums[:, :, every] * is_in,
            self.products[:, :, every][:, :, :, every] * is_in[:, :, None] * is_in[:, None, :],
            self.with_columns[:, :, every] * is_in[:, :, None],
        )

    def times(self, matrix: np.ndarray) -> OwnColumns:
        """Over other columns: each a sum of these, weighted by a row of the matrix (t, t)."""
        if np.array_equal(matrix, np.eye(len(matrix))):
            return self
        return OwnColumns(
            self.people,
            of_rows(self.sums, matrix),
            congruent(matrix, self.products),
            np.swapaxes(of_rows(np.swapaxes(self.with_columns, 2, 3), matrix), 2, 3),
        )

    def turned(self, which: np.ndarray, most: np.ndarray, z: np.ndarray) -> OwnColumns:
        """Count the other allele for some variants, bool (m,); the copies of both alleles add up to `most`,
        (s,).

        `z`, (m, s, columns), are sums of the real columns over the people in each regression.
        """
        n, g, gg = self.people, self.sums[:, :, 0], self.products[:, :, 0, 0]
        other = OwnColumns(
            n,
            (most * n - g)[:, :, None],
            (most**2 * n - 2 * most * g + gg)[:, :, None, None],
            most[:, None, None] * z[:, :, None] - self.with_columns,
        )
        return OwnColumns(
            n,
            *(
                np.where(which.reshape(-1, *[1] * (mine.ndim - 1)), theirs, mine)
                for mine, theirs in (
                    (self.sums, other.sums),
                    (self.products, other.products),
                    (self.with_columns, other.with_columns),
                )
            ),
        )


def shifts(means: np.ndarray, chromosome: str) -> np.ndarray:
    """Return what to add to covariates and, last, to sex, to make them PLINK's: (c + 1,).

    `means`, (c,), was subtracted from covariates. Men count 1 and others 0, as in PLINK 1.9. In plink2 men
    count 1 and women 2: with -1 and -2 the genotype's coefficient is plink2's, and so are those of sex and of
    their product but for the sign, which the report turns.
    """
    return np.append(means, -2.0 if by_plink2(chromosome) else 0.0)


def raw_products(terms: Terms, shift: np.ndarray) -> np.ndarray:
    """Return the matrix that turns own columns into those with raw covariates, as in the files: (t, t).

    `shift`, (c,), is what was subtracted from each covariate, in its unit. PLINK multiplies the genotype with
    covariates as they are, so its coefficient is that of people for whom they are 0.
    """
    found = np.eye(len(terms.own))
    for row, (a, s) in enumerate(terms.own):
        if s >= 0:
            found[row, a] += shift[s]
    return found


def says_singular(calls: Calls, terms: Terms, columns: int) -> np.ndarray:
    """Mark the variants whose columns plink2 calls singular where a column does not vary, bool (m,): it finds
    this by inverting their correlation matrix, unless it has most of it ready.
    """
    return np.asarray((calls.incomplete | bool(terms.interacting)) & (columns > 1))
