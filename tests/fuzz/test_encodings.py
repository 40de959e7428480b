"""Encodings that disagree with the pool of words are noticed."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from unpooled.methods.tables.encoding.options import FOLDS, SMOOTH

from .encodings import judge, truth
from .encodings.federation import draw


def rows_of(words: Iterable[str], targets: np.ndarray) -> truth.Rows:
    each = list(words)
    return truth.Rows(each, np.arange(len(each)) % 3, np.zeros(len(each), int), targets)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("values", lambda said: {**said, "values": said["values"][::-1]}),
        ("counts", lambda said: {**said, "counts": [n + 1 for n in said["counts"]]}),
        ("rest", lambda said: {**said, "rest": said["rest"] - 1}),
        ("target", lambda said: {**said, "rest_encoded": said["rest_encoded"] * (1 + 1e-11)}),
        ("target", lambda said: {**said, "mean": said["mean"] + 1e-11}),
    ],
)
def test_a_number_that_is_off_is_noticed(name: str, change: Any) -> None:
    """The number is off by hardly more than it may be."""
    plan = next(found.plan for found in map(draw, range(99)) if FOLDS.of(found.plan) == 0)
    y = np.random.default_rng(1).normal(1, 1, 100)
    rows = rows_of(["a"] * 40 + ["b"] * 30 + ["else"] * 30, y)
    want = truth.Dictionary(("a", "b"), ("a", "b"), (40, 30), 30, frozenset())
    groups = np.split(y, [40, 70])
    mean, numbers = truth.smoothed(SMOOTH.of(plan), [[Fraction(y) for y in group] for group in groups])
    said = {
        "encoding": "target:y",
        **{"values": ["a", "b"], "counts": [40, 30], "rest": 30, "folded": [], "known": 100},
        **{"mean": float(mean), "encoded": [float(x) for x in numbers[:-1]]},
        **{"rest_encoded": float(numbers[-1]), "folds": []},
    }
    assert list(judge.dictionary(said, want, rows, plan)) == []
    (found,) = judge.dictionary(change(said), want, rows, plan)
    assert found[0] == name
