"""Test statistics and P values, vectorised over variants.

P values are kept as -log10 P, computed from the survival function in logarithms, so that they bottom out
neither at 1e-16 (one minus a distribution function) nor at 1e-308 (the smallest float64). Where the order of
its arithmetic decides what PLINK 1.9 prints, that order is followed: the files are compared byte by byte.

SciPy is imported by the functions that call it: it takes as long to load as NumPy, and of the many processes
that import this module few compute a P value.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.elementary import log
from unpooled.kernels.fixed_order import log_betainc

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MEDIAN_CHI_SQUARE = 0.456
"""Median of chi-square with one degree of freedom, as PLINK (and Devlin and Roeder 1999) round it."""


def allelic_chi_square(case_a1: Counts, case_a2: Counts, control_a1: Counts, control_a2: Counts) -> Floats:
    """Pearson's chi-square (1 df) of the 2 x 2 table of allele counts.

    NaN where only one of the alleles occurs; 0 where there are only cases, or only controls, as in PLINK.
    """
    cases = case_a1 + case_a2
    second = case_a2 + control_a2
    total = cases + control_a1 + control_a2
    expected = (cases * second).astype(np.float64)  # times the total
    denominator = expected * ((total - cases) * (total - second)).astype(np.float64)
    size = total.astype(np.float64)
    excess = case_a2 * size - expected
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.where(denominator > 0, excess * excess * size / denominator, 0.0)
    return np.where((second > 0) & (total > second), result, np.nan)


def odds_ratio(case_a1: Counts, case_a2: Counts, control_a1: Counts, control_a2: Counts) -> Floats:
    """Odds of A1 among cases over its odds among controls; NaN where the denominator is 0."""
    numerator = case_a1 * control_a2.astype(np.float64)
    denominator = control_a1 * case_a2.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)


def odds_ratio_interval(
    case_a1: Counts, case_a2: Counts, control_a1: Counts, control_a2: Counts, level: float
) -> tuple[Floats, Floats, Floats]:
    """Woolf's interval: standard error of log OR, lower and upper limit at `level` (such as 0.95).

    Of no use where the odds ratio is NaN; infinite, 0 and NaN where it is 0.
    """
    ratio = odds_ratio(case_a1, case_a2, control_a1, control_a2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.sqrt(1 / case_a1 + 1 / case_a2 + 1 / control_a1 + 1 / control_a2)
        middle = np.log(ratio)
    _, lower, upper = with_limits(middle, error, level, odds=True)
    return error, lower, upper


def with_limits(effect: Floats, error: Floats, level: float, *, odds: bool) -> list[Floats]:
    """Return effect, lower and upper limit at `level`; for `odds`, given logarithms, the odds ratios."""
    reach = normal_quantile(1 - (1 - level) / 2) * error
    with np.errstate(over="ignore", invalid="ignore"):
        found = [effect, effect - reach, effect + reach]
        return [np.exp(values) for values in found] if odds else found


def chi_square_neg_log10_p(chi_square: Floats) -> Floats:
    """-log10 of the upper tail of chi-square with 1 df; NaN stays NaN.

    P(X > x) = 2 Phi(-sqrt x), and log Phi is accurate where Phi itself has long become 0.
    """
    return normal_neg_log10_p(np.sqrt(chi_square))


def chi_squares_neg_log10_p(chi_square: Floats, freedom: int | Counts) -> Floats:
    """-log10 of the upper tail of chi-square with so many degrees of freedom, broadcast; NaN stays NaN.

    P(X > x) is exp(-x / 2) with two, and two more add (x / 2)^a exp(-x / 2) / Gamma(a + 1) to P with 2a (DLMF
    8.8.2): in logarithms, as with one.
    """
    from scipy.special import gammaln, xlogy

    x, df = np.broadcast_arrays(np.asarray(chi_square, np.float64), freedom)
    even = df % 2 == 0
    log_p = np.where(even, -x / 2, chi_square_neg_log10_p(x) * -_LOG_10)
    for steps in range((int(df.max(initial=1)) - 1) // 2):
        a = np.where(even, 1.0, 0.5) + steps
        more = xlogy(a, x / 2) - x / 2 - gammaln(a + 1)
        with np.errstate(invalid="ignore"):
            log_p = np.where(df >= 2 * a + 2, np.logaddexp(log_p, more), log_p)
    return np.maximum(log_p / -_LOG_10, 0.0)


def normal_neg_log10_p(z: Floats) -> Floats:
    """-log10 of P(|Z| > |z|) for the standard normal distribution; NaN stays NaN."""
    from scipy.special import log_ndtr

    log_p = log_ndtr(-np.abs(z)) + _LOG_2
    return np.maximum(log_p / -_LOG_10, 0.0)


def t_neg_log10_p(t: Floats, freedom: Floats | Counts) -> Floats:
    """-log10 of P(|T| > |t|) for Student's t with so many degrees of freedom, broadcast; NaN stays NaN."""
    return f_neg_log10_p(np.square(t), 1, freedom)


