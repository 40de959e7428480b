"""Logistic regression where it is hard: few cases, rare carriers, strong effects.

Whether a maximum exists is decided by a linear program on the pooled rows, and its place by statsmodels.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pooled import Pool, Statuses, X

from unpooled.kernels import least_squares as codes
from unpooled.methods.regression.case_control import CaseControlCounts
from unpooled.plan.genotype_model import Terms

from ..people import people as samples_of
from ..plinks import plink2
from .regression import Rows

CASES = (0.002, 0.004, 0.01, 0.02, 0.1, 0.3, 0.5)
CARRIERS = (3, 6, 10, 20, 45, 100, 200, 400, 1000)
ODDS_RATIOS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0)
PEOPLE = 3000


def grid(share: float, covariates: int, people: int = PEOPLE, times: int = 1) -> Statuses:
    """A variant for each number of carriers and each odds ratio, and for each share of carriers that are
    cases, from one to nearly all. Some carriers have two copies. Covariates go with being a case."""
    random = np.random.default_rng([round(1000 * share), covariates, people])
    columns = random.normal(size=(people, covariates))
    liability = columns.sum(axis=1) / 2 + random.logistic(size=people)
    case = np.zeros(people)
    case[np.argsort(liability)[-round(people * share) :]] = 1
    cases, controls = np.flatnonzero(case == 1), np.flatnonzero(case == 0)
    copies = []
    odds = share / (1 - share)
    shares = [ratio * odds / (1 + ratio * odds) for ratio in ODDS_RATIOS] + [0, 1 / 30, 0.2, 1 / 3, 0.5, 0.7]
    for carriers in CARRIERS * times:
        for expected in shares:
            some = random.binomial(carriers, expected) if times > 1 else max(1, round(carriers * expected))
            if some <= len(cases) and carriers - some <= len(controls):
                chosen = (cases, some), (controls, carriers - some)
                who = np.concatenate([random.choice(of, count, replace=False) for of, count in chosen])
                copies.append(np.zeros(people, np.int8))
                copies[-1][who] = 1 + (random.random(carriers) < carriers / 2 / people)
    rows = [(1, 1 + k, b"rs%d" % k, b"A", b"G") for k in range(len(copies))]
    sex = random.choice(np.array([1, 2], np.uint8), people)
    return Statuses(samples_of(case, columns, sex=sex), rows, np.array(copies))


@cache
def studied(share: float, covariates: int) -> tuple[Statuses, dict[str, np.ndarray]]:
    """A grid, and what a study finds of it."""
    pooled = grid(share, covariates)
    return pooled, pooled.study((1, 2, 4), files=("assoc",))[1]


def regression_of(pooled: Pool, rows: dict[str, np.ndarray], k: int) -> Rows:
    """The pooled rows of the regression that a row is about."""
    y, x = pooled.design(int(rows["variant"][k]), bool(rows["first_is_a1"][k]))
    return Rows(pooled.test, ("ADD", *pooled.covariates, "SEX")[: x.shape[1] - 1], y, x)


def check(pooled: Statuses, rows: dict[str, np.ndarray]) -> None:
    """Every variant's estimate is the maximum's, or there is none."""
    for k, variant in enumerate(rows["variant"]):
        of = regression_of(pooled, rows, k)
        beta, se = (rows[name][k, : len(of.names)] for name in ("beta", "se"))
        fitted = bool(rows["code"][k] == codes.FITTED)
        about = pooled.variants[variant], np.bincount((3 * of.y + of.x[:, 1]).astype(int)), rows["code"][k]
        if not fitted or se[0] > 10:  # an iteration that runs away ends at a large standard error
            assert of.is_estimable() is fitted, about
        if not fitted:
            assert np.isnan(beta).all() and np.isnan(se).all()
            assert rows["code"][k] in (codes.SEPARATED, codes.UNFINISHED), about
            continue
        check_one(of, beta, se)


def check_one(of: Rows, beta: np.ndarray, se: np.ndarray) -> None:
    """Against statsmodels."""
    truth = of.fit()
    assert truth is not None
    assert (np.abs(beta - truth.beta) <= 1e-9 * np.maximum(np.abs(truth.beta), truth.se)).all(), (beta, truth)
    np.testing.assert_allclose(se, truth.se, rtol=1e-6)


@pytest.mark.parametrize("covariates", [0, 2, 5])
@pytest.mark.parametrize("share", CASES)
def test_no_estimate_is_lost_or_made_up(share: float, covariates: int) -> None:
    pooled, rows = studied(share, covariates)
    assert len(rows["variant"]) == len(pooled.variants)
    check(pooled, rows)
    assert np.count_nonzero(rows["code"] == codes.FITTED) > len(CARRIERS) * len(ODDS_RATIOS) / 2


def plinks(pooled: Statuses, folder: Path) -> list[dict[str, list[str]]]:
    """The lines of PLINK 1.9's report and of plink2's, by variant."""
    one = pooled.plink1(folder, "--logistic", "beta", "hide-covar", "--ci", 0.95)
    files = ["--bfile", folder / "pooled", "--out", folder / "out"]
    files += ["--covar", folder / "pooled.cov"] if pooled.covariates else []
    alone = () if pooled.covariates else ("allow-no-covars",)
    plink2("--glm", "no-firth", "hide-covar", *alone, *files)
    reports = []
    for file, named in ((f"{one}.assoc.logistic", 1), (f"{one}.PHENO1.glm.logistic", 2)):
        lines = [line.split() for line in Path(file).read_text().splitlines()[1:]]
        reports.append({line[named]: line for line in lines})
    return reports


@pytest.mark.parametrize("covariates", [0, 2])
@pytest.mark.parametrize("share", CASES)
def test_both_plinks_have_the_same(share: float, covariates: int, tmp_path: Path) -> None:
    """Estimate and z as near as single precision comes, and NA for the same variants."""
    pooled, rows = studied(share, covariates)
    by_one, by_two = plinks(pooled, tmp_path)
    for k, variant in enumerate(rows["variant"]):
        name = pooled.variants[variant][2].decode()
        (one, *_, z_one, _), (odds, _, z_two, _, code) = by_one[name][6:], by_two[name][8:]
        if rows["code"][k] != codes.FITTED:
            assert (one, odds) == ("NA", "NA") and code != "."
            continue
        beta, se = rows["beta"][k, 0], rows["se"][k, 0]
        assert abs(float(one) - beta) <= 1e-3 * max(abs(beta), se), by_one[name]
        assert abs(np.log(float(odds)) - beta) <= 1e-4 * max(abs(beta), se), by_two[name]
        for z in float(z_one), float(z_two):
            assert abs(z - beta / se) <= 1e-3 + 1e-3 * abs(z), (by_one[name], by_two[name])


@pytest.mark.parametrize("tolerance", [1e-4, 1e-2])
@pytest.mark.parametrize("share", [0.004, 0.02, 0.5])
def test_a_tolerance_ends_near_the_estimate(share: float, tolerance: float) -> None:
    """Whatever the limit of iterations: no likelihood is farther below its maximum than the tolerance."""
    pooled, exact = studied(share, 2)
    _, rows = pooled.study((1, 2, 4), files=("assoc",), tolerance=tolerance, max_iterations=50)
    np.testing.assert_array_equal(rows["code"], exact["code"])
    early = 0
    for k in np.flatnonzero(exact["code"] == codes.FITTED):
        of = regression_of(pooled, rows, k)
        found = dict(zip(of.names, rows["beta"][k, :3].tolist(), strict=True))
        assert -1e-9 <= of.shortfall(found) <= tolerance
        early += not np.array_equal(rows["beta"][k, :3], exact["beta"][k, :3])
    assert early > len(exact["code"]) / 10


@pytest.mark.parametrize("share", [0.004, 0.1])
def test_another_limit_gives_the_same_numbers_or_none(share: float) -> None:
    pooled, exact = studied(share, 2)
    open_ = exact["code"] == codes.FITTED
    before = np.zeros_like(open_)
    for most in (1, 3, 5, 100):
        _, rows = pooled.study((1, 2, 4), files=("assoc",), max_iterations=most)
        done = rows["code"] == exact["code"]
        assert (rows["code"][~done] == codes.UNFINISHED).all() and np.isnan(rows["beta"][~done]).all()
        assert not (~done & ~open_).any()
        np.testing.assert_array_equal(rows["beta"][done], exact["beta"][done])
        assert (done >= before).all()
        before = done
    assert before.all()


def ties_on_x(*names: bytes) -> Statuses:
    """Variants on X whose alleles are equally frequent, with frequencies that differ between the sexes."""
    random = np.random.default_rng(8)
    sex = np.repeat(np.array([1, 2], np.uint8), 200)
    men = sex == 1
    case = (random.random(len(sex)) < np.where(men, 0.6, 0.25)).astype(float)
    copies = []
    for k in range(10):
        own = random.binomial(2, np.where(men, 0.3 + k / 25, 0.7 - k / 25)).astype(np.int8)
        own[men] = 2 * (own[men] > 0)
        excess = int(np.where(men, own // 2, own).sum()) - (men.sum() + 2 * np.sum(~men)) // 2
        for _ in range(abs(excess)):
            some = ~men & (own != (0 if excess > 0 else 2))
            own[random.choice(np.flatnonzero(some))] -= np.sign(excess)
        copies.append(own)
    rows = [(X, 1 + k, b"x%d" % k, *names) for k in range(len(copies))]
    return Statuses(samples_of(case, sex=sex), rows, np.array(copies))


@pytest.mark.parametrize("names", [(b"A", b"T"), (b"T", b"A")])
def test_a_tie_on_x_is_what_plink_makes_of_it(names: tuple[bytes, bytes], tmp_path: Path) -> None:
    """The row of sex, too, whichever allele the files call A1: turning the alleles turns its estimate."""
    pooled = ties_on_x(*names)
    out = pooled.plink1(tmp_path, "--logistic", "--ci", 0.95)
    files, rows = pooled.study(files=("assoc", "glm"), ci=0.95)
    plinks = Path(f"{out}.assoc.logistic").read_bytes().splitlines()
    ours = files["assoc"].splitlines()
    assert sum(line.split()[4] == b"SEX" for line in ours) == len(pooled.variants)
    apart = [pair for pair in zip(plinks, ours, strict=True) if pair[0].split()[:6] != pair[1].split()[:6]]
    assert not apart
    for line, own in zip(plinks[1:], ours[1:], strict=True):
        values = [np.array(text.split()[6:], float) for text in (line, own)]
        np.testing.assert_allclose(values[1], values[0], rtol=2e-3, atol=2e-3)
    for k in range(len(rows["variant"])):
        check_one(regression_of(pooled, rows, k), rows["beta"][k], rows["se"][k])


def test_without_covariates_the_counts_lead_to_the_estimate() -> None:
    """A trial from the counts of cases and controls with 0, 1 and 2 copies, against statsmodels."""
    random = np.random.default_rng(5)
    y, copies = np.repeat([0.0, 1.0], [2000, 40]), np.array([2.0, 1.0, 0.0])
    for _ in range(50):
        frequency = random.uniform(0.002, 0.9)
        g = random.binomial(2, np.where(y == 1, 1 - (1 - frequency) ** random.uniform(0.5, 8), frequency))
        cases, controls = (np.array([[np.sum(g[y == k] == c) for c in copies]]) for k in (1, 0))
        counts = CaseControlCounts(cases, controls, copies)
        if counts.separated(Terms("additive", ()))[0]:
            continue
        null, x = np.log(40 / 2000), np.column_stack([np.ones(len(y)), g])
        p = 40 / 2040
        first = np.linalg.solve(p * (1 - p) * x.T @ x, x.T @ (y - p))
        found = np.array([null, 0]) + counts.estimated_from(first[None])[0]
        truth = Rows("logistic", ("ADD",), y, x).fit()
        assert truth is not None
        np.testing.assert_allclose(found[1:], truth.beta, rtol=1e-6)
