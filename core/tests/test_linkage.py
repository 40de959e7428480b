"""r² between haplotypes, and the linkage by which a region is coloured."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from unpooled.algorithms.ld.haplotypes import r_squared
from unpooled.pictures import linkage
from unpooled.pictures.associations import Associations
from unpooled.plan import Plan


@pytest.mark.parametrize("seed", range(40))
def test_r_squared_is_that_of_the_most_likely_haplotypes(seed: int) -> None:
    """Against a search of the likelihood, in and out of equilibrium, of few and of many people."""
    random = np.random.default_rng(seed)
    n = int(random.choice([20, 300]))
    first = random.binomial(2, random.uniform(0.05, 0.9), n)
    second = np.where(random.random(n) < random.uniform(0, 1), first, random.binomial(2, 0.4, n))
    if seed % 4 == 0:
        second = 2 - second
    if len({*first}) == 1 or len({*second}) == 1:
        second[:2], first[:2] = (0, 1), (1, 0)
    both = float(np.sum((first == 1) & (second == 1)))
    sums = (np.array([float(value)]) for value in (first.sum(), second.sum(), first @ second, both))
    found = r_squared(float(n), *sums)
    assert found[0] == pytest.approx(_searched(first, second), abs=1e-7)


def _searched(first: np.ndarray, second: np.ndarray) -> float:
    """The r² of the best of many starts."""
    n = len(first)
    sure = ~((first == 1) & (second == 1))
    known = {(a, b): 0.0 for a in (0, 1) for b in (0, 1)}
    for g, h in zip(first[sure].tolist(), second[sure].tolist(), strict=True):
        for a, b in zip(*(((0, 0), (0, 1), (1, 1))[each] for each in (g, h)), strict=True):
            known[a, b] += 1 / (2 * n)
    share = float(np.sum(~sure)) / (2 * n)

    def cost(x: float) -> float:
        f = {
            (1, 1): known[1, 1] + x,
            (0, 0): known[0, 0] + x,
            (1, 0): known[1, 0] + share - x,
            (0, 1): known[0, 1] + share - x,
        }
        terms = [w * np.log(max(f[k], 1e-300)) for k, w in known.items() if w > 1e-12]
        either = f[1, 1] * f[0, 0] + f[1, 0] * f[0, 1]
        return -sum(terms) - share * np.log(max(either, 1e-300))

    edges = np.linspace(0, share, 60)
    tried = [0.0, share]
    if share:
        tried += [
            minimize_scalar(cost, bounds=(a, b), method="bounded", options={"xatol": 1e-14}).x
            for a, b in itertools.pairwise(edges)
        ]
    best = min(tried, key=cost)
    p, q = first.mean() / 2, second.mean() / 2
    return float((known[1, 1] + best - p * q) ** 2 / (p * (1 - p) * q * (1 - q)))


def test_a_region_is_coloured_by_its_strongest_lead() -> None:
    columns = {
        "id": np.array([b"a", b"b", b"c", b"d"]),
        "position": np.arange(4),
        "neg_log10_p": np.array([6.0, 1.0, 9.0, 2.0]),
    }
    plan = Plan(test="chi-square", phenotype="y", cohorts=3, compensator_key=bytes(32))
    found = {
        "variant": np.array([10, 10, 12, 12, 12], np.uint32),
        "other": np.array([10, 11, 12, 11, 99], np.uint32),
        "r2": np.array([1.0, 0.3, 1.0, np.nan, 0.9]),
    }
    known = linkage.pairs(found, np.array([10, 11, 12, 13], np.uint32))
    assert known["other"].tolist() == [0, 1, 2, 1]  # what was not tested has no row
    of = Associations(columns, plan)
    points = np.arange(4)
    assert linkage.around(of, known, slice(0, 4), points) == {"lead": "c", "r2": [None, None, 1.0, None]}
    assert linkage.around(of, known, slice(0, 2), points[:2]) == {"lead": "a", "r2": [1.0, 0.3]}
    assert linkage.around(of, known, slice(3, 4), points[3:]) is None