def f_neg_log10_p(size: Floats, columns: int | Counts, freedom: Floats | Counts) -> Floats:
    """-log10 of the upper tail of F with `columns` and `freedom` degrees of freedom, at `size` / `columns`,
    broadcast; NaN stays NaN.

    P = I_x(df / 2, columns / 2), x = df / (df + size): the regularised incomplete beta function. Where that
    nears the smallest float64, its logarithm comes from the continued fraction instead.
    """
    from scipy.special import betainc, betaincc

    f, k, df = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in (size, columns, freedom)))
    with np.errstate(all="ignore"):
        # Whichever of x and 1 - x is not rounded off.
        small = betaincc(k / 2, df / 2, f / (df + f))
        log_p = np.log(np.where(f < df, small, betainc(df / 2, k / 2, df / (df + f))))
        tail = log_p < _LOG_TINY
        if tail.any():
            log_p[tail] = log_betainc(df[tail] / 2, k[tail] / 2, (df / (df + f))[tail])
        return np.maximum(log_p / -_LOG_10, 0.0)


_LOG_TINY = -600.0  # the smallest float64 of full precision is e^-708


# Which variants lead a clump decides what is asked next: their P has the same bits on every machine.


def normal_tail(z: Floats) -> Floats:
    """-log10 of P(|Z| > |z|) for |z| of 1.9 or more, by the continued fraction; NaN stays NaN.

    DLMF 7.9.1.
    """
    x = np.abs(z) * math.sqrt(0.5)
    fraction = x
    for k in range(_TERMS, 0, -1):
        fraction = x + 0.5 * k / fraction
    return np.asarray((x * x + log(_ROOT_PI * fraction)) / _LOG_10)


def t_tail(t: Floats, freedom: Floats | Counts) -> Floats:
    """-log10 of P(|T| > |t|) where that is 0.06 or less."""
    df = np.asarray(freedom, np.float64)
    return np.asarray(log_betainc(df / 2, 0.5, df / (df + t * t)) / -_LOG_10)


_TERMS = 150
_LOG_2, _LOG_10, _ROOT_PI = 0.6931471805599453, 2.302585092994046, 1.7724538509055159


def p_value(neg_log10_p: Floats) -> Floats:
    """P itself, for printing; 0 where it is below the smallest float64.

    As in PLINK it is twice one tail. Just above 0, where a float64 has few digits left, halving rounds.
    """
    return 2.0 * (0.5 * np.power(10.0, -np.asarray(neg_log10_p, np.float64)))


def chi_square_p_value(neg_log10_p: Floats, chi_square: Floats) -> Floats:
    """P of chi-square with 1 df for printing: 0 above about 1416.78, where PLINK's function gives up."""
    return np.where(chi_square > _LARGEST_CHI_SQUARE, 0.0, p_value(neg_log10_p))


_LARGEST_CHI_SQUARE = 2 * 0.99999 * 1022 * 0.69314718055995  # shortly before exp gives up


def scaled_p_value(neg_log10_p: Floats) -> tuple[Floats, Counts]:
    """P as a number from 1 to 10 and how often it is divided by 10, where P is small; else P, and 0."""
    size = np.asarray(neg_log10_p, np.float64)
    down = np.where(size > 300.0, np.ceil(size), 0.0)
    return np.power(10.0, down - size), down.astype(np.int64)


def genomic_inflation(chi_square: Floats) -> float:
    """Genomic control's lambda: median chi-square over 0.456, not below 1; NaN without any chi-square."""
    known = chi_square[~np.isnan(chi_square)]
    if not known.size:
        return math.nan
    return max(1.0, float(np.median(known, overwrite_input=True)) / MEDIAN_CHI_SQUARE)


def inflation_text(inflation: float) -> str:
    """Genomic control's lambda as people read it everywhere: with three decimals."""
    return f"{inflation:.3f}"


