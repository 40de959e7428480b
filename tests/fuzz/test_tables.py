"""Results that disagree with the pool of odd tables are noticed, and cut down."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpooled.fitted.scaler import ROBUST, YEO_JOHNSON, Z_SCORE

from .kinds import TABLES
from .tables import judge, truth
from .tables.federation import Federation, draw


def of_method(method: str) -> Federation:
    return next(found for found in map(draw, range(1000)) if found.plan.test == method)


@pytest.mark.parametrize(
    ("method", "name", "factor"),
    [
        (Z_SCORE, "mean", 1 + 8e-16),
        (Z_SCORE, "deviation", 1 - 8e-16),
        (ROBUST, "median", 1 + 2.3e-16),
        (YEO_JOHNSON, "lambda", 1 + 4e-6),
        (YEO_JOHNSON, "deviation", 1 + 1e-8),
    ],
)
def test_a_parameter_that_is_off_is_noticed(method: str, name: str, factor: float) -> None:
    """The parameter is off by hardly more than it may be."""
    x = np.random.default_rng(1).lognormal(1, 0.5, 500)
    exact, plan = truth.moments(x), replace(of_method(method).plan, masking="modular")
    right = {"n": 500, "mean": float(exact.mean), "deviation": float(exact.deviation)}
    right |= dict(
        zip(("lower_quartile", "median", "upper_quartile"), np.quantile(x, [0.25, 0.5, 0.75]), strict=True)
    )
    if method == YEO_JOHNSON:
        right["lambda"] = _root(x)
        plain = truth.bent(x, right["lambda"], 0.0).g
        right |= {"mean": float(plain.mean()), "deviation": float(plain.std())}
    assert list(judge.parameters(plan, 0, right, x)) == []
    found, *_ = judge.parameters(plan, 0, right | {name: right[name] * factor}, x)
    assert found.what == name


def _root(x: np.ndarray) -> float:
    low, high = -4.0, 4.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if truth.bent(x, middle, 2.0).growth > 0 else (low, middle)
    return low


def test_what_disagrees_is_cut_down_and_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tolerance is set so narrow that nothing is right."""
    monkeypatch.setattr(judge, "ULPS", -1)
    seed = next(
        seed for seed in range(1000) if draw(seed).plan.test == Z_SCORE and len(draw(seed).cohorts) > 3
    )
    assert TABLES.main(1, np.inf, seed, tmp_path) == 1
    (folder,) = tmp_path.iterdir()
    case = json.loads((folder / "case.json").read_text())
    assert case["seed"] == seed and case["what"] == "mean"
    assert [len(rows) for rows in case["rows"]] == [10, 10, 10] and {len(row) for row in case["rows"][0]} == {
        1
    }
    assert len(list(folder.glob("cohort *"))) == 3 and (folder / "schema.csv").exists()
