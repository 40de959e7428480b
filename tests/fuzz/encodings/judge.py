"""Checks of a column's dictionary, and of the numbers for its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from unpooled.methods.tables.encoding.options import FOLDS, MISSING_WORDS, SMOOTH
from unpooled.plan.encodings import FREQUENCY, TARGET, read
from unpooled.plan.plan import Plan

from . import truth
from .truth import Dictionary, Rows

SHARE = 1e-12
"""Targets are right to this share of the largest."""
ULPS = 4
"""Tolerance of the targets' mean, in units in the last place."""

Found = dict[str, Any]


def dictionary(said: Found, want: Dictionary, rows: Rows, plan: Plan) -> Iterator[tuple[str, str]]:
    """Find the errors in a column of the result file."""
    wanted = {
        "values": list(want.values),
        "counts": list(want.counts),
        "rest": want.rest,
        "folded": want.folded,
        "known": want.known,
    }
    found = {name: said[name] for name in wanted} | {"folded": frozenset(said["folded"])}
    for name, other in wanted.items():
        if found[name] != other:
            yield name, f"{found[name]}; want {other}"
            return
    kind = read(said["encoding"]).kind
    if kind == FREQUENCY:
        shares = [count / max(1, want.known) for count in (*want.counts, want.rest)]
        if [*said["encoded"], said["rest_encoded"]] != shares:
            yield "frequencies", f"{said['encoded']}, {said['rest_encoded']}; want {shares}"
    if kind == TARGET:
        yield from _targets(said, want, rows, plan)


def _targets(said: Found, want: Dictionary, rows: Rows, plan: Plan) -> Iterator[tuple[str, str]]:
    """Find the errors in the numbers for a column's values, and in those by the other folds."""
    keys = truth.keys(rows, MISSING_WORDS.of(plan))
    every = [
        (place, Fraction(y), fold)
        for key, y, fold in zip(keys, rows.targets, rows.folds, strict=True)
        if (place := want.place(key)) is not None and not np.isnan(y)
    ]
    if not every:
        if said["mean"] is not None or said["encoded"]:
            yield "targets", f"{said['encoded']}; want none"
        return
    mean = sum((y for _, y, _ in every), Fraction()) / len(every)
    slack = Fraction(SHARE) * max(abs(y - mean) for _, y, _ in every)  # of each fold, too
    yield from _near("target", said, SMOOTH.of(plan), _by_place(every, want), slack, want)
    if len(said["folds"]) != FOLDS.of(plan):
        yield "folds", f"{len(said['folds'])}; want {FOLDS.of(plan)}"
    for fold, others in enumerate(said["folds"]):
        # Of the rest alone no sums are asked: then each fold has the mean of all.
        left = [one for one in every if one[2] != fold] if want.keys else every
        yield from _near(f"fold {fold}", others, SMOOTH.of(plan), _by_place(left, want), slack, want)


def _by_place(rows: Sequence[tuple[int, Fraction, int]], want: Dictionary) -> list[list[Fraction]]:
    """The targets of each value, and last of the rest."""
    found: list[list[Fraction]] = [[] for _ in (*want.keys, truth.REST)]
    for place, y, _ in rows:
        found[place].append(y)
    return found


def _near(
    what: str, said: Found, smooth: str, targets: list[list[Fraction]], slack: Fraction, want: Dictionary
) -> Iterator[tuple[str, str]]:
    """The first number that is not what rational ones give."""
    mean, numbers = truth.smoothed(smooth, targets)
    slack += ULPS * Fraction(float(np.spacing(abs(float(mean)))))
    ours = [said["mean"], *said["encoded"], said["rest_encoded"]]
    for name, one, other in zip(("mean", *want.values, truth.REST), ours, [mean, *numbers], strict=True):
        if one is None or abs(Fraction(one) - other) > slack:
            yield what, f"{one!r} for {name}; want {float(other)!r}"
            return
