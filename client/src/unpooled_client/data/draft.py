"""A schema for tables that nobody has described yet, drafted from what is in their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unpooled.errors import listed
from unpooled.plan.categories import normal
from unpooled.plan.encodings import ONE_HOT
from unpooled.plan.schema import CATEGORY, NUMBER, OUTCOME, PATIENT, TEXT, Column, levels_problem
from unpooled_client.data.column_examples import type_of
from unpooled_client.data.findings.report import Report, shown
from unpooled_client.data.samples.numbers import number
from unpooled_client.data.tables import cells_of

_BOOLEANS, _ZERO_ONE = {"false", "true"}, {"0", "1"}
_NAMES_PATIENT = re.compile(
    r"id|(patient|subject|person|participant|case|mrn|pid)([ _.-]?(id|no|nr|number|code))?", re.IGNORECASE
)
_NAMES_OUTCOME = re.compile(
    r"outcome|target|label|class|died|dead|death|deceased|mortality|event|y", re.IGNORECASE
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\b.*")


@dataclass
class _Found:
    """A column in all tables that have it."""

    title: str
    types: dict[str, str] = field(default_factory=dict)
    """Type of the column by table; empty where no cell has a value."""
    words: dict[str, set[str]] = field(default_factory=dict)
    names_rows: bool = True
    """Tell whether no two rows of a table have the same word, and these are no dates."""

    def add(self, table: str, counts: Mapping[bytes, int], missing: int) -> None:
        self.words[table] = words = {normal(cell.decode()) for cell in counts}
        self.types[table] = _type(counts, words)
        self.names_rows &= not missing and len(words) == sum(counts.values()) > 1
        # Dates of visits often differ in every row, and name nobody.
        self.names_rows &= not all(map(_DATE.fullmatch, words))

    @property
    def values(self) -> set[str]:
        return set().union(*self.words.values())

    @property
    def type(self) -> str:
        """The one that takes the cells of every table."""
        types = {kind for kind in self.types.values() if kind} or {NUMBER}
        return types.pop() if len(types) == 1 else TEXT if TEXT in types else CATEGORY

    def column(self) -> Column:
        levels = tuple(sorted(self.values))
        if self.type != CATEGORY:
            return Column(self.title, self.type)
        if levels_problem(levels) or any("|" in level for level in levels):
            return Column(self.title, TEXT)
        return Column(self.title, CATEGORY, encoding=ONE_HOT, levels=levels)

    def as_outcome(self) -> Column:
        """The same as what is predicted: two values are classes."""
        found = self.column()
        if found.type == CATEGORY or self.values in (_BOOLEANS, _ZERO_ONE):
            found = Column(self.title, CATEGORY, levels=tuple(sorted(self.values)))
        return replace(found, encoding="", role=OUTCOME)


def _type(counts: Mapping[bytes, int], words: set[str]) -> str:
    if not words or words <= _BOOLEANS:
        return NUMBER if words else ""
    values = {cell: number(cell) for cell in counts}
    texts = [cell for cell, value in values.items() if np.isnan(value)]
    kind = type_of(values, texts)
    return kind if kind in (NUMBER, CATEGORY) else TEXT if texts else NUMBER


PROPOSED = ""
"""Stands for the column that looks like it."""


def draft(
    tables: Sequence[Path], report: Report, outcome: str | None = PROPOSED, patient: str | None = PROPOSED
) -> tuple[list[Column], list[str]] | None:
    """The columns of some tables, and what a person should know of them; None if one cannot be read.

    `outcome` and `patient` name the columns with these roles; None if no column has it. A name that no column
    has is a ValueError.
    """
    found: dict[str, _Found] = {}
    for path in tables:
        cells = cells_of(path, report)
        if cells is None:
            return None
        for title, counts, missing in cells:
            found.setdefault(title, _Found(title)).add(path.name, counts, missing)
    for name in filter(None, (outcome, patient)):
        if name not in found:
            raise ValueError(f"no column is called {name}; there are {listed(sorted(found))}")
    columns = {title: each.column() for title, each in found.items()}
    remarks = [remark for each in found.values() for remark in _disagreements(each, [p.name for p in tables])]
    if patient := _patient(found) if patient == PROPOSED else patient:
        columns[patient] = Column(patient, TEXT, role=PATIENT)
    if outcome == PROPOSED:
        outcome = _outcome([columns[title] for title, each in found.items() if each.values])
        remarks += [f"{shown(outcome)}: proposed as the outcome"] if outcome else []
    if outcome:
        columns[outcome] = found[outcome].as_outcome()
    if left_out := [f"{shown(c.title)} ({c.left_out})" for c in columns.values() if c.left_out]:
        remarks.append(f"no features: {', '.join(left_out)}")
    return list(columns.values()), remarks


def _disagreements(found: _Found, tables: Sequence[str]) -> Iterator[str]:
    """Say which tables lack the column, or have other words or numbers in it."""
    if lacking := [table for table in tables if table not in found.types]:
        yield f"{shown(found.title)}: not in {', '.join(lacking)}"
    types = {
        kind: [t for t in found.types if found.types[t] == kind] for kind in found.types.values() if kind
    }
    if len(types) > 1:
        said = "; ".join(f"{kind} in {', '.join(those)}" for kind, those in types.items())
        yield f"{shown(found.title)}: {said}; taken for {found.type}"
    if found.type == CATEGORY:
        for word in sorted(found.values):
            having = [table for table, words in found.words.items() if word in words]
            if len(having) < len(found.words):
                yield f"{shown(found.title)}: {shown(word)} only in {', '.join(having)}"


def _patient(found: Mapping[str, _Found]) -> str | None:
    """The column that says whose row it is: by its name, or the first with another word in each row."""
    named = (title for title in found if _NAMES_PATIENT.fullmatch(title))
    naming = (title for title, each in found.items() if each.type == TEXT and each.names_rows)
    return next(named, next(naming, None))


def _outcome(columns: Sequence[Column]) -> str | None:
    """The column that a model predicts: by its name, or the last that can be one."""
    can_be = [column.title for column in columns if column.is_number or column.is_category]
    return next(filter(_NAMES_OUTCOME.fullmatch, can_be), can_be[-1] if len(can_be) > 1 else None)
