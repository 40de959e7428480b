"""A random federation of tables: all of it follows from one integer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unpooled.fitted.scaler import MIN_MAX, QUANTILES, ROBUST, YEO_JOHNSON, Z_SCORE
from unpooled.methods import ALGORITHMS, usual
from unpooled.methods.tables.census import FEWEST_COHORTS, FEWEST_VALUES
from unpooled.plan.common_options import BITS, OPENS
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.result_files import QUANTILES_FILE
from unpooled.plan.schema import Column

from .columns import KINDS, Random

METHODS = (Z_SCORE, MIN_MAX, ROBUST, YEO_JOHNSON, QUANTILES)
COHORTS = (3, 3, 3, 3, 4, 4, 5, 7, 12, 30)
VARIANCES = (1e6, 1e12, 1e12, 1e18)
NOTE = "note"
ASKED = {"quantiles": (0.0, 0.01, 0.25, 1 / 3, 0.5, 0.9, 1.0), "elements": (1, 2, 10, -10, -2, -1)}


@dataclass(frozen=True, eq=False)
class Federation:
    """Federation of one study. Cohorts' tables have the features in the plan's order, missing values NaN."""

    seed: int
    plan: Plan
    cohorts: tuple[np.ndarray, ...]
    """float64 (rows, features) of each."""
    forms: tuple[int, ...]
    """Number of each cohort from which its file's form follows."""
    kinds: tuple[str, ...]
    """Kinds of the features, for display."""

    @property
    def pool(self) -> np.ndarray:
        return np.concatenate(self.cohorts)

    @property
    def columns(self) -> int:
        return self.pool.shape[1]

    @property
    def size(self) -> int:
        return self.pool.size

    def with_columns(self, kept: list[int]) -> Federation:
        """Return the federation with some of its features only."""
        texts = (column for column in self.plan.schema if not column.is_number)
        schema = (*(self.plan.features[k] for k in kept), *texts)
        return replace(
            self,
            plan=replace(self.plan, schema=schema),
            cohorts=tuple(values[:, kept] for values in self.cohorts),
            kinds=tuple(self.kinds[k] for k in kept),
        )

    def with_rows(self, kept: list[np.ndarray]) -> Federation:
        """Return the federation with some of each cohort's rows; a cohort without any is left out."""
        some = [k for k, rows in enumerate(kept) if len(rows)]
        return replace(
            self,
            plan=replace(self.plan, cohorts=len(some)),
            cohorts=tuple(self.cohorts[k][kept[k]] for k in some),
            forms=tuple(self.forms[k] for k in some),
        )

    @property
    def holds_the_floor(self) -> bool:
        """True if, of every feature that has values, enough cohorts have enough of them."""
        values = np.array([np.sum(~np.isnan(cohort), axis=0) for cohort in self.cohorts])
        enough = np.sum(values >= FEWEST_VALUES, axis=0) >= FEWEST_COHORTS
        return len(self.cohorts) >= FEWEST_COHORTS and bool(np.all(enough | (values.sum(axis=0) == 0)))


def draw(seed: int) -> Federation:
    """The federation of a seed: the same each time, but for the noise of Gaussian masks."""
    random = np.random.default_rng([seed])
    method = str(random.choice(METHODS))
    cohorts, features = int(random.choice(COHORTS)), int(random.integers(1, 7))
    sizes = _sizes(random, cohorts)
    kinds = [KINDS[random.integers(len(KINDS))] for _ in range(features)]
    pool = np.column_stack([kind(random, sum(sizes)) for kind in kinds])
    parts = np.split(_dealt(random, pool), np.cumsum(sizes)[:-1])
    drawn = Federation(
        seed,
        _read(_plan(random, method, cohorts, pool), seed),
        tuple(parts),
        tuple(random.integers(2**31, size=cohorts).tolist()),
        tuple(kind.__name__ for kind in kinds),
    )
    lacking = replace(drawn, cohorts=tuple(_without_some(random, parts)))
    return lacking if lacking.holds_the_floor else drawn


def _sizes(random: Random, cohorts: int) -> list[int]:
    """Rows of each cohort: a few tens, hundreds, and now and then many in one."""
    most = int(random.choice([20, 60, 350]))
    sizes = random.integers(FEWEST_VALUES, most, cohorts)
    if random.random() < 0.02:
        sizes[random.integers(cohorts)] = 50_000
    return [int(size) for size in sizes]


def _dealt(random: Random, pool: np.ndarray) -> np.ndarray:
    """The rows in the order in which cohorts take them: as they come, or sorted by a feature."""
    if random.random() < 0.5:
        return pool
    return pool[np.argsort(pool[:, random.integers(pool.shape[1])], kind="stable")]


def _plan(random: Random, method: str, cohorts: int, pool: np.ndarray) -> Plan:
    whole = [bool(np.all(column == np.floor(column))) for column in pool.T]
    schema = [
        Column(f"feature {k}", "integer" if whole[k] and random.random() < 0.5 else "number", "mmol/l")
        for k in range(pool.shape[1])
    ]
    if random.random() < 0.3:
        schema.append(Column(NOTE, "text"))
    gaussian = method != YEO_JOHNSON and random.random() < 0.25
    masking = "gaussian" if gaussian else "modular"
    return plan_of(method, schema, cohorts, masking=masking, variance=float(random.choice(VARIANCES)))


def plan_of(method: str, schema: Sequence[Column], cohorts: int, **options: Any) -> Plan:
    """A plan of which everybody reads the sums, but for these options the usual one."""
    made: dict[str, Any] = {"min_samples": 1, **usual(method), OPENS.name: OPENS.default}
    made |= {**(ASKED if QUANTILES_FILE in made["files"] else {}), **options}
    return Plan(test=method, cohorts=cohorts, compensator_key=NO_KEY, schema=tuple(schema), **made)


def _read(plan: Plan, seed: int) -> Plan:
    """Return, for every other seed, a plan whose sums nobody reads, if its method has such."""
    can = OPENS in ALGORITHMS[plan.test].options and plan.masking == "modular"
    return Plan(**vars(plan) | {"opens": BITS}) if can and seed % 2 else plan


def _without_some(random: Random, parts: list[np.ndarray]) -> list[np.ndarray]:
    """The parts with values missing: none, some everywhere, or all of a feature in a cohort or in all."""
    how, parts = random.integers(4), [part.copy() for part in parts]
    for part in parts:
        if how == 1:
            part[random.random(part.shape) < 0.1] = np.nan
        elif how == 2:
            part[:, random.random(part.shape[1]) < 0.1] = np.nan
        elif how == 3 and part.shape[1] > 1:
            part[:, 0] = np.nan
    return parts
