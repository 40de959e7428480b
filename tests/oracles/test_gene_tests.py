"""Tests of sets of variants, and the same of the pooled genotypes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.methods.genes.options import BETA
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import reports, run

from ..conftest import MICE, Rehearse
from ..plinks import bfiles, plink, rows, split
from .gene_tests import WEIGHTS, Null, columns_of, p_values

COHORTS, SETS, EACH = 3, 4, 9


def study_of(
    seed: int, n: int, trait: str, weights: str = BETA, **more: Any
) -> tuple[Plan, Panel, list[ArrayCohort], tuple[np.ndarray, ...]]:
    """Sets of rare variants, some carried by few, with missing calls and people; the first has an effect.

    Also gives the phenotypes, covariates and copies of everyone.
    """
    random = np.random.default_rng(seed)
    m = SETS * EACH
    frequency = random.choice([0.003, 0.01, 0.04, 0.09], m)
    copies = random.binomial(2, frequency[:, None], (m, n)).astype(np.int8)
    copies[2] = 0
    turned = random.random(m) < 0.4  # the rarer allele is the panel's second
    copies[turned] = 2 - copies[turned]
    covariates = random.normal(size=(n, 2)) * [1, 9] + [0, 50]
    of_first = np.where(turned[:EACH, None], 2 - copies[:EACH], copies[:EACH]).sum(axis=0)
    y = 0.2 * of_first + 0.5 * covariates[:, 0] + random.normal(size=n)
    if trait == "case/control":
        y = (y > np.quantile(y, 0.8)).astype(float)
    copies[random.random(copies.shape) < 0.02] = -1
    y[::31], covariates[5::67, 1] = np.nan, np.nan
    panel = Panel.of([(1 + k // 20, 1 + k, b"v%d" % k, b"A", b"G") for k in range(m)])
    lines = [
        f"G{k} {1 + k} {100 + k} {','.join(f'v{v}' for v in range(EACH * k, EACH * (k + 1)))},nobody's"
        for k in range(SETS)
    ]
    # Two sets overlap; one has no variant that cohorts have.
    lines += ["both 1 1 v0,v1,v3,v4,v5,v9,v10,v0", "none 2 1 unheard,of"]
    named = (Covariate("age"), Covariate("weight"))
    options = {"max_maf": 0.1, "set_weights": weights, "covariates": named} | more
    chosen = {"trait": trait, "set_list": "\n".join(lines), "files": ("regenie",), **options}
    plan = Plan("gene-tests", "y", COHORTS, NO_KEY, **chosen)
    parts = np.split(random.permutation(n), [n // 5, n // 2])
    everyone = np.ones(n, bool)
    cohorts = [
        ArrayCohort(
            Samples(y[p], np.ones(len(p), np.uint8), everyone[p], everyone[p], covariates[p]),
            copies[:, p],
            random.random(m) < 0.5,
        )
        for p in parts
    ]
    return plan, panel, cohorts, (y, covariates, copies)


MEMBERS = [list(range(EACH * k, EACH * (k + 1))) for k in range(SETS)] + [[0, 1, 3, 4, 5, 9, 10], []]
"""The variants of each set."""


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("trait", ["quantitative", "case/control"])
def test_sets_are_tested_as_in_the_pool(trait: str, weights: str) -> None:
    plan, panel, cohorts, people = study_of(len(weights), 1500, trait, weights)
    tables = run(plan, panel, cohorts)
    collapsed = tables["variants"]["collapsed"]
    assert 2 not in tables["variants"]["variant"] and 0 < collapsed.sum() < len(collapsed)
    compare(tables, people, trait, weights)
    assert np.isnan(tables["genes"]["neg_log10_p"]).any(axis=1).sum() == 1
    lines = reports(plan, panel, tables)["regenie"].decode().splitlines()
    assert len(lines) == 1 + 4 * len(MEMBERS) and len({len(line.split()) for line in lines}) == 1
    assert lines[1].split()[:3] == ["1", "100", "G0"]
    assert lines[-1].endswith("NA NA NA NA NO_VARIANT")


@pytest.mark.parametrize("seed", range(5))
def test_sets_of_small_and_uneven_pools_are_tested_so_too(seed: int) -> None:
    random = np.random.default_rng(seed)
    trait, weights = (str(random.choice(of)) for of in (["quantitative", "case/control"], [*WEIGHTS]))
    people, most = int(random.choice([150, 250, 400])), float(random.choice([0.05, 0.1, 0.5]))
    plan, panel, cohorts, everyone = study_of(seed, people, trait, weights, max_maf=most)
    compare(run(plan, panel, cohorts), everyone, trait, weights)


def compare(
    tables: Mapping[str, Mapping[str, np.ndarray]], people: tuple[np.ndarray, ...], trait: str, weights: str
) -> None:
    """Compare the result of a study with the tests of the pooled genotypes."""
    y, covariates, copies = people
    inside = ~np.isnan(y) & ~np.isnan(covariates).any(axis=1)
    null = Null.of(y[inside], covariates[inside], cases=trait != "quantitative")
    variants, sets = tables["variants"], tables["genes"]
    collapsed = dict(zip(variants["variant"].tolist(), variants["collapsed"].tolist(), strict=True))
    assert sets["index"].tolist() == list(range(len(MEMBERS)))
    for k, own in enumerate(MEMBERS):
        if sets["reason"][k]:
            assert np.isnan(sets["neg_log10_p"][k]).all()
            continue
        before = {v for others in MEMBERS[:k] for v in others}
        kept = {
            v: rare for v, rare in collapsed.items() if not rare or (sets["collapsed"][k] and v not in before)
        }
        assert sets["left_out"][k] == sum(v in collapsed and v not in kept for v in own)
        columns, frequency = columns_of(copies[:, inside], own, kept)
        assert sets["columns"][k] + (sets["collapsed"][k] > 0) == columns.shape[1]
        w = WEIGHTS[weights](frequency)
        expected = -np.log10(p_values(null, columns, w, frequency))
        np.testing.assert_allclose(sets["neg_log10_p"][k], expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(sets["a1_freq"][k], frequency.sum(), rtol=1e-12)
        burden, design = columns @ w, sm.add_constant(covariates[inside])
        if trait == "quantitative":  # a score test: the variance is that without the burden
            rest = sm.OLS(burden, design).fit().resid
            expected = rest @ y[inside] / (rest @ rest), np.sqrt(1 / null.weight[0] / (rest @ rest))
            np.testing.assert_allclose((sets["beta"][k], sets["se"][k]), expected, rtol=1e-7)
        else:
            fit = sm.GLM(y[inside], design, family=sm.families.Binomial()).fit(tol=1e-14)
            chi_square = fit.model.score_test(fit.params, exog_extra=burden)[0]
            np.testing.assert_allclose((sets["beta"][k] / sets["se"][k]) ** 2, chi_square, rtol=1e-7)


@pytest.mark.parametrize("trait", ["quantitative", "case/control"])
def test_p_is_small_as_often_as_it_should_be(trait: str) -> None:
    """Sets that nothing is associated with: P below a level is binomial, within its limits of 1 in 10,000."""
    plan, panel, cohorts, _ = null_study(3, 2000, 250, trait)
    p = 10 ** -run(plan, panel, cohorts)["genes"]["neg_log10_p"]
    for level in (0.5, 0.1, 0.01):
        low, high = stats.binom.ppf([0.5e-4, 1 - 0.5e-4], len(p), level)
        below = (p < level).sum(axis=0)
        assert ((low <= below) & (below <= high)).all(), (level, below)


def null_study(
    seed: int, n: int, sets: int, trait: str, each: int = 6
) -> tuple[Plan, Panel, list[ArrayCohort], np.ndarray]:
    """Independent rare variants, and a phenotype that goes with a covariate only."""
    random = np.random.default_rng(seed)
    m = sets * each
    copies = random.binomial(2, random.uniform(0.002, 0.02, m)[:, None], (m, n)).astype(np.int8)
    covariates = random.normal(size=(n, 1))
    y = covariates[:, 0] + random.normal(size=n)
    if trait == "case/control":
        y = (y > 0).astype(float)
    panel = Panel.of([(1, 1 + k, b"v%d" % k, b"A", b"G") for k in range(m)])
    lines = [f"G{k} 1 1 {','.join(f'v{v}' for v in range(each * k, each * (k + 1)))}" for k in range(sets)]
    chosen = {"trait": trait, "set_list": "\n".join(lines), "covariates": (Covariate("age"),), "max_maf": 0.5}
    plan = Plan("gene-tests", "y", COHORTS, NO_KEY, files=("regenie",), **chosen)
    everyone, swapped = np.ones(n, bool), np.zeros(m, bool)
    cohorts = [
        ArrayCohort(
            Samples(y[p], np.ones(len(p), np.uint8), everyone[p], everyone[p], covariates[p]),
            copies[:, p],
            swapped,
        )
        for p in np.array_split(np.arange(n), COHORTS)
    ]
    return plan, panel, cohorts, copies


def test_a_set_of_one_variant_is_tested_as_plink_tests_it(
    founders: Path, mouse_tables: dict[str, Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    """Compare with plink1.9 --linear on real mice: its t has the residual variance beside the genotype."""
    names = [line.split()[1] for line in founders.with_suffix(".bim").read_text().splitlines()][::200]
    (sets := tmp_path / "sets").write_text("".join(f"{name} 1 1 {name}\n" for name in names))
    of = ("--chr-set", 19, "--pheno", mouse_tables["pheno"], "--pheno-name", "first")
    cohorts = bfiles(split(founders, (5, 3, 2), tmp_path, *MICE))
    rehearse("--test", "gene-tests", *cohorts, *of, "--trait", "quantitative", "--set-list", sets,
             "--max-maf", 0.5, "--out", tmp_path / "ours")  # fmt: skip
    plink("--bfile", founders, *of, "--allow-no-sex", "--linear", "--out", tmp_path / "pooled")
    theirs = {row["SNP"]: row for row in rows(tmp_path / "pooled.assoc.linear")}
    ours = [row for row in rows(tmp_path / "ours.regenie") if row["CHISQ"] != "NA"]
    for row in ours:
        n, t = (float(theirs[row["ID"]][name]) for name in ("NMISS", "STAT"))
        score = (n - 1) * t**2 / (t**2 + n - 2)
        assert row["N"] == f"{n:.0f}" and float(row["CHISQ"]) == pytest.approx(score, rel=2e-3, abs=1e-3)
    assert len(ours) > 4 * 40
