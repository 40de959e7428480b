"""A random federation of tables of words: all of it follows from one integer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unpooled.methods import usual
from unpooled.methods.tables.encoding.options import HOLDERS
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column

from ..tables import columns as numbers
from . import truth
from .words import MISSING, SPREADS, VOCABULARIES, Random, written

COHORTS = (3, 3, 3, 4, 5, 7, 10, 20)
DICTIONARIES = ("one-hot", "one-hot", "ordinal", "frequency", "target:y", "target:z", "target:z")
HASHED = ("hash:1", "hash:7", "hash:64", "ngrams:1", "ngrams:16", "ngrams:300")
TITLES = ("c{}", "drug {}", 'say "{}"', "c,{}", "Größe {}", "(rest){}")
TARGETS = (
    numbers.normal,
    numbers.heavy_tails,
    numbers.constant,
    numbers.nearly_constant,
    numbers.two_values,
    numbers.offset,
    numbers.tiny,
    numbers.counts,
    numbers.decimals,
)
NOTE = "note"
NOBODYS = "nobody has this"


@dataclass(frozen=True, eq=False)
class Cohort:
    """A cohort's table."""

    cells: Mapping[str, tuple[str | None, ...]]
    """Cells of each column of words as they stand in the file, by title."""
    values: np.ndarray
    """float64 (rows, features)"""
    suffix: str
    form: int
    """A number that the rest of the file's form follows from."""

    def __len__(self) -> int:
        return len(self.values)

    def with_rows(self, kept: np.ndarray) -> Cohort:
        cells = {title: tuple(column[row] for row in kept) for title, column in self.cells.items()}
        return replace(self, cells=cells, values=self.values[kept])


@dataclass(frozen=True, eq=False)
class Federation:
    """Federation of one study: its plan and the cohorts' tables."""

    seed: int
    plan: Plan
    cohorts: tuple[Cohort, ...]
    kinds: tuple[str, ...]
    """Kinds of the columns of words, for display."""

    @property
    def columns(self) -> int:
        return len(self.plan.categories)

    @property
    def size(self) -> int:
        return self.columns * sum(map(len, self.cohorts))

    def with_columns(self, kept: list[int]) -> Federation:
        """Return the federation with some of its columns of words, and all others."""
        categories = [self.plan.categories[k] for k in kept]
        others = [column for column in self.plan.schema if not column.is_category]
        return replace(
            self,
            plan=replace(self.plan, schema=(*categories, *others)),
            kinds=tuple(self.kinds[k] for k in kept),
        )

    def with_rows(self, kept: list[np.ndarray]) -> Federation:
        """Return the federation with some of each cohort's rows; a cohort without any is left out."""
        some = [cohort.with_rows(rows) for cohort, rows in zip(self.cohorts, kept, strict=True) if len(rows)]
        holders = min(HOLDERS.of(self.plan), len(some))
        return replace(self, plan=replace(self.plan, cohorts=len(some), holders=holders), cohorts=tuple(some))


def draw(seed: int) -> Federation:
    """The federation of a seed: the same each time."""
    random = np.random.default_rng([seed])
    cohorts = int(random.choice(COHORTS))
    sizes = [int(size) for size in random.integers(10, int(random.choice([50, 100, 200])), cohorts)]
    options = _options(random, cohorts)
    drawn = [_words(random, sizes, options["people"]) for _ in range(random.integers(1, 5))]
    kinds, words = zip(*drawn, strict=True)
    titles = [str(random.choice(TITLES)).format(k) for k in range(len(words))]
    values = _values(random, sizes)
    parts = [
        Cohort(
            {title: tuple(column[k]) for title, column in zip(titles, words, strict=True)},
            values[k],
            str(random.choice([".csv", ".parquet"])),
            int(random.integers(2**31)),
        )
        for k in range(cohorts)
    ]
    columns = [_column(random, title, parts, options) for title in titles]
    others = [Column("y", "integer"), Column("z"), *([Column(NOTE, "text")] if random.random() < 0.3 else [])]
    plan = _plan(cohorts, (*columns, *others), options)
    return Federation(seed, plan, tuple(parts), kinds)


