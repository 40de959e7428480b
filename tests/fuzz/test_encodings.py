"""What disagrees with the pool of words is noticed, and cut down."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .encodings import judge, truth
from .encodings.federation import draw
from .kinds import ENCODINGS


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
    """By hardly more than it may be."""
    plan = next(found.plan for found in map(draw, range(99)) if found.plan.folds == 0)
    y = np.random.default_rng(1).normal(1, 1, 100)
    rows = rows_of(["a"] * 40 + ["b"] * 30 + ["else"] * 30, y)
    want = truth.Dictionary(("a", "b"), ("a", "b"), (40, 30), 30, frozenset())
    groups = np.split(y, [40, 70])
    mean, numbers = truth.smoothed(plan.smooth, [[Fraction(y) for y in group] for group in groups])
    said = {
        "encoding": "target:y",
        **{"values": ["a", "b"], "counts": [40, 30], "rest": 30, "folded": [], "known": 100},
        **{"mean": float(mean), "encoded": [float(x) for x in numbers[:-1]]},
        **{"rest_encoded": float(numbers[-1]), "folds": []},
    }
    assert list(judge.dictionary(said, want, rows, plan)) == []
    (found,) = judge.dictionary(change(said), want, rows, plan)
    assert found[0] == name


def test_what_disagrees_is_cut_down_and_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule of missing words that is not the study's."""
    monkeypatch.setattr(truth, "MISSING_IN_CSV", ())
    seed = next(seed for seed in range(1, 99) if ENCODINGS.judged(draw(seed)).disagreements)
    assert ENCODINGS.main(1, np.inf, seed, tmp_path) == 1
    (folder,) = tmp_path.iterdir()
    case = json.loads((folder / "case.json").read_text())
    assert case["seed"] == seed and "--encode" in case["run"]
    assert len(list(folder.glob("cohort *"))) == len(case["words"]) and (folder / "schema.csv").exists()
    whole = draw(seed)
    assert sum(len(next(iter(c.values()))) for c in case["words"]) < sum(map(len, whole.cohorts))
