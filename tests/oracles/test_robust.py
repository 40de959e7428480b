"""Robust errors are statsmodels' on the pooled people: HC1 of OLS, and the sandwich of Logit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from pooled import GENERATED, MT, Pool, X, Y
from scipy import stats

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.kernels import least_squares as codes
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods import check
from unpooled.panel.panel import Panel
from unpooled.plan.genotype_model import MODELS
from unpooled.plan.plan import NO_KEY, Covariate, Plan, PlanError
from unpooled.run import run

OF_CASES = {"trait": "case/control"}
MODEL_OF: dict[str, dict[str, Any]] = {
    "additive": {},
    "interaction": {"interaction": ("C1",), "joint_test": True},
    "genotypic": {"genotype_model": "genotypic", "interaction": ("C1", "C2"), "joint_test": True},
}


def uneven(test: str, seed: int, missing: float, far: float = 0.0) -> Pool:
    """People whose phenotype varies with the first covariate, of which the effect is a curve.

    `far` is the mean of the covariates, in deviations.
    """
    random, pooled = np.random.default_rng(seed), GENERATED[test](seed, n=700, missing=missing)
    s = pooled.samples
    covariates = s.covariates - np.nanmean(s.covariates, axis=0)
    c = np.nan_to_num(covariates[:, 0])
    if test == "linear":
        phenotype = 1e3 * (c * c + random.normal(size=len(c)) * (0.3 + np.abs(c))) + 7
    else:
        phenotype = (random.random(len(c)) < 1 / (1 + np.exp(1 - c * c))) * 1.0
    phenotype[np.isnan(s.phenotype)] = np.nan
    return replace(pooled, samples=replace(s, phenotype=phenotype, covariates=(covariates + far) * [1, 37]))


def design(
    pooled: Pool, variant: int, first_is_a1: bool, rule: str, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """The phenotype; the intercept and columns in the order of `beta`; which of these are tested jointly."""
    s, (chromosome, _, _, a1, a2) = pooled.samples, pooled.variants[variant]
    names, men = options.get("interaction", ()), s.sex == 1
    copies = pooled.copies[variant]
    g = np.where(copies < 0, np.nan, copies if first_is_a1 == (a1 < a2) else 2 - copies)
    single = men if chromosome in (X, Y) else np.full(len(g), chromosome == MT)
    g = np.where(single, np.where(g == 1, np.nan, g / 2), g)
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1) & (men | (chromosome != Y))
    model = MODELS[options.get("genotype_model", "additive")]
    coded = np.stack([np.interp(g, range(3), each.values) for each in model])
    if rule == "exact":
        inside &= ~np.isnan(g)
    for group in (men, ~men) if chromosome == X else (np.ones_like(men),):
        for column in coded:
            column[group & np.isnan(g)] = np.mean(column[group & inside & ~np.isnan(g)])
    products = [own * s.covariates[:, int(name[1]) - 1] for name in names for own in coded]
    sex = [men * 1.0, *([men * coded[0]] if names else [])] if chromosome == X else []
    found = np.column_stack([np.ones(len(g)), *coded, *s.covariates.T, *products, *sex])[inside]
    first = 1 + len(coded) + s.covariates.shape[1]
    own = [*range(1, 1 + len(coded)), *range(first, first + len(products))]
    return s.phenotype[inside], found, [*own, *([found.shape[1] - 1] if sex else [])]


def of_statsmodels(test: str, y: np.ndarray, x: np.ndarray) -> Any:
    if test == "linear":
        return sm.OLS(y, x).fit(cov_type="HC1", use_t=True)
    return sm.Logit(y, x).fit(disp=0, method="newton", maxiter=100, tol=1e-12, cov_type="HC1")


@pytest.mark.parametrize("far", [0.0, 4.0])
@pytest.mark.parametrize("rule", ["exact", "mean"])
@pytest.mark.parametrize("model", MODEL_OF)
@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_pooled_people_by_statsmodels(test: str, model: str, rule: str, far: float) -> None:
    options, close = MODEL_OF[model], 1e-8 if test == "linear" else 3e-7
    pooled = uneven(test, 5, missing=0.03, far=far)
    about = {"robust": True, "missing": rule, "min_samples": 1, **options}
    _, rows = pooled.study(**about)
    fitted, kinds = 0, set()
    for k, variant in enumerate(rows["variant"].tolist()):
        if rows["code"][k] != codes.FITTED or not (rows["se"][k, 0] < 5 or test == "linear"):
            continue
        y, x, own = design(pooled, variant, bool(rows["first_is_a1"][k]), rule, options)
        fit, p = of_statsmodels(test, y, x), x.shape[1] - 1
        np.testing.assert_allclose(rows["beta"][k, :p], fit.params[1:], rtol=close, atol=close)
        np.testing.assert_allclose(rows["se"][k, :p], fit.bse[1:], rtol=close)
        p_values = 10 ** -rows["neg_log10_p"][k, :p]
        np.testing.assert_allclose(p_values, fit.pvalues[1:], rtol=1e-5, atol=1e-300)
        assert rows["n"][k] == len(y)
        if options:
            b, v = fit.params[own], fit.cov_params()[np.ix_(own, own)]
            np.testing.assert_allclose(rows["joint"][k], b @ np.linalg.solve(v, b), rtol=10 * close)
        fitted += 1
        kinds.add(pooled.variants[variant][0])
    assert fitted > 8 and (kinds >= {1, X, MT} or model == "genotypic")
    _, usual = pooled.study(**about | {"robust": False})
    both = (usual["code"] == codes.FITTED) & (rows["code"] == codes.FITTED)
    assert not np.allclose(rows["se"][both], usual["se"][both], rtol=0.02, equal_nan=True)


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_reports_have_robust_errors_also_in_the_coding_of_plink2(test: str) -> None:
    """`.glm` counts 0 or 2 copies of men on X, and leaves out whoever is of unknown sex there."""
    pooled = uneven(test, 3, missing=0.02)
    files, _ = pooled.study(robust=True, ci=0.95, files=("assoc", "glm"), beta=True, min_samples=1)
    head, *lines = (line.split("\t") for line in files["glm"].decode().splitlines())
    usual = {(row[1], row[4]): row for row in map(str.split, files["assoc"].decode().splitlines())}
    s, found = pooled.samples, {1: 0, X: 0}
    for line in (dict(zip(head, line, strict=True)) for line in lines):
        name = line["ID"].encode()
        variant = next(k for k, each in enumerate(pooled.variants) if each[2] == name)
        chromosome, _, _, a1, _ = pooled.variants[variant]
        if chromosome not in found or line["TEST"] != "ADD" or line["ERRCODE"] != ".":
            continue
        copies = np.where(pooled.copies[variant] < 0, np.nan, pooled.copies[variant])
        copies = copies if line["A1"].encode() == a1 else 2 - copies
        columns = [np.ones(len(copies)), copies, *s.covariates.T]
        x = np.column_stack([*columns, np.where(s.sex == 0, np.nan, s.sex)] if chromosome == X else columns)
        inside = ~np.isnan(np.column_stack([x, s.phenotype])).any(axis=1)
        fit = of_statsmodels(test, s.phenotype[inside], x[inside])
        told = [float(line[name]) for name in ("BETA", "SE", "T_STAT" if test == "linear" else "Z_STAT", "P")]
        wanted = [each[1] for each in (fit.params, fit.bse, fit.tvalues, fit.pvalues)]
        np.testing.assert_allclose(told, wanted, rtol=2e-5, atol=1e-300)
        low, high = float(line["L95"]), float(line["U95"])
        assert (high - low) / 2 == pytest.approx(stats.norm.ppf(0.975) * fit.bse[1], rel=1e-4)
        if chromosome == 1:
            np.testing.assert_allclose(np.array(usual[line["ID"], "ADD"][6:12], float)[[0, 1, 4]],
                                       [wanted[0], wanted[1], wanted[2]], rtol=1e-3)  # fmt: skip
        found[chromosome] += 1
    assert min(found.values()) > 5


@pytest.mark.parametrize("rule", ["exact", "mean"])
@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_dosages(test: str, rule: str) -> None:
    random, n, m = np.random.default_rng(8), 600, 12
    copies = random.binomial(2, random.uniform(0.25, 0.75, (m, 1)), (m, n)).astype(np.int8)
    units = np.rint(np.clip(copies + random.normal(0, 0.3, (m, n)), 0, 2) * COPY).astype(np.uint16)
    lacking = random.random((m, n)) < 0.03
    units[lacking], copies[lacking] = NO_DOSAGE, -1
    c = random.normal(size=n)
    y = c * c + random.normal(size=n) * np.abs(c)
    y = y if test == "linear" else (y > 1) * 1.0
    everyone, of = np.ones(n, bool), random.integers(0, 3, n)
    cohorts = [
        ArrayCohort(
            Samples(y[who], np.ones(who.sum(), np.uint8), everyone[who], everyone[who], c[who, None]),
            copies[:, who],
            np.zeros(m, bool),
            units[:, who],
        )
        for who in (of == k for k in range(3))
    ]
    plan = Plan(test, "y", 3, NO_KEY, trait="quantitative" if test == "linear" else "case/control",
                covariates=(Covariate("C1"),), interaction=("C1",), robust=True, dosages=True, missing=rule,
                files=("glm",), min_samples=1)  # fmt: skip
    rows = run(plan, Panel.of([(1, 1 + k, b"rs%d" % k, b"A", b"C") for k in range(m)]), cohorts)["variants"]
    assert (rows["code"] == codes.FITTED).all() and len(rows["code"]) == m
    for k in range(m):
        d = np.where(lacking[k], np.nan, units[k] / COPY)
        d = d if rows["first_is_a1"][k] else 2 - d
        d = np.where(np.isnan(d), np.nanmean(d), d) if rule == "mean" else d
        x = np.column_stack([np.ones(n), d, c, d * c])[~np.isnan(d)]
        fit = of_statsmodels(test, y[~np.isnan(d)], x)
        np.testing.assert_allclose(rows["se"][k], fit.bse[1:], rtol=1e-7)
        np.testing.assert_allclose(rows["beta"][k], fit.params[1:], rtol=1e-7, atol=1e-9)


def test_a_tie_counts_the_allele_that_most_cohorts_call_a1() -> None:
    """The residuals are of copies of the other allele than the first sums were of."""
    for test in ("linear", "logistic"):
        pooled = uneven(test, 2, missing=0.0)
        copies = pooled.copies.copy()
        copies[:] = np.where(np.arange(copies.shape[1]) % 2, 2, 0)
        copies[:, :40] = np.random.default_rng(1).permutation(np.repeat([0, 1, 1, 2], 10))
        pooled = replace(pooled, copies=copies)
        _, rows = pooled.study(robust=True, missing="exact", min_samples=1)
        chosen = {bool(first) for first in rows["first_is_a1"]}
        assert chosen == {True, False}
        for k, variant in enumerate(rows["variant"].tolist()):
            if rows["code"][k] == codes.FITTED:
                y, x, _ = design(pooled, variant, bool(rows["first_is_a1"][k]), "exact", {})
                fit = of_statsmodels(test, y, x)
                np.testing.assert_allclose(rows["se"][k, : x.shape[1] - 1], fit.bse[1:], rtol=3e-7)


def test_a_linear_regression_has_none_of_few_carriers() -> None:
    """Cohorts are told the sums that its estimates follow from: by the rule `mean` there is a floor."""
    pooled = uneven("linear", 4, missing=0.0)
    files, found = pooled.study(robust=True, missing="mean", files=("assoc", "glm"))
    _, exact = pooled.study(robust=True, missing="exact")
    _, usual = pooled.study(missing="mean")
    few = found["code"] == codes.FEW
    assert few.any() and (usual["code"][few] == codes.FITTED).all() and np.isnan(found["beta"][few]).all()
    autosomal = np.isin([pooled.variants[k][0] for k in found["variant"].tolist()], (1, 22))
    both = autosomal & (found["code"] == codes.FITTED)
    for name in ("beta", "se", "neg_log10_p"):
        np.testing.assert_array_equal(found[name][both], exact[name][both])
    assert files["glm"].count(b"FEW_CARRIERS") > 0 and not (exact["code"] == codes.FEW).any()


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"masking": "gaussian"}, "robust", "modular"),
        ({"cohorts_apart": True}, "robust", "choose one"),
        ({"files": ("assoc", "meta")}, "robust", "leave out the file meta"),
        ({"test": "logistic", **OF_CASES, "firth": "firth", "files": ("glm",)}, "firth", "--robust"),
        ({"test": "chi-square", **OF_CASES}, "robust", "does not have this"),
    ],
)
def test_plans_without_robust_errors(changes: dict[str, Any], field: str, says: str) -> None:
    fields = {"test": "linear", "phenotype": "y", "cohorts": 5, "trait": "quantitative", **changes}
    with pytest.raises(PlanError) as refused:
        check(Plan(compensator_key=NO_KEY, robust=True, **fields))
    assert says in refused.value.problems[field]