def _options(random: Random, cohorts: int) -> dict[str, Any]:
    return {
        "people": int(random.choice([10, 10, 11, 20])),
        "holders": int(random.integers(2, min(cohorts, 4) + 1)),
        "missing_words": str(random.choice(["missing", "rest", "value"])),
        "ignore_case": bool(random.random() < 0.4),
        "smooth": str(random.choice(["auto", "auto", "0", "1", "7.5", "1e6"])),
        "folds": int(random.choice([0, 0, 2, 3, 5])),
        "spelled": str(random.choice(["everyone", "everyone", "everyone", "own"])),
    }


def _plan(cohorts: int, schema: tuple[Column, ...], options: dict[str, Any]) -> Plan:
    named: dict[str, Any] = {**usual("encode"), **options}
    return Plan("encode", cohorts=cohorts, compensator_key=NO_KEY, min_samples=1, schema=schema, **named)


def _words(random: Random, sizes: list[int], people: int) -> tuple[str, list[list[str | None]]]:
    """Draw a column of words: its kind, and its cells in each cohort."""
    vocabulary = VOCABULARIES[random.integers(len(VOCABULARIES))]
    spread = SPREADS[random.integers(len(SPREADS))]
    words = vocabulary(random)
    if random.random() < 0.8:  # then some of them can be frequent enough
        words = words[: max(2, sum(sizes) // (2 * people))]
    cells = spread(random, words, sum(sizes), people)
    if random.random() < 0.3:  # then most words are those of one cohort, or of two
        cells.sort()
    loosely, cases, lacking = (
        float(random.choice(shares)) for shares in ((0, 0.3), (0, 0, 0.2), (0, 0.1, 0.6))
    )
    held = [written(random, word, loosely, cases) for word in cells]
    lacks = random.random(len(held)) < lacking
    found = [
        MISSING[random.integers(len(MISSING))] if no else word for word, no in zip(held, lacks, strict=True)
    ]
    ends = np.cumsum(sizes).tolist()
    parts = [found[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    if random.random() < 0.15:
        emptied = range(len(parts)) if random.random() < 0.2 else [int(random.integers(len(parts)))]
        for k in emptied:
            parts[k] = [None] * sizes[k]
    return f"{vocabulary.__name__}, {spread.__name__}", parts


def _values(random: Random, sizes: list[int]) -> list[np.ndarray]:
    """Draw each cohort's columns y, of 0 and 1, and z: float64 (rows, 2)."""
    z = TARGETS[random.integers(len(TARGETS))](random, sum(sizes))
    found = np.column_stack([random.random(sum(sizes)) < random.uniform(0.02, 0.6), z]).astype(float)
    if random.random() < 0.4:
        found[random.random(found.shape) < random.choice([0.05, 0.5])] = np.nan
    if random.random() < 0.02:
        found[:, 1] = np.nan
    return np.split(found, np.cumsum(sizes)[:-1])


def _column(random: Random, title: str, parts: list[Cohort], options: dict[str, Any]) -> Column:
    """Draw a column's encoding: mostly a dictionary, of words that are listed or found by the study."""
    if random.random() < 0.15:
        return Column(title, "category", "", str(random.choice(HASHED)))
    encoding = str(random.choice(DICTIONARIES))
    forms = [
        {truth.form(cell, options["ignore_case"]) for cell in part.cells[title] if cell} - {""}
        for part in parts
    ]
    if random.random() < 0.5:
        most = max(max(map(len, forms)), 1) - int(random.random() < 0.02)
        return Column(title, "category", "", encoding, most=most + int(random.choice([0, 3])) or 1)
    listed = [word for word in sorted(set().union(*forms)) if word.isprintable() and truth.is_name(word)]
    random.shuffle(listed)
    if random.random() < 0.5:
        listed = listed[: max(1, 2 * len(listed) // 3)]
    if options["ignore_case"]:  # as a plan may have them in any case
        listed = [_louder(word) for word in listed]
    if random.random() < 0.5 or not listed:
        listed.insert(int(random.integers(len(listed) + 1)), NOBODYS)
    return Column(title, "category", "", encoding, tuple(listed))


def _louder(word: str) -> str:
    """A word in capitals, if that is the same to whom case is nothing, and may stand in a plan."""
    loud = word.upper()
    fits = truth.form(loud, True) == word and truth.form(loud, False) == loud and truth.is_name(loud)
    return loud if fits else word
