"""The measurement behind docs/heterogeneity.md, on little data: how people are dealt, what is counted."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from .conftest import documentation_script, needed

COUNTS = ((20, 100), (60, 60), (100, 20))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return documentation_script("measure_heterogeneity")


@pytest.fixture(scope="module")
def pool(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """360 people, half of them cases, with three planted variants among about 200."""
    needed(shutil.which("plink1.9"), "plink1.9", "plink1.9")
    return script.generate(tmp_path_factory.mktemp("pool"), 360, 180, 240, (2.5, 3.0, 3.5))


@pytest.mark.parametrize("by_smoking", [False, True])
def test_cohorts_get_the_cases_and_controls_of_the_scenario(
    script: ModuleType, pool: Any, by_smoking: bool
) -> None:
    cohort = script.deal(pool, script.Scenario("", "", COUNTS, by_smoking))
    dealt = [tuple(np.bincount(pool.case[cohort == k], minlength=2)[::-1]) for k in range(len(COUNTS))]
    assert tuple(dealt) == COUNTS
    # Within cases and within controls, pack-years rise from cohort to cohort only where they are meant to.
    for group in (pool.case, ~pool.case):
        rank = stats.spearmanr(pool.covariates[group, 3], cohort[group]).statistic
        assert (rank > 0.7) == by_smoking


def test_the_scenarios_are_those_of_the_papers_table(script: ModuleType) -> None:
    assert [scenario.samples for scenario in script.SCENARIOS] == [5343] * 6
    assert [scenario.cases for scenario in script.SCENARIOS] == [2811] * 5 + [2809]
    assert all(sum(counts) == 1781 for scenario in script.SCENARIOS for counts in scenario.counts)


def test_information_under_idle_covariates_is_that_of_the_case_fractions(
    script: ModuleType, pool: Any
) -> None:
    """It is cases times controls over people, summed over the cohorts, as a share of the pool's."""
    random = np.random.default_rng(4)
    blind = script.Pool(pool.prefix, pool.people, pool.case, random.normal(size=(360, 1)), pool.planted)
    cohort = script.deal(pool, script.Scenario("", "", COUNTS))
    expected = sum(a * b / (a + b) for a, b in COUNTS) / (180 * 180 / 360)
    assert script.information(blind, cohort) == pytest.approx(expected, rel=0.03)


def test_plinks_meta_analysis_is_read_and_is_that_of_its_cohorts(
    script: ModuleType, pool: Any, tmp_path: Path
) -> None:
    """Fixed effect and DerSimonian and Laird's random effect, worked out here from the cohorts' reports."""
    cohort, covar = script.deal(pool, script.Scenario("", "", COUNTS)), tmp_path / "covariates"
    script.write_covariates(pool, cohort, covar)
    parts = script.split(pool, cohort, tmp_path)
    meta = script.meta_analysis(parts, covar, tmp_path / "three")
    fixed, random = script.read(meta), script.read(meta, "P(R)")
    effects = [script.read(Path(f"{part}.assoc.logistic"), "BETA") for part in parts]
    errors = [script.read(Path(f"{part}.assoc.logistic"), "SE") for part in parts]
    assert set(fixed) == set.intersection(*map(set, effects))
    for name in fixed:
        b, w = (np.array([own[name] for own in each]) for each in (effects, errors))
        w = w**-2
        assert fixed[name] == pytest.approx(p_of(b, w), rel=5e-3)
        q = (w * (b - np.average(b, weights=w)) ** 2).sum()
        between = max(0.0, (q - 2) / (w.sum() - (w**2).sum() / w.sum()))
        assert random[name] == pytest.approx(p_of(b, 1 / (1 / w + between)), rel=5e-3)
    pooled = script.read(script.logistic(pool.prefix, covar, tmp_path / "pooled"))
    found = script.agreement(pooled, fixed, pool.planted)
    assert found.pearson < 0.95 and found.power < 1  # two of the cohorts say little


def p_of(effect: np.ndarray, weight: np.ndarray) -> float:
    return float(2 * stats.norm.sf(abs((weight * effect).sum()) / np.sqrt(weight.sum())))


def test_hits_and_correlations(script: ModuleType) -> None:
    pooled = {"a": 1e-9, "b": 1e-12, "c": 4e-8, "d": 1e-3, "e": 0.5, "only pooled": 0.1}
    other = {"a": 1e-10, "b": 1e-7, "c": 5e-8, "d": 1e-8, "e": 0.6, "only other": 0.1}
    found = script.agreement(pooled, other, frozenset("ab"))
    assert (found.found, found.missed, found.extra, found.false) == (1, 2, 1, 1)
    x, y = (-np.log10([p[name] for name in "abcde"]) for p in (pooled, other))
    assert found.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
    ranks = np.array([4, 5, 3, 2, 1]), np.array([5, 2, 3, 4, 1])
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert found.largest == pytest.approx(5)
    z = [[stats.norm.isf(p[name] / 2) ** 2 for name in "ab"] for p in (pooled, other)]
    assert found.power == pytest.approx(sum(z[1]) / sum(z[0]))
