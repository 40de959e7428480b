"""P values of t and normal statistics, and their adjustment, against slow or outside references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats
from statsmodels.stats.multitest import multipletests

from unpooled.multiple_testing import adjust
from unpooled.statistics import normal_neg_log10_p, p_value, t_neg_log10_p


def test_normal_p_values() -> None:
    z = np.array([0.0, 0.5, -1.96, 5.0, 37.0, -40.0, 1000.0, np.nan])
    wanted = -(stats.norm.logsf(np.abs(z)) + math.log(2)) / math.log(10)
    np.testing.assert_allclose(normal_neg_log10_p(z), wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 101, 1935, 100_000, 1_000_000])
def test_t_p_values(freedom: int) -> None:
    t = np.concatenate([np.linspace(0, 6, 61), np.geomspace(6, 30, 20)])
    wanted = 2 * stats.t.sf(t, freedom)
    np.testing.assert_allclose(p_value(t_neg_log10_p(t, np.int64(freedom))), wanted, rtol=1e-10)


@pytest.mark.parametrize("freedom", [50, 300, 5000, 100_000])
@pytest.mark.parametrize("t", [40.0, 60.0, 1e3, 1e6])
def test_t_p_values_below_the_smallest_number(freedom: int, t: float) -> None:
    """By quadrature: P = C times the integral of (1 + u^2 / df)^(-(df + 1) / 2), factored at the bound."""
    power = (freedom + 1) / 2

    def relative(share: float) -> float:  # u = t / share
        u = t / share
        return math.exp(-power * (math.log1p(u * u / freedom) - math.log1p(t * t / freedom))) * t / share**2

    width = min(1.0, 60.0 * (freedom + t * t) / (freedom * t * t))
    integral = integrate.quad(relative, 1 - width, 1, epsabs=0, epsrel=1e-10, limit=500)[0]
    if width < 1.0:
        integral += integrate.quad(relative, 1e-12, 1 - width, limit=500)[0]
    log_density = (
        math.lgamma(power)
        - math.lgamma(freedom / 2)
        - 0.5 * math.log(freedom * math.pi)
        - power * math.log1p(t * t / freedom)
    )
    wanted = -(math.log(2) + log_density + math.log(integral)) / math.log(10)
    found = float(t_neg_log10_p(np.array([t]), np.array([freedom]))[0])
    assert math.isfinite(found)
    assert found == pytest.approx(wanted, rel=1e-9)


def test_t_p_values_are_continuous_where_the_method_changes() -> None:
    t = np.linspace(36, 42, 4001)
    p = t_neg_log10_p(t, np.array(10_000))
    assert np.all(np.diff(p) > 0)
    assert np.abs(np.diff(p, 2)).max() < 1e-5


def test_p_values_of_nothing() -> None:
    assert np.isnan(t_neg_log10_p(np.array([np.nan]), np.array([5])))[0]
    assert t_neg_log10_p(np.array([0.0]), np.array([5]))[0] == 0


@pytest.mark.parametrize("count", [200, 50_000])
def test_adjusted_p_values_are_those_of_statsmodels(count: int) -> None:
    random = np.random.default_rng(1)
    statistic = np.concatenate([random.normal(size=count) * 1.2, random.normal(size=20) * 6, [np.nan] * 3])
    random.shuffle(statistic)
    found = adjust(statistic)
    assert not np.isnan(statistic[found.order]).any()
    columns = found.columns(slice(0, len(found.order)))
    p = columns["UNADJ"]
    assert np.all(np.diff(p) >= 0)
    methods = {"BONF": "bonferroni", "HOLM": "holm", "SIDAK_SS": "sidak", "SIDAK_SD": "holm-sidak",
               "FDR_BH": "fdr_bh", "FDR_BY": "fdr_by"}  # fmt: skip
    for name, method in methods.items():
        wanted = multipletests(p, method=method, is_sorted=True)[1]
        np.testing.assert_allclose(columns[name], wanted, rtol=1e-9, atol=1e-15)
    known = statistic[~np.isnan(statistic)]
    assert found.inflation == pytest.approx(max(1, np.median(known**2) / 0.456))
    gc = 2 * stats.norm.sf(np.abs(statistic[found.order]) / math.sqrt(found.inflation))
    np.testing.assert_allclose(columns["GC"], gc, rtol=1e-9)
    for part in (slice(0, 1), slice(130, 170), slice(count // 2, count)):
        assert {name: column.tolist() for name, column in found.columns(part).items()} == {
            name: column[part].tolist() for name, column in columns.items()
        }


def test_nothing_to_adjust() -> None:
    assert not len(adjust(np.array([np.nan])).order)
    assert not len(adjust(np.array([np.nan])).columns(slice(0, 0))["GC"])
    assert adjust(np.array([2.0])).columns(slice(0, 1))["FDR_BY"][0] == pytest.approx(2 * stats.norm.sf(2))
