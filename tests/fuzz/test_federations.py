"""Random federations of tables agree with the pool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from .federations import Fuzz
from .kinds import ENCODINGS, MODELS, TABLES
from .models.federation import METHODS
from .tables import truth

FLOORS_OF_MODELS = ("have the outcome", "values of", "may lack a word", "the mean of all")
DRAWN = [
    (TABLES, 100, ()),
    (ENCODINGS, 40, ()),
    (MODELS, 80, (*FLOORS_OF_MODELS, *(f"{method}: compared" for method in METHODS))),
]
"""Each kind, how many are drawn of it, and what has to be said of some of them."""
pytestmark = pytest.mark.skipif(truth.EPS > 1e-18, reason="no long double on this machine")


@pytest.mark.parametrize(("fuzz", "count", "said"), DRAWN, ids=[fuzz.name for fuzz, *_ in DRAWN])
def test_random_federations_agree_with_the_pool(
    fuzz: Fuzz, count: int, said: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz.main(count, np.inf, 1, tmp_path) == 0, capsys.readouterr().out
    notes = capsys.readouterr().err
    assert not list(tmp_path.iterdir()) and not [words for words in said if words not in notes]


@pytest.mark.parametrize("fuzz", [TABLES, ENCODINGS, MODELS], ids=lambda fuzz: fuzz.name)
def test_a_seed_is_always_the_same_federation(fuzz: Fuzz, tmp_path: Path) -> None:
    """A seed gives the same federation, also as it is written when it disagrees."""
    for seed in range(20):
        one, again = fuzz.draw(seed), fuzz.draw(seed)
        assert one.plan == again.plan and one.kinds == again.kinds
        one_said, again_said = (json.dumps(fuzz.keep(each, tmp_path)) for each in (one, again))
        assert one_said == again_said
