"""Sums of dosages: kernels against slow and clear twins, and a study of whole copies against one of calls."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.studies import STUDIES
from unpooled.cohort import COPY, NO_DOSAGE
from unpooled.kernels.dosages import from_copies, over_missing, products
from unpooled.plan import Plan, PlanError


def drawn(random: np.random.Generator, variants: int, people: int) -> np.ndarray:
    """Dosages, some of which are whole copies and some missing."""
    values = random.integers(0, 2 * COPY + 1, (variants, people))
    values = np.where(random.random(values.shape) < 0.3, values // COPY * COPY, values)
    return np.where(random.random(values.shape) < 0.1, NO_DOSAGE, values).astype(np.uint16)


def copies_of(values: np.ndarray, second: np.ndarray) -> np.ndarray:
    copies = np.where(second[:, None], 2 - values / COPY, values / COPY)
    return np.where(values == NO_DOSAGE, 0, copies)


@pytest.mark.parametrize("people", [1, 7, 511, 512, 513, 2000])
@pytest.mark.parametrize("columns", [0, 1, 8, 9])
def test_sums_are_those_of_the_slow_twin(people: int, columns: int) -> None:
    random = np.random.default_rng(people + columns)
    for variants in (0, 1, 4, 7):
        values, second = drawn(random, variants, people), random.random(variants) < 0.5
        z = random.normal(size=(people, columns))
        want = copies_of(values, second) @ z
        np.testing.assert_allclose(products(values, second, z), want, rtol=1e-12, atol=1e-11)
        squares = products(values, second, z, squared=True)
        np.testing.assert_allclose(squares, copies_of(values, second) ** 2 @ z, rtol=1e-12, atol=1e-11)
        missing = (values == NO_DOSAGE) @ z
        np.testing.assert_allclose(over_missing(values, z), missing, rtol=1e-12, atol=1e-11)


def test_copies_in_single_precision_are_dosages_exactly() -> None:
    every = np.append(np.arange(2 * COPY + 1), NO_DOSAGE).astype(np.uint16)
    copies = np.where(every == NO_DOSAGE, -9, every / COPY).astype(np.float32)
    assert (from_copies(np.stack([copies, copies[::-1]])) == np.stack([every, every[::-1]])).all()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"files": ["glm", "assoc", "frq"]}, "assoc, frq"),
        ({"genotype_model": "dominant"}, "additive"),
        ({"condition": ["rs1"]}, "--condition"),
    ],
)
def test_a_plan_says_what_does_not_go_with_dosages(changes: dict[str, object], says: str) -> None:
    plan = STUDIES["linear, of dosages"]().plan.to_json() | changes
    with pytest.raises(PlanError) as refused:
        Plan.from_json(plan)
    assert says in refused.value.problems["dosages"]
