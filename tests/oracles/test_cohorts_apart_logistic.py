"""Cohorts apart: logistic regression as with an indicator of each cohort as covariate."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from asking import followed
from pooled import Statuses, statuses

from tests.contract.studies import of_variants
from unpooled.errors import Refuse
from unpooled.methods import check
from unpooled.methods.regression.within import FitCovariatesWithin
from unpooled.panel.panel import Panel
from unpooled.plan.plan import PlanError
from unpooled.run import reports, run

from ..people import some

SHARES = (9, 3, 5, 4)
APART: dict[str, Any] = {"cohorts_apart": True, "files": ("assoc", "glm"), "min_samples": 1}


def study(pooled: Statuses, of: np.ndarray, **options: Any) -> tuple[dict[str, bytes], dict[str, np.ndarray]]:
    """A study of the cohorts that people are in."""
    count = int(of.max()) + 1
    plan, panel = pooled.plan(count, **APART | options), Panel.of(pooled.variants)
    tables = run(plan, panel, pooled.dealt(of, count))
    return reports(plan, panel, tables), tables["variants"]


def uneven(pooled: Statuses, of: np.ndarray, by: float = 1.0) -> Statuses:
    """Each cohort with another share of cases, and other covariates."""
    s, random = pooled.samples, np.random.default_rng(1)
    odds = by * (of - of.mean()) + 0.5 * np.maximum(pooled.copies[3], 0)
    cases = np.where(np.isnan(s.phenotype), np.nan, random.random(len(of)) < 1 / (1 + np.exp(-odds)))
    s.phenotype[:] = cases
    s.covariates[:] += 3.0 * of[:, None]
    return pooled


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (3, {"n": 900}),
        (4, {"n": 500, "covariates": 0}),
        (5, {"n": 1500, "rare": True}),
        (6, {"n": 150, "missing": 0.2}),
    ],
)
def test_estimates_are_those_with_indicators(seed: int, options: dict[str, Any]) -> None:
    """Every number of every kind of chromosome is statsmodels'; nothing that it can fit is left out."""
    pooled = statuses(seed, each=15, **options)
    of = pooled.cohort_of(SHARES)
    pooled = uneven(pooled, of)
    _, rows = study(pooled, of)
    fitted = 0
    for k, variant in enumerate(rows["variant"].tolist()):
        first = bool(rows["first_is_a1"][k])
        y, x = pooled.design(variant, first)
        mark = pooled.beside(*pooled.samples.covariates.T, of[:, None].astype(float))
        place = 2 + pooled.samples.covariates.shape[1]
        inside = mark.design(variant, first)[1][:, place]
        indicators = (inside[:, None] == np.unique(inside)).astype(float)
        telling = [0 < y[c == 1].mean() < 1 for c in indicators.T]  # the others have no intercept
        some = indicators[:, telling].any(axis=1)
        design = np.column_stack([x[:, 1:], indicators[:, telling]])[some]
        if np.linalg.matrix_rank(design / np.maximum(np.abs(design).max(axis=0), 1e-9)) < design.shape[1]:
            assert np.isnan(rows["beta"][k]).all()
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                fit = sm.Logit(y[some], design).fit(disp=0, method="newton", maxiter=100, tol=1e-13)
            except (np.linalg.LinAlgError, sm.tools.sm_exceptions.PerfectSeparationError):
                continue
        if np.isnan(fit.bse).any() or fit.bse[0] > 100 or not fit.mle_retvals["converged"]:
            continue
        count = x.shape[1] - 1
        if np.isnan(rows["beta"][k, 0]):
            raise AssertionError(f"{variant} has an estimate, {fit.params[0]} ± {fit.bse[0]}")
        np.testing.assert_allclose(rows["beta"][k, :count], fit.params[:count], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(rows["se"][k, :count], fit.bse[:count], rtol=1e-5)
        fitted += 1
    assert fitted > 20


def test_both_plinks_with_indicators(tmp_path: Path) -> None:
    """Lines of genotype and sex in both reports, but for those that PLINK did not finish."""
    pooled = statuses(8, n=900, each=25)
    of = pooled.cohort_of(SHARES)
    pooled = uneven(pooled, of, 0.5)
    ours, _ = study(pooled, of)
    together = pooled.beside(pooled.samples.covariates, of[:, None] == np.arange(1, 4))
    one = Path(f"{together.plink1(tmp_path, '--logistic')}.assoc.logistic").read_text().splitlines()
    two = together.plink2(tmp_path, "--glm", "no-firth")
    own = {file: ours[file].decode().splitlines() for file in ("assoc", "glm")}
    by_one = same([line.split() for line in own["assoc"]], [line.split() for line in one], "SNP", "NMISS")
    by_two = same([line.split("\t") for line in own["glm"]], two, "ID", "OBS_CT")
    assert by_one > 80 and by_two > 80


def same(ours: list[list[str]], theirs: list[list[str]], name: str, before: str) -> int:
    """Compare the numbers of two reports behind a column; count the lines."""
    heads = ours[0]
    assert heads == theirs[0]
    of_name, test, numbers = heads.index(name), heads.index("TEST"), heads.index(before) + 1
    places = {(line[of_name], line[test]): line for line in ours}
    compared = 0
    for line in theirs[1:]:
        own = places.get((line[of_name], line[test]))
        if own is None or line[test] not in ("ADD", "SEX") or {"NA", "UNFINISHED"} & {*line, *own}:
            continue
        assert own[:numbers] == line[:numbers]
        x, y = (np.array([float(word) for word in each[numbers:] if word != "."]) for each in (own, line))
        np.testing.assert_allclose(x, y, rtol=3e-3, atol=2e-3)
        compared += 1
    return compared


def test_missing_calls_are_the_pools_mean() -> None:
    pooled = statuses(9, n=1200, missing=0.05)
    of = pooled.cohort_of(SHARES)
    pooled = uneven(pooled, of, 0.5)
    _, rows = study(pooled, of, missing="mean")
    s, fitted = pooled.samples, 0
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    for k, variant in enumerate(rows["variant"].tolist()):
        if pooled.variants[variant][0] not in (1, 22) or np.isnan(rows["beta"][k, 0]):
            continue
        g = np.where(pooled.copies[variant] < 0, np.nan, pooled.copies[variant])[inside]
        a1, a2 = pooled.variants[variant][3:]
        g = g if (a1 < a2) == rows["first_is_a1"][k] else 2 - g
        design = np.column_stack(
            [np.where(np.isnan(g), np.nanmean(g), g), s.covariates[inside], of[inside, None] == np.arange(4)]
        )
        fit = sm.Logit(s.phenotype[inside], design).fit(disp=0, method="newton", tol=1e-13)
        np.testing.assert_allclose(rows["beta"][k, :3], fit.params[:3], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(rows["se"][k, :3], fit.bse[:3], rtol=1e-6)
        fitted += 1
    assert fitted > 8


def test_a_cohort_of_cases_only_says_nothing() -> None:
    """Its people count in frequencies; estimates are those without them."""
    pooled = statuses(10, n=900, missing=0.0)
    of = np.minimum(pooled.cohort_of((4, 4, 4, 4, 1)), 4)
    pooled = uneven(pooled, of, 0.3)
    pooled.samples.phenotype[of == 4] = 1
    _, rows = study(pooled, of)
    kept = of != 4
    _, without = study(
        replace(pooled, samples=some(pooled.samples, kept), copies=pooled.copies[:, kept]), of[kept]
    )
    both = np.isin(rows["variant"], without["variant"]) & ~np.isnan(rows["beta"][:, 0])
    places = np.searchsorted(without["variant"], rows["variant"][both])
    same = rows["first_is_a1"][both] == without["first_is_a1"][places]
    assert same.sum() > 20
    found, expected = rows["beta"][both][same], without["beta"][places][same]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_what_leaves_a_cohort_has_no_intercept() -> None:
    small = of_variants("logistic", cohorts=4, cohorts_apart=True, missing="exact")
    asked = followed(small.plan, small.panel, small.cohorts).questions
    names = {question.name for question in asked}
    assert names.isdisjoint({"logistic/null", "logistic/start", "logistic/evaluate"})
    for question in asked:
        if question.name in ("logistic/null-within", "logistic/evaluate-within"):
            for cohort in small.cohorts:
                sent = question.local(cohort)
                gradient, hessian = np.atleast_2d(sent["gradient"], sent["hessian"])
                p = gradient.shape[1]
                assert not gradient[:, 0].any() and not hessian[:, 1:p].any() and (hessian[:, 0] == 1).all()


def test_likelihoods_far_off_are_within_their_bound() -> None:
    """There every linear predictor is clipped, and no intercept makes up for it."""
    small = of_variants("logistic", cohorts=4, cohorts_apart=True, missing="exact")
    asked = followed(small.plan, small.panel, small.cohorts).questions
    trial = next(question for question in asked if isinstance(question, FitCovariatesWithin))
    far = replace(trial, beta=np.full(trial.parameters, 1e4))
    for cohort in small.cohorts:
        assert 0 < -far.local(cohort)["likelihood"] <= far.likelihoods


def test_a_covariate_that_the_cohort_decides_is_refused() -> None:
    pooled = statuses(3, n=400)
    of = pooled.cohort_of(SHARES)
    pooled.samples.covariates[:, 0] = 0.1 * of
    with pytest.raises(Refuse, match="C1: the same value for everybody of each cohort"):
        study(pooled, of)


def test_firths_fit_has_no_place() -> None:
    with pytest.raises(PlanError) as refused:
        check(statuses(3, n=50).plan(4, **APART, firth="firth"))
    assert "choose one of them" in refused.value.problems["firth"]