# Peter Acklam's rational approximation of the normal quantile, of relative error below 1.15e-9. PLINK takes
# it for its confidence limits, so they can differ in a printed digit from those by an exact quantile.
_CENTRE_TOP = (-3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.383577518672690e2,
               -3.066479806614716e1, 2.506628277459239e0)  # fmt: skip
_CENTRE_BOTTOM = (-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1,
                  -1.328068155288572e1, 1.0)  # fmt: skip
_TAIL_TOP = (-7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838e0, -2.549732539343734e0,
             4.374664141464968e0, 2.938163982698783e0)  # fmt: skip
_TAIL_BOTTOM = (7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996e0, 3.754408661907416e0, 1.0)
_TAIL_FROM = 0.97575


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution, for 0.5 <= probability < 1, as PLINK computes it."""
    if probability > _TAIL_FROM:
        q = math.sqrt(-2.0 * math.log(1.0 - probability))
        return -_polynomial(_TAIL_TOP, q) / _polynomial(_TAIL_BOTTOM, q)
    q = probability - 0.5
    return _polynomial(_CENTRE_TOP, q * q) * q / _polynomial(_CENTRE_BOTTOM, q * q)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    value = 0.0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


# The exact test sums probabilities relative to that of the observed table. Starting at 2^-83 instead of 1
# leaves the sum room to grow to 1e333 times the start. A table that is likelier than the observed one by
# less than 2^-44 counts as equally likely.
_START = 2.0**-83
_EQUAL = 2.0**-44


@compiled
def hardy_weinberg_p(hets: Any, homs_1: Any, homs_2: Any) -> Any:
    """P of the exact test of Hardy-Weinberg equilibrium (Wigginton, Cutler and Abecasis 2005), float64 (m,).

    `hets`, `homs_1`, `homs_2`, int (m,): people with each genotype. Given the allele counts, P is the
    probability of all tables at most as likely as the observed one; 1 without any genotype.
    """
    result = np.empty(hets.shape[0], np.float64)
    for index in range(hets.shape[0]):
        result[index] = _exact_p(float(hets[index]), float(homs_1[index]), float(homs_2[index]))
    return result


@compiled
def _exact_p(het: Any, homs_1: Any, homs_2: Any) -> Any:
    rare, common = min(homs_1, homs_2), max(homs_1, homs_2)
    alleles = 2.0 * (het + rare + common)
    if alleles == 0.0:
        return 1.0
    rare_alleles = 2.0 * rare + het
    # Tables get likelier on the way from the observed one to the expected number of hets, then less likely.
    inwards_is_up = het * alleles <= rare_alleles * (alleles - rare_alleles)
    likelier, tail = _sum_inwards(het, rare, common, inwards_is_up)
    if likelier == np.inf:
        return 0.0
    tail = _sum_tail(het, rare, common, not inwards_is_up, _START * (1.0 - _EQUAL), tail)
    return tail / (tail + likelier)


@compiled
def _neighbour(het: Any, rare: Any, common: Any, up: Any) -> Any:
    """The table with two hets more (or fewer), and how many times as likely it is."""
    if up:
        factor = (4.0 * rare * common) / ((het + 2.0) * (het + 1.0))
        return het + 2.0, rare - 1.0, common - 1.0, factor
    factor = (het * (het - 1.0)) / (4.0 * (rare + 1.0) * (common + 1.0))
    return het - 2.0, rare + 1.0, common + 1.0, factor


@compiled
def _sum_inwards(het: Any, rare: Any, common: Any, up: Any) -> Any:
    """Sums over the tables likelier than the observed one, and over it and those beyond them."""
    likelier, tail = 0.0, _START * (1.0 - _EQUAL)
    term = tail
    while (rare > 0.5) if up else (het > 1.5):
        het, rare, common, factor = _neighbour(het, rare, common, up)
        term *= factor
        if term < _START:
            return likelier, _sum_tail(het, rare, common, up, term, tail + term)
        likelier += term
        if likelier == np.inf:
            break
    return likelier, tail


@compiled
def _sum_tail(het: Any, rare: Any, common: Any, up: Any, term: Any, tail: Any) -> Any:
    """`tail` and the tables beyond this one, until they no longer count."""
    while (rare > 0.5) if up else (het > 1.5):
        het, rare, common, factor = _neighbour(het, rare, common, up)
        term *= factor
        before = tail
        tail += term
        if tail <= before:
            break
    return tail
