"""Truth about the pooled table, by plain counting: which floor is not held, and the design's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.preprocessing import RobustScaler

from unpooled.asking.cohort import ArrayTable
from unpooled.methods import algorithm
from unpooled.methods.learning.models import LINEAR
from unpooled.methods.learning.options import MISSING_CELLS, VALIDATION_FOLDS
from unpooled.methods.learning.reading import Examples
from unpooled.methods.tables.encoding.options import MISSING_WORDS
from unpooled.plan.categories import Words
from unpooled.plan.encodings import LOG, LOG1P, ROBUST, YEO_JOHNSON
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

from ..tables.truth import bent
from .federation import OUTCOME, PATIENT, Cohort, Federation

FEWEST, FEWEST_COHORTS, HOLDERS = 10, 3, 2
FEWEST_OTHERS = 5
"""The floor of each column, without any one cohort."""
LARGEST = 1e300
"""Size beyond which values may be refused as too large for Yeo and Johnson's transform."""
REST = "(rest)"
MISSING = "(missing)"


def table(cohort: Cohort, plan: Plan) -> Examples:
    """A cohort's table as its client would have read it."""
    method = algorithm(plan.test)
    values = [cohort.cells[column.title] for column in plan.features]
    words = {c.title: Words.of(cohort.cells[c.title]) for c in plan.schema if method.reads_words(c)}
    numbers = np.column_stack(values) if values else np.zeros((len(cohort), 0))
    found = method.prepared(ArrayTable(numbers, words), plan)
    assert isinstance(found, Examples)
    return found


