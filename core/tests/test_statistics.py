"""Test statistics, P values and their adjustment against slow, exact or outside references."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats
from statsmodels.stats.multitest import multipletests

from unpooled.kernels.multiple_testing import adjust
from unpooled.kernels.statistics import (
    allelic_chi_square,
    chi_square_neg_log10_p,
    chi_squares_neg_log10_p,
    f_neg_log10_p,
    genomic_inflation,
    hardy_weinberg_p,
    normal_neg_log10_p,
    normal_quantile,
    normal_tail,
    odds_ratio,
    odds_ratio_interval,
    p_value,
    t_neg_log10_p,
    t_tail,
)


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def exact_hardy_weinberg_p(het: int, homs_1: int, homs_2: int) -> Fraction:
    """Compute P by the definition, in exact arithmetic: every table with these allele counts, weighed by its
    number.
    """
    people, alleles = het + homs_1 + homs_2, 2 * homs_1 + het

    def ways(hets: int) -> Fraction:
        first = (alleles - hets) // 2
        orders = math.factorial(people) // (
            math.factorial(hets) * math.factorial(first) * math.factorial(people - hets - first)
        )
        return Fraction(orders * 2**hets)

    tables = [ways(hets) for hets in range(alleles % 2, min(alleles, 2 * people - alleles) + 1, 2)]
    return sum((ways_ for ways_ in tables if ways_ <= ways(het)), Fraction(0)) / sum(tables)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=300)
def test_hardy_weinberg_is_exact(het: int, homs_1: int, homs_2: int) -> None:
    p = hardy_weinberg_p(column(het), column(homs_1), column(homs_2))[0]
    assert p == pytest.approx(float(exact_hardy_weinberg_p(het, homs_1, homs_2)), rel=1e-12)


def approximate_hardy_weinberg_p(het: int, homs_1: int, homs_2: int) -> float:
    """The same sum through logarithms of factorials, for many people."""
    people, alleles = het + homs_1 + homs_2, 2 * homs_1 + het
    hets = np.arange(alleles % 2, min(alleles, 2 * people - alleles) + 1, 2)
    first = (alleles - hets) // 2
    parts = [special.gammaln(count + 1) for count in (hets, first, people - hets - first)]
    weight = hets * math.log(2) - np.sum(parts, axis=0)
    weight = np.exp(weight - weight.max())
    return float(weight[weight <= weight[hets == het] * (1 + 1e-9)].sum() / weight.sum())


def test_hardy_weinberg_with_nobody_and_with_many() -> None:
    assert hardy_weinberg_p(column(0, 0, 0), column(0, 5, 0), column(0, 0, 7)).tolist() == [1, 1, 1]
    assert hardy_weinberg_p(column(0, 100_000), column(50_000, 0), column(50_000, 0)).tolist() == [0, 0]
    for het, homs_1, homs_2 in ((49_700, 25_000, 25_300), (700, 3, 90_000), (30_000, 10_000, 12_000)):
        p = hardy_weinberg_p(column(het), column(homs_1), column(homs_2))[0]
        assert p == pytest.approx(approximate_hardy_weinberg_p(het, homs_1, homs_2), rel=1e-6)


@given(*[st.integers(0, 10_000)] * 4)
def test_chi_square_is_pearsons(a: int, b: int, c: int, d: int) -> None:
    statistic = allelic_chi_square(column(a), column(b), column(c), column(d))[0]
    if not a + c or not b + d:
        assert np.isnan(statistic)
    elif not a + b or not c + d:
        assert statistic == 0
    else:
        wanted = stats.chi2_contingency([[a, b], [c, d]], correction=False).statistic
        assert statistic == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_p_is_right_from_1_to_far_below_the_smallest_float() -> None:
    chi_square = np.array([0, 1e-12, 1e-3, 0.456, 3.84, 30, 700, 1416, 1e4, 1e6])
    wanted = stats.chi2.logsf(chi_square[:-2], 1) / -math.log(10)
    assert chi_square_neg_log10_p(chi_square)[:-2] == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    # For large x the tail is exp(-x/2) sqrt(2 / (pi x)) (1 - 1/x + ...).
    x = chi_square[-2:]
    tail = (x / 2 - 0.5 * np.log(2 / (np.pi * x)) - np.log1p(-1 / x)) / math.log(10)
    assert chi_square_neg_log10_p(x) == pytest.approx(tail, rel=1e-10)
    assert np.isnan(chi_square_neg_log10_p(np.array([np.nan]))[0])
    assert p_value(np.array([0.0, 2.0, 300.0, 400.0])).tolist() == pytest.approx([1, 0.01, 1e-300, 0])


def test_odds_ratio_and_its_limits() -> None:
    table = column(10, 0, 5, 5), column(20, 5, 0, 5), column(8, 3, 4, 0), column(40, 4, 4, 9)
    assert odds_ratio(*table) == pytest.approx([2.5, 0, np.nan, np.nan], nan_ok=True)
    error, lower, upper = (limit[0] for limit in odds_ratio_interval(*table, 0.95))
    assert error == pytest.approx(math.sqrt(1 / 10 + 1 / 20 + 1 / 8 + 1 / 40))
    assert lower == pytest.approx(2.5 * math.exp(-1.959964 * error), rel=1e-6)
    assert upper == pytest.approx(2.5 * math.exp(1.959964 * error), rel=1e-6)


def test_normal_quantile() -> None:
    for probability in (0.5, 0.6, 0.9, 0.975, 0.97576, 0.995, 0.9999999):
        assert normal_quantile(probability) == pytest.approx(special.ndtri(probability), rel=2e-9, abs=1e-12)


def test_genomic_inflation() -> None:
    assert genomic_inflation(np.array([0.1, 0.9, 0.5, np.nan, 2.0])) == pytest.approx(0.7 / 0.456)
    assert genomic_inflation(np.array([0.1, 0.2])) == 1
    assert math.isnan(genomic_inflation(np.array([np.nan])))


def test_normal_p_values() -> None:
    z = np.array([0.0, 0.5, -1.96, 5.0, 37.0, -40.0, 1000.0, np.nan])
    wanted = -(stats.norm.logsf(np.abs(z)) + math.log(2)) / math.log(10)
    np.testing.assert_allclose(normal_neg_log10_p(z), wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 101, 1935, 100_000, 1_000_000])
def test_t_p_values(freedom: int) -> None:
    t = np.concatenate([np.linspace(0, 6, 61), np.geomspace(6, 30, 20)])
    wanted = 2 * stats.t.sf(t, freedom)
    np.testing.assert_allclose(p_value(t_neg_log10_p(t, np.int64(freedom))), wanted, rtol=1e-10)


def test_chi_square_and_f_of_several_columns() -> None:
    x, columns = np.array([0.1, 1.0, 3.0, 30.0, 600.0, 1e5])[:, None], np.arange(1, 64)
    expected = -stats.chi2.logsf(x, columns) / math.log(10)
    near, found = expected < 290, chi_squares_neg_log10_p(x, columns)
    np.testing.assert_allclose(found[near], expected[near], rtol=1e-11, atol=1e-15)
    # By mpmath, with 50 digits.
    assert chi_squares_neg_log10_p(np.array([1e5]), 12)[0] == pytest.approx(21693.308382956206)
    for freedom in (5, 50, 5000):
        expected = -stats.f.logsf(x / columns, columns, freedom) / math.log(10)
        near, found = expected < 290, f_neg_log10_p(x, columns, freedom)
        np.testing.assert_allclose(found[near], expected[near], rtol=1e-10, atol=1e-14)
    # Of two columns in closed form.
    found = f_neg_log10_p(x[:, 0], 2, 5000)
    np.testing.assert_allclose(found, 2500 * np.log10(1 + x[:, 0] / 5000), rtol=1e-10)


@pytest.mark.parametrize("freedom", [50, 300, 5000, 100_000])
@pytest.mark.parametrize("t", [40.0, 60.0, 1e3, 1e6])
def test_t_p_values_below_the_smallest_number(freedom: int, t: float) -> None:
    """P is found by quadrature: C times the integral of (1 + u^2 / df)^(-(df + 1) / 2), factored at the
    bound.
    """
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


@pytest.mark.parametrize("freedom", [2, 3, 10, 101, 1935, 1_000_000])
def test_p_by_which_variants_lead_a_clump_is_that_of_the_reports(freedom: int) -> None:
    t = stats.t.isf(np.geomspace(0.03, 1e-120, 500), freedom)
    np.testing.assert_allclose(t_tail(t, np.int64(freedom)), t_neg_log10_p(t, np.int64(freedom)), rtol=1e-11)
    z = np.append(np.linspace(1.9, 6, 300), np.geomspace(6, 1e3, 200))
    np.testing.assert_allclose(normal_tail(z), normal_neg_log10_p(z), rtol=1e-14)


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
