"""r² between haplotypes, which pairs are asked about, and the linkage by which a region is coloured."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from asking import Followed, followed
from scipy.optimize import minimize_scalar

from tests.contract.runs import run_of
from tests.contract.studies import Small
from tests.people import cohorts_of as dealt
from tests.people import people
from unpooled.asking.cohort import ArrayCohort
from unpooled.methods import usual, with_chunks
from unpooled.methods.ld.candidates import r_squared
from unpooled.methods.ld.leads import LINKAGE, SumWithLeads
from unpooled.methods.ld.questions import SumPairs
from unpooled.methods.regression.linear_questions import SumWithGenotypes
from unpooled.methods.shared.summary import VARIANTS
from unpooled.panel.panel import Panel
from unpooled.pictures import linkage, matrix_svg
from unpooled.pictures.associations import Associations
from unpooled.plan.plan import EXACT, MEAN, NO_KEY, Plan


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
    plan = Plan(test="chi-square", phenotype="y", cohorts=3, compensator_key=NO_KEY)
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


NEAR = 12
"""Variants of chromosome 1, all within reach of one another; as many of chromosome 2."""
FEW, ENOUGH, LEAD = 3, 7, 5
"""One that nine people carry beside those of a cohort, one that ten do; one that the phenotype follows."""
PANEL = Panel.of([(1 + k // NEAR, 1000 * (1 + k % NEAR), b"rs%d" % k, b"A", b"G") for k in range(2 * NEAR)])
PEOPLE, COHORTS = 120, 3


def plan_of(test: str, **changes: Any) -> Plan:
    limits = {"prune": {"indep_pairwise": "6 1 0.2"}, "linear": {"clump_p1": 0.05, "clump_kb": 250.0}}
    files = {"prune": ("prune.in", "prune.out"), "linear": ("assoc.linear", "clumped")}
    given = {"phenotype": "y", "cohorts": COHORTS, "compensator_key": NO_KEY}
    return with_chunks(Plan(test, **given | usual(test) | limits[test] | {"files": files[test]} | changes))


def cohorts_of(missing: float = 0.0) -> list[ArrayCohort]:
    """Neighbours that go together; the phenotype follows a common variant, and the one with few carriers."""
    random, n = np.random.default_rng(11), COHORTS * PEOPLE
    ancestral = random.binomial(2, 0.4, n)
    copies = np.where(random.random((2 * NEAR, n)) < 0.5, ancestral, random.binomial(2, 0.4, (2 * NEAR, n)))
    place, cohort = np.arange(n) % PEOPLE, np.arange(n) // PEOPLE
    copies[FEW] = place < np.array([40, 9, 0])[cohort]
    copies[ENOUGH] = place >= PEOPLE - np.array([40, 10, 0])[cohort]
    phenotype = copies[LEAD] + 3 * copies[FEW] + random.normal(size=n)
    copies[random.random(copies.shape) < missing] = -1
    return dealt(people(phenotype), copies, np.split(np.arange(n), COHORTS))


def named(asked: Followed, kind: type[SumPairs]) -> set[int]:
    """The variants in any pair that was asked about."""
    return {v for question in asked.questions if type(question) is kind for v in question.variants.tolist()}


def column(asked: Followed, table: str, name: str) -> list[Any]:
    return [value for rows in asked.rows if rows.table == table for value in rows.columns[name].tolist()]


def test_of_a_variant_with_fewer_than_ten_carriers_beside_a_cohort_no_pair_is_asked_about() -> None:
    """Such a variant is in neither file of pruning; among hits it leads a clump of its own, and is in no
    other.
    """
    pruning = followed(plan_of("prune"), PANEL, cohorts_of())
    assert named(pruning, SumPairs) == set(range(2 * NEAR)) - {FEW}
    assert {*column(pruning, VARIANTS, "variant"), *column(pruning, "removed", "variant")} == {
        *range(2 * NEAR)
    } - {FEW}
    clumping = followed(plan_of("linear"), PANEL, cohorts_of())
    assert ENOUGH in named(clumping, SumWithLeads) and FEW not in named(clumping, SumWithLeads)
    pairs = list(zip(*(column(clumping, LINKAGE, name) for name in ("variant", "other")), strict=True))
    assert [pair for pair in pairs if FEW in pair] == [(FEW, FEW)]
    assert (LEAD, ENOUGH) in pairs


@pytest.mark.parametrize(("rule", "is_told"), [(MEAN, False), (EXACT, True)])
def test_of_a_variant_with_fewer_than_ten_carriers_beside_a_cohort_no_sum_is_told(
    rule: str, is_told: bool
) -> None:
    found = run_of(Small(plan_of("linear", missing=rule), PANEL, cohorts_of()))
    kinds = [q for q, _ in found.told if isinstance(q, SumWithGenotypes)]
    told = {variant for question in kinds for variant in question.items.tolist()}
    assert told == set(range(2 * NEAR)) - (set() if is_told else {FEW})
    assert found.tables[VARIANTS]["variant"].tolist() == list(range(2 * NEAR))


def test_where_calls_are_missing_the_pools_means_stand_for_them() -> None:
    cohorts = cohorts_of(missing=0.05)
    found = followed(plan_of("linear"), PANEL, cohorts)
    copies = np.concatenate([cohort.genotypes for cohort in cohorts], axis=1).astype(float)
    calls = np.where(copies < 0, np.nan, copies)
    first = np.where(np.isnan(calls), np.nanmean(calls, axis=1)[:, None], calls)
    share = np.nanmean(np.where(np.isnan(calls), np.nan, calls == 1), axis=1)[:, None]
    one = np.where(np.isnan(calls), share, calls == 1)
    rows = zip(*(column(found, LINKAGE, name) for name in ("variant", "other", "r2")), strict=True)
    pairs = [row for row in rows if row[0] != row[1]]
    assert len(pairs) > NEAR
    for lead, other, r2 in pairs:
        sums = first[lead].sum(), first[other].sum(), first[lead] @ first[other], one[lead] @ one[other]
        expected = r_squared(float(copies.shape[1]), *(np.array([value]) for value in sums))
        assert r2 == pytest.approx(expected[0], abs=1e-6)


def test_a_matrix_is_drawn_with_the_largest_of_each_square() -> None:
    r = np.eye(150)
    r[0, 149] = r[149, 0] = -0.9
    drawn = str(matrix_svg.matrix(r))
    assert drawn.count("<rect") == 50 + 2  # three variants a square, and both sides of the diagonal
    assert drawn.count('fill-opacity="0.81"') == 2 and drawn.count('fill-opacity="1.00"') == 50
