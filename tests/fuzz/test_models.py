"""Models that disagree with the pool's are noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .kinds import MODELS
from .models import fits, judge
from .models.federation import draw
from .models.truth import Floor, Pool


def of_method(method: str) -> Any:
    """A federation whose model is compared."""
    drawn = (found for found in map(draw, range(200)) if found.plan.test == method)
    return next(one for one in drawn if MODELS.judged(one).notes == (f"{method}: compared",))


@pytest.mark.parametrize(
    ("method", "what"),
    [("ridge", "coefficients"), ("lasso", "coefficients"), ("fedheonn", "coefficients"),
     ("logistic-model", "likelihood")],
)  # fmt: skip
def test_a_coefficient_that_is_off_is_noticed(
    method: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coefficient is off by hardly more than it may be."""
    written = judge._written

    def off(*given: Any) -> Any:
        said, lines = written(*given)
        for feature in said["features"]:
            feature["coefficients"] = [w * (1 + 3e-7) for w in feature["coefficients"]]
        return said, lines

    monkeypatch.setattr(judge, "_written", off)
    drawn = (federation for federation in map(draw, range(200)) if federation.plan.test == method)
    found = (each.what for federation in drawn for each in MODELS.judged(federation).disagreements)
    assert next(found) in (what, "predictions")


def test_a_floor_that_is_not_held_to_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = of_method("ridge")
    monkeypatch.setattr(judge.truth, "first_refusals", lambda _: [Floor("want more")])
    assert [found.what for found in MODELS.judged(federation).disagreements] == ["a floor"]


def test_classes_that_are_told_apart_are_found_by_linear_programming() -> None:
    pool = next(pool for pool in map(Pool.of, map(draw, range(99))) if len(pool.classes) == 2)
    z, y = np.linspace(-1, 1, 60)[:, None], np.repeat(np.array(pool.classes, object), 30)
    assert fits.are_separated(pool, z, y)
    assert not fits.are_separated(pool, z, np.roll(y, 5))