@dataclass(frozen=True, eq=False)
class Pool:
    """The rows that count, of all cohorts."""

    plan: Plan
    cells: dict[str, np.ndarray]
    cohort: np.ndarray
    drawn: np.ndarray
    """int64 (n,): the fold of the plan that each row was drawn into"""
    person: np.ndarray
    """int64 (n,): a number for each person of a cohort"""
    part_of: np.ndarray
    """int64 (folds,): the fold that each of the plan's was joined to"""
    powers: Mapping[str, float] = field(default_factory=dict)
    """The lambda of each column that has one, once the study has found it."""

    @classmethod
    def of(cls, federation: Federation) -> Pool:
        plan = federation.plan
        kept = [_counts(cohort, plan) for cohort in federation.cohorts]
        parts = [cohort.with_rows(np.flatnonzero(rows))
                 for cohort, rows in zip(federation.cohorts, kept, strict=True)]  # fmt: skip
        cells = {title: np.concatenate([part.cells[title] for part in parts]) for title in parts[0].cells}
        cohort = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        folds = np.concatenate([table(part, plan).folds for part in federation.cohorts])
        names = cells.get(PATIENT, np.arange(len(cohort)))
        pairs = [f"{k} {name}" for k, name in zip(cohort, names, strict=True)]
        people = np.unique(pairs, return_inverse=True)[1]
        return cls(plan, cells, cohort, folds, people, np.arange(VALIDATION_FOLDS.of(plan)))

    def joined(self, part_of: Sequence[int]) -> Pool:
        """Return the pool with its folds joined in this way."""
        return replace(self, part_of=np.array(part_of))

    @property
    def fold(self) -> np.ndarray:
        """int64 (n,)"""
        return np.asarray(self.part_of[self.drawn])

    @property
    def classes(self) -> tuple[str, ...]:
        outcome = self.plan.outcome
        return outcome.levels if outcome is not None and outcome.has_classes else ()

    @property
    def numbers(self) -> list[Column]:
        return [c for c in self.plan.schema if c.is_number]

    @property
    def categories(self) -> list[Column]:
        return [c for c in self.plan.schema if c.is_category]

    @property
    def features(self) -> list[np.ndarray]:
        return [self.weighed[c.title] for c in self.numbers if c.title != OUTCOME]

    @cached_property
    def weighed(self) -> dict[str, np.ndarray]:
        """The columns of numbers as their scalings bend them: long double (n,) each."""
        return {column.title: self._bent(column) for column in self.numbers}

    def _bent(self, column: Column) -> np.ndarray:
        cells = self.cells[column.title]
        known = cells[~np.isnan(cells)]
        if column.scaling == YEO_JOHNSON and len(known):
            power = self.powers.get(column.title) or power_of(known)
            cells = cells.astype(np.longdouble)
            cells[~np.isnan(cells)] = bent(known, power, float(np.median(known))).g
        curve = {LOG: np.log, LOG1P: np.log1p}.get(column.scaling, np.positive)
        return np.asarray(curve(cells.astype(np.longdouble)))

    @property
    def units(self) -> np.ndarray:
        """The unit in which each number is weighed: float64 (numbers,), NaN for its deviation."""
        features = [(c.scaling, self.cells[c.title]) for c in self.numbers if c.title != OUTCOME]
        found = np.full(len(features), np.nan)
        for k, (scaling, x) in enumerate(features):
            if scaling == ROBUST and not np.isnan(x).all():
                found[k] = RobustScaler().fit(x[:, None]).scale_[0]
        return found

    def people(self, rows: np.ndarray) -> np.ndarray:
        """Count the people of each of the plan's folds who have any of these rows: int64 (folds,)."""
        return self.of_cohorts(rows).sum(axis=0)

    def of_cohorts(self, rows: np.ndarray) -> np.ndarray:
        """The same by cohort: int64 (cohorts, folds)."""
        return self._counted(self.person[rows], rows)

    def rows_of_cohorts(self, rows: np.ndarray) -> np.ndarray:
        """Count these rows of each cohort in each of the plan's folds: int64 (cohorts, folds)."""
        return self._counted(np.flatnonzero(rows), rows)

    def _counted(self, kinds: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((self.plan.cohorts, VALIDATION_FOLDS.of(self.plan)), np.int64)
        different = np.unique(np.stack([self.cohort[rows], self.drawn[rows], kinds]), axis=1)
        np.add.at(found, (different[0], different[1]), 1)
        return found

    def words(self, column: Column) -> np.ndarray:
        """The words of a category, with `REST` and `MISSING` by the plan's rule; None counts nowhere."""
        rule, words = MISSING_WORDS.of(self.plan), self.cells[column.title]
        missing = {"missing": None, "rest": REST, "value": MISSING}[rule]
        found = [missing if w is None else w if w in column.levels else REST for w in words]
        return np.array(found, object)


def _counts(cohort: Cohort, plan: Plan) -> np.ndarray:
    """The rows that count: bool (n,)."""
    y, outcome = cohort.cells[OUTCOME], plan.outcome
    assert outcome is not None
    known = np.isin(y.astype(str), outcome.levels) if outcome.has_classes else ~np.isnan(y)
    if MISSING_CELLS.of(plan) == "complete":
        for column in plan.schema:
            cells = cohort.cells[column.title]
            if column.is_number:
                known &= ~np.isnan(cells)
            elif column.is_category and MISSING_WORDS.of(plan) == "missing":
                known &= np.array([cell is not None for cell in cells])
    return known


def sifted(pool: Pool, column: Column) -> list[str]:
    """The levels that enough people of every fold have, in enough cohorts."""
    levels = [*column.levels, *([MISSING] if MISSING_WORDS.of(pool.plan) == "value" else [])]
    words = pool.words(column)
    return [level for level in levels if _enough(pool, words == level).all()]


def has_small_rest(pool: Pool, column: Column, kept: Sequence[str]) -> bool:
    """Tell whether in some fold few people, or cohorts, have a word other than those that are kept."""
    rest = ~np.isin(pool.words(column).astype(str), [*kept, str(None)])
    return bool((~_enough(pool, rest) & (pool.people(rest) > 0)).any())


def _enough(pool: Pool, rows: np.ndarray) -> np.ndarray:
    people = pool.of_cohorts(rows)
    capped = np.minimum(people, FEWEST).sum(axis=0)
    return (capped >= 2 * FEWEST) & (np.count_nonzero(people, axis=0) >= HOLDERS)


@dataclass(frozen=True)
class Floor:
    """One that is not held."""

    words: str
    """Words of the reason."""
    is_sure: bool = True
    """Else a mean may be rounded onto a value, or values be folded into a small rest."""


def first_refusals(pool: Pool) -> list[Floor]:
    """The floors that are not held, of those that are looked at first; and of those that may be."""
    people = _of_people(pool)
    all_of = [*people, *_of_words(pool), *_of_sides(pool)]
    by_cohort = [replace(each, is_told=True) for each in all_of]
    maybe: list[Floor] = []
    for stage in (people, _of_values(pool), _of_columns(pool), all_of, _of_others(pool, all_of), by_cohort):
        both = list(stage)
        found = [each for each in both if isinstance(each, Floor)]
        found += _not_held(pool, [each for each in both if isinstance(each, Held)])
        maybe += found
        if any(floor.is_sure for floor in found):
            break
    return maybe


def _not_held(pool: Pool, floors: Sequence[Held]) -> list[Floor]:
    """Return the floors that a refusal names if joining folds cannot hold all: those unattainable alone, or
    all.
    """
    for is_sure in (True, False):
        some = [each for each in floors if each.floor.is_sure or not is_sure]
        if not any(_ways(pool, some)):
            alone = [each for each in some if not any(_ways(pool, [each]))]
            return [replace(each.floor, is_sure=is_sure and bool(alone)) for each in alone or some]
    return []


@dataclass(frozen=True, eq=False)
class Held:
    """A floor with the people of each of the plan's folds that it is about."""

    floor: Floor
    people: np.ndarray
    """int64 (cohorts, folds)"""
    only_none: bool = False
    may_be_none: bool = True
    is_told: bool = False
    """It has to hold without any one cohort, too."""


def _ways(pool: Pool, floors: Sequence[Held]) -> Iterator[int]:
    """Yield the number of folds left by each way to join folds that holds these floors and leaves enough."""
    for part_of in ways_to_join(pool):
        left = len(set(part_of))
        if left >= (1 if pool.plan.test == LINEAR else 2) and all(_holds(each, part_of) for each in floors):
            yield left


def ways_to_join(pool: Pool) -> list[tuple[int, ...]]:
    """Return all ways to join the plan's folds."""
    ways: list[tuple[int, ...]] = [()]
    for _ in range(VALIDATION_FOLDS.of(pool.plan)):  # each joins one of those before it, or none
        ways = [(*way, part) for way in ways for part in range(len(set(way)) + 1)]
    return ways


def _holds(held: Held, part_of: Sequence[int]) -> bool:
    of_cohorts = held.people @ np.equal.outer(part_of, [*set(part_of)])
    people, cohorts = of_cohorts.sum(axis=0), len(of_cohorts)
    is_one = len(people) == 1
    fewest = FEWEST if is_one else -(-FEWEST * cohorts // (cohorts - 1))
    others = people - of_cohorts
    few = (others > 0) & (others < FEWEST) & held.is_told & (not is_one)
    enough = (people >= fewest) & (not held.only_none)
    return bool(((enough | ((people == 0) & held.may_be_none)) & ~few.any(axis=0)).all())


def well_joined(pool: Pool) -> bool:
    """Tell whether the folds are as many as hold all floors. Floors that are not sure may be held, or not."""
    floors = [*_of_people(pool), *_of_words(pool), *_of_sides(pool)]
    held = [replace(each, is_told=True) for each in floors]
    if pool.plan.test == LINEAR and not pool.part_of.any() and [*_of_others(pool, floors)]:
        return True
    sure, all_of = ([each for each in held if each.floor.is_sure or keep] for keep in (False, True))
    least, most = (max(_ways(pool, some), default=0) for some in (all_of, sure))
    return all(_holds(each, pool.part_of) for each in sure) and least <= len(set(pool.part_of)) <= most


def _of_people(pool: Pool) -> list[Held]:
    everybody = np.ones(len(pool.cohort), bool)
    floors = [(Floor("however folds are joined"), everybody)]
    floors += [(Floor(name), pool.cells[OUTCOME] == name) for name in pool.classes]
    return [Held(floor, pool.of_cohorts(rows), may_be_none=False) for floor, rows in floors]


def _of_values(pool: Pool) -> Iterator[Floor]:
    few = []
    for column in pool.numbers:
        known = ~np.isnan(pool.cells[column.title])
        holders = sum((known & (pool.cohort == k)).sum() >= FEWEST for k in range(pool.plan.cohorts))
        if known.any() and holders < FEWEST_COHORTS:
            few.append(column.title)
    if few:
        yield Floor(f"values of {', '.join(few)} each")


def _of_words(pool: Pool) -> Iterator[Held]:
    for column in pool.categories:
        lacks = np.array([word is None for word in pool.words(column)])
        if column.encoding == "one-hot":
            yield Held(Floor(column.title), pool.rows_of_cohorts(lacks), PATIENT in pool.cells)


def _of_columns(pool: Pool) -> Iterator[Floor]:
    least, most = _columns(pool)
    people = pool.people(np.ones(len(pool.cohort), bool)).sum()
    if people < FEWEST * most:
        yield Floor("people are too few for", bool(people < FEWEST * least))


def _of_others(pool: Pool, floors: Sequence[Held]) -> Iterator[Floor]:
    """Too few people without one cohort: asked only if there are several folds."""
    least, most = _columns(pool)
    people = pool.of_cohorts(np.ones(len(pool.cohort), bool)).sum(axis=1)
    others = people.sum() - people.max()
    if others < FEWEST_OTHERS * most and max(_ways(pool, floors), default=0) > 1:
        is_sure = bool(others < FEWEST_OTHERS * least) and pool.plan.test != LINEAR
        yield Floor("without one of the cohorts", is_sure)


def _columns(pool: Pool) -> tuple[int, int]:
    """Count the columns that the design has at least, and at most."""
    least = most = len(pool.features)
    for column in pool.categories:
        levels = sifted(pool, column)
        most += len(levels) + 1 if column.encoding == "one-hot" else 1
        least += (
            1 if column.encoding != "one-hot" or has_small_rest(pool, column, levels) else len(levels) + 1
        )
    return least, most


def _of_sides(pool: Pool) -> Iterator[Held]:
    for column in pool.numbers:
        if np.isnan(pool.cells[column.title]).all():
            continue
        x = pool.weighed[column.title]
        mean = float(np.nanmean(x))
        slack = 4 * np.spacing(abs(mean))
        found = [
            (pool.of_cohorts(x > at), pool.of_cohorts(x < at)) for at in (mean, mean - slack, mean + slack)
        ]
        is_sure = all(np.array_equal(found[0], other) for other in found) and column.scaling != YEO_JOHNSON
        for people in (side for sides in found for side in sides):
            yield Held(Floor(column.title, is_sure), people)


def design(pool: Pool, kept: Sequence[Sequence[str]]) -> tuple[np.ndarray, list[int]]:
    """The features as columns, NaN for what is missing, float64 (n, m); and the references of one-hot ones.

    `kept` are the levels of each category that are.
    """
    columns, references = list(pool.features), []
    for column, levels in zip(pool.categories, kept, strict=True):
        words = pool.words(column)
        places = np.array([np.nan if w is None else list(levels).index(w) if w in levels else len(levels)
                           for w in words], float)  # fmt: skip
        if column.encoding == "one-hot":
            references.append(len(columns))
            columns += [(places == k).astype(float) for k in range(len(levels) + 1)]
        elif column.encoding == "ordinal":
            columns.append(places)
        else:
            shares = np.array([np.sum(places == k) for k in range(len(levels) + 1)]) / max(
                1, np.sum(~np.isnan(places))
            )
            columns.append(np.where(np.isnan(places), np.nan, shares[np.nan_to_num(places).astype(int)]))
    return np.column_stack(columns), references


def power_of(x: np.ndarray) -> float:
    """Return the lambda of most likelihood of float64 (n,) without missing values; 1 of a constant."""
    if x.min() == x.max() or np.abs(x).max() > LARGEST:
        return 1.0
    low = high = 1.0
    for width in 2.0 ** np.arange(16):
        low, high = 1 - width, 1 + width
        if grows(x, low) and not grows(x, high):
            break
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if grows(x, middle) else (low, middle)
    return (low + high) / 2


def grows(x: np.ndarray, power: float) -> bool:
    """Tell whether the likelihood grows with lambda."""
    with np.errstate(all="ignore"):
        return bent(x, power, float(np.median(x))).growth > 0


def standardised(x: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Standardise columns: the mean stands for what is missing, a constant becomes 0: float64 (n, m).

    The first columns may have units, which are divided by in place of their deviations.
    """
    wide = x.astype(np.longdouble)
    known = ~np.isnan(wide)
    mean = (np.where(known, wide, 0).sum(axis=0) / np.maximum(1, known.sum(axis=0))).astype(float)
    apart = np.where(known, wide - mean, 0)  # about a number of the files' precision, as a cell is filled
    apart -= apart.mean(axis=0)
    deviation = np.sqrt((apart**2).mean(axis=0))
    deviation[: len(units)] = np.where(np.isnan(units), deviation[: len(units)], units)
    varies = np.where(known, wide, -np.inf).max(axis=0) > np.where(known, wide, np.inf).min(axis=0)
    return np.asarray(np.where(varies, apart / np.where(varies, deviation, 1), 0), float)
