"""The least of a federation that still disagrees in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Protocol, Self, TypeVar

import numpy as np

from unpooled.methods.tables.census import FEWEST_COHORTS


class Shrinkable(Protocol):
    """A federation that can do with less."""

    @property
    def cohorts(self) -> Sequence[Sized]: ...
    @property
    def columns(self) -> int: ...
    @property
    def size(self) -> int: ...
    def with_columns(self, kept: list[int]) -> Self: ...
    def with_rows(self, kept: list[np.ndarray]) -> Self: ...


F = TypeVar("F", bound=Shrinkable)


def minimal(federation: F, disagrees: Callable[[F], bool], seconds: float) -> F:
    """A federation with fewer columns, cohorts and rows, as far as can be found in so many seconds."""
    until = time.monotonic() + seconds
    for smaller in (_fewer_columns, _fewer_cohorts, _fewer_rows):
        federation = _cut_down(federation, smaller, disagrees, until)
    return federation


def _cut_down(
    federation: F, smaller: Callable[[F], Iterator[F]], disagrees: Callable[[F], bool], until: float
) -> F:
    """Take the first smaller one that still disagrees, and again, until there is none or time is up."""
    while True:
        for candidate in smaller(federation):
            if time.monotonic() > until:
                return federation
            if candidate.size < federation.size and disagrees(candidate):
                federation = candidate
                break
        else:
            return federation


def _fewer_columns(federation: F) -> Iterator[F]:
    if federation.columns > 1:
        yield from (federation.with_columns([k]) for k in range(federation.columns))


def _fewer_cohorts(federation: F) -> Iterator[F]:
    every = [np.arange(len(cohort)) for cohort in federation.cohorts]
    for k in range(len(every) if len(every) > FEWEST_COHORTS else 0):
        yield federation.with_rows([rows[:0] if k == other else rows for other, rows in enumerate(every)])


def _fewer_rows(federation: F) -> Iterator[F]:
    """Leave out a half, a quarter, an eighth of each cohort's rows, or of one's."""
    every = [np.arange(len(cohort)) for cohort in federation.cohorts]
    for parts in (2, 4, 8):
        for part in range(parts):
            yield federation.with_rows([_without(rows, part, parts) for rows in every])
    for k, own in enumerate(every):
        for parts in (2, 4, 8):
            for part in range(parts):
                left = _without(own, part, parts)
                yield federation.with_rows([left if k == j else rows for j, rows in enumerate(every)])


def _without(rows: np.ndarray, part: int, parts: int) -> np.ndarray:
    """Leave out one of so many equal parts; at least ten rows stay, for the floor."""
    if len(rows) <= 10:
        return rows
    cut = np.array_split(rows, parts)
    left = np.concatenate(cut[:part] + cut[part + 1 :])
    return left if len(left) >= 10 else rows[:10]
