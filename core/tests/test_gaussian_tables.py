"""Tables under Gaussian masks: which digits are told, and what is refused because masks would hide it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from normalizing import NOBODY, column, evenly, fit, plan_of

from unpooled import run
from unpooled.cohort import ArrayTable
from unpooled.errors import Refuse
from unpooled.plan import PlanError
from unpooled.scaler import BLURRED, CONSTANT

N = 600


def exact_moments(x: np.ndarray) -> tuple[Fraction, Fraction]:
    """Mean and deviation; the root to 100 bits more than float64 has."""
    values = [Fraction(value) for value in x.tolist()]
    mean = sum(values, Fraction(0)) / len(values)
    variance = sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values)
    shift = 2 * max(0, 160 + variance.denominator.bit_length() - variance.numerator.bit_length())
    return mean, Fraction(math.isqrt((variance.numerator << shift) // variance.denominator), 1 << shift // 2)


NORMAL = np.random.default_rng(6).normal(size=N)
HIDDEN = {
    "a million off": 1e6 + NORMAL,
    "seconds since 1970": 1.7e9 + 300 * NORMAL,
    "1e15 off": 1e15 + 3000 * NORMAL,
    "1e15 off, close": 1e15 + 30 * NORMAL,
    "steps of an ulp": 4e14 + 0.0625 * np.random.default_rng(6).poisson(3, N),
    "constant": np.full(N, 0.35),
}


@pytest.mark.parametrize("method", ["z-score", "summary"])
@pytest.mark.parametrize("name", HIDDEN)
def test_gaussian_masks_refuse_what_they_hide(method: str, name: str) -> None:
    plain, hard = NORMAL, HIDDEN[name]
    parts = [ArrayTable(part) for part in evenly(np.column_stack([plain, hard]), 3)]
    with pytest.raises(Refuse, match=r"the values of feature 1 are so close .* modular masks"):
        run.run(plan_of(method, 2, masking="gaussian"), NOBODY, parts)


@pytest.mark.parametrize("variance", [1e2, 1e12, 1e20])
@pytest.mark.parametrize("cohorts", [3, 12])
def test_gaussian_masks_leave_the_digits_that_are_told(variance: float, cohorts: int) -> None:
    random = np.random.default_rng(2)
    pooled = np.column_stack(
        [
            50 + 10 * random.normal(size=N),
            1e-7 * random.normal(size=N),
            3e4 + 3e4 * random.random(N),
            random.lognormal(size=N) * 1e200,
            np.zeros(N),
        ]
    )
    for _ in range(5):
        found = fit("z-score", evenly(pooled, cohorts), masking="gaussian", variance=variance)
        for x, row in zip(pooled.T[:4], found["features"], strict=False):
            assert row["note"] == BLURRED
            mean, deviation = exact_moments(x)
            for told, true in ((row["mean"], mean), (row["deviation"], deviation)):
                last = Decimal(repr(told)).as_tuple().exponent
                assert abs(Fraction(told) - true) <= 15 * Fraction(10) ** int(last) or abs(
                    Fraction(told) - true
                ) <= 2 * Fraction(math.ulp(told))
        assert found["features"][4]["note"] == f"{CONSTANT}; {BLURRED}"


def test_masks_that_would_change_counts_make_no_plan() -> None:
    for cohorts, variance in ((3, 1e29), (300, 1e25)):
        with pytest.raises(PlanError, match="variance: too much"):
            plan_of("min-max", 1, cohorts, masking="gaussian", variance=variance)
        assert plan_of("min-max", 1, cohorts, variance=variance)  # of modular masks it means nothing
    pooled = np.random.default_rng(3).normal(size=(N, 1))
    found = fit("min-max", evenly(pooled, 3), masking="gaussian", variance=1e27)
    assert column(found, "min") == pooled.min() and column(found, "max") == pooled.max()
