"""The design of a study of models: the columns that a table becomes, and the question about their products.

Its columns are the features that are numbers, in the schema's order, then what each category becomes, and
last the outcome.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import Arrays, Condition, Foreseen, Question, Real, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import ProtocolError
from unpooled.methods.learning.models import MODELS, is_by_class
from unpooled.methods.learning.options import VALIDATION_FOLDS
from unpooled.methods.learning.reading import Examples, class_names, examples, outcome_place
from unpooled.methods.tables.bends import Bends
from unpooled.methods.tables.encoding.questions import sizes_of
from unpooled.plan.encodings import ONE_HOT, ORDINAL
from unpooled.plan.plan import Plan
from unpooled.protocol import codec

FRACTION_BITS = 60
MOST_COLUMNS = 2000
"""Largest number of columns of a design whose products are asked for: 16 MB a fold."""
MOST_WIDE = 20_000
"""Largest number of columns of a design that is fitted without their products."""
AT_ONCE = 1 << 23
"""Numbers of a table that are standardised at once."""


@dataclass(frozen=True, eq=False)
class SumProducts(UnderPlan, name="model/products", title="Sum products of columns", ring_bits=128):
    """Sums of the standardised columns, and of the products of each two of them, by fold.

    A column x is z = (x - centre) / 2^exponent, as in `unpooled.methods.shared.standardise`, so that no sum
    is larger than the number of rows. A missing feature is 0: the pool's mean. The outcome comes last: the
    number, or of each class 1 for its people and -1 for all others; of two classes of the second only.
    Where the fit weighs classes apart, so are the sums, one class after the other.
    """

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "sums",
            ("folds", "numbers"),
            "most",
            "per fold and column: the sum of its standardised values",
            "the mean of each column in each fold of the pool",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "products",
            ("folds", "pairs"),
            "most",
            "per fold and two columns: the sum of the products of their standardised values",
            "the covariances of all columns in each fold of the pool",
            fraction_bits=FRACTION_BITS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"folds": "fold", "numbers": "column", "pairs": "pair"}
    asked_if: ClassVar[Condition] = lambda plan: not is_wide(plan)
    only_server: ClassVar[Condition] = lambda plan: VALIDATION_FOLDS.of(plan) < 2

    rows: int
    """Number of rows in the pool."""
    part_of: np.ndarray
    """int64 (folds,): the fold that each of the plan's folds is summed with: itself, or another's first."""
    kept: np.ndarray
    """bool (levels of all categories,)"""
    shares: np.ndarray
    """float64 (kept levels and rest of all categories,): the share of the pool's rows with each"""
    centre: np.ndarray
    """float64 (columns,), with the outcome last; 0 for classes"""
    exponent: np.ndarray
    """int64 (columns,)"""
    units: tuple[float, ...] = codec.came_later(())
    """The unit of each number before the outcome in which its coefficient is penalised; 0 for its deviation.
    Empty if all are 0."""
    bends: Bends | None = field(default=None, kw_only=True, metadata=codec.CAME_LATER)

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Return the same as ever, which says so where each class has sums of its own."""
        sent = super().sends_under(plan)
        if not is_by_class(plan):
            return sent
        return tuple(
            replace(
                array,
                meaning=array.meaning.replace("per fold", "per class, fold"),
                learns=f"{array.learns}, by class",
            )
            for array in sent
        )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([] if is_wide(plan) else [cls.widest(plan)], exact=not plan.categories)

    @classmethod
    def widest(cls, plan: Plan) -> SumProducts:
        """The question if every level of every category is kept."""
        levels = sizes_of(plan)
        wide = [
            int(n) + 1 if column.encoding == ONE_HOT else 1
            for n, column in zip(levels, plan.dictionaries, strict=True)
        ]
        numbers = len(plan.features) - (outcome_place(plan) is not None)
        columns = numbers + sum(wide) + targets_of(len(class_names(plan)))
        return cls(
            plan,
            rows=1,
            part_of=np.arange(VALIDATION_FOLDS.of(plan)),
            kept=np.ones(int(levels.sum(dtype=int)), bool),
            shares=np.zeros(int(levels.sum(dtype=int)) + len(levels)),
            centre=np.zeros(columns),
            exponent=np.zeros(columns, np.int64),
        )

    @functools.cached_property
    def classes(self) -> int:
        return len(class_names(self.plan))

    @functools.cached_property
    def outcome(self) -> int:
        """The place of the outcome among the features of the table; -1 if it has classes."""
        place = outcome_place(self.plan)
        return -1 if place is None else place

    @functools.cached_property
    def encodings(self) -> tuple[str, ...]:
        """Encoding of each category."""
        return tuple(column.encoding for column in self.plan.dictionaries)

    @property
    def folds(self) -> int:
        """Number of folds in the plan; those joined to others have no rows."""
        return len(self.part_of)

    @property
    def targets(self) -> int:
        return targets_of(self.classes)

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def apart(self) -> int:
        """The number of classes whose sums are apart."""
        return self.classes if is_by_class(self.plan) else 1

    @property
    def numbers(self) -> int:
        return self.apart * self.columns

    @property
    def pairs(self) -> int:
        return self.apart * self.columns * (self.columns + 1) // 2

    @property
    def most(self) -> int:
        return 2 * self.rows  # twice: a deviation is rounded

    def _width(self, features: int) -> int:
        """Count the columns, given the number of features of the table."""
        wide = (
            len(part) if of == ONE_HOT else 1 for of, part in zip(self.encodings, self._shares, strict=True)
        )
        return features - (self.outcome >= 0) + sum(wide) + self.targets

    @property
    def _kept(self) -> list[np.ndarray]:
        return np.split(self.kept, np.cumsum(sizes_of(self.plan))[:-1]) if self.encodings else []

    @property
    def _shares(self) -> list[np.ndarray]:
        ends = np.cumsum([np.count_nonzero(kept) + 1 for kept in self._kept])
        return np.split(self.shares, ends[:-1]) if len(ends) else []

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        upper = np.triu_indices(self.columns)
        sums = np.zeros((self.folds, self.apart, self.columns))
        products = np.zeros((self.folds, self.apart, self.columns, self.columns))
        for fold, rows, block in self.blocks(found):
            for k in range(self.apart):
                z = block[found.classes[rows] == k] if self.apart > 1 else block
                sums[fold, k] += z.sum(axis=0)
                products[fold, k] += z.T @ z
        flat = products[..., upper[0], upper[1]].reshape(self.folds, self.pairs)
        return {"sums": sums.reshape(self.folds, self.numbers), "products": flat}

    def blocks(self, found: Examples) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The table by blocks of rows: the fold, the rows' places, and their design with the outcome."""
        found = examples(found, self.bends)
        if self.columns != self._width(found.values.shape[1]):
            raise ProtocolError("the question has another number of columns than this cohort's table")
        # A design may be far wider than its table: it is made, and summed, a block at a time.
        most = AT_ONCE // (self.columns + 1) + 1
        for fold in range(self.folds):
            own = np.flatnonzero(self.part_of[found.folds] == fold)
            for first in range(0, len(own), most):
                rows = own[first : first + most]
                yield fold, rows, self.standardised(found, rows)

    def standardised(self, found: Examples, rows: np.ndarray) -> np.ndarray:
        """Some rows of the design with the outcome, float64 (rows, columns)."""
        numbers = [k for k in range(found.values.shape[1]) if k != self.outcome]
        values = found.values[rows]
        parts = [values[:, numbers], *self._encoded(found, rows), self._outcome(found, values, rows)]
        z = np.hstack(parts)
        z -= self.centre
        # By two powers of two that a float64 can be: ldexp of each number takes three times as long.
        half = self.exponent // 2
        z *= np.ldexp(1.0, -half)
        z *= np.ldexp(1.0, half - self.exponent)
        return np.asarray(np.nan_to_num(z, copy=False, nan=0.0))

    def _encoded(self, found: Examples, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Encode each category in some rows: float64 (rows, its columns); NaN is missing."""
        categories = found.categories
        for k, (encoding, kept, shares) in enumerate(
            zip(self.encodings, self._kept, self._shares, strict=True)
        ):
            rest = np.count_nonzero(kept)
            lines = np.append(np.where(kept, np.cumsum(kept) - 1, rest), [rest, -1])
            line = lines[categories.levels[rows, k]]  # of a missing word, whose level is -1, the last
            if encoding == ONE_HOT:
                yield (line[:, None] == np.arange(len(shares))).astype(float)
            else:
                numbers = np.append(np.arange(len(shares)) if encoding == ORDINAL else shares, np.nan)
                yield numbers[line][:, None]

    def _outcome(self, found: Examples, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The outcome of some rows, float64 (rows, targets)."""
        if not self.classes:
            return values[:, [self.outcome]]
        first = self.classes - self.targets  # of two classes the second
        return np.where(found.classes[rows, None] == np.arange(first, self.classes), 1.0, -1.0)


class OfDesign(Question):
    """About the columns that a table becomes."""

    design: SumProducts


def is_wide(plan: Plan) -> bool:
    """Tell whether a plan's fit does without the products of all columns, as there may be too many."""
    widest = SumProducts.widest(plan)
    return may_be_wide(plan) and widest.columns - widest.targets > MOST_COLUMNS


def may_be_wide(plan: Plan) -> bool:
    """Tell whether a plan's fit can do without the products of all columns."""
    return MODELS[plan.test].is_wide and not is_by_class(plan)


def targets_of(classes: int) -> int:
    """Count the columns of the outcome."""
    return classes if classes > 2 else 1
