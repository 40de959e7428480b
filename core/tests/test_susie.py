"""SuSiE from sums, and the algorithm written plainly over people."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import norm

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.kernels.susie import EFFECTS, Found, susie
from unpooled.methods.ld.leads import LINKAGE
from unpooled.methods.regression.credible_report import shown
from unpooled.methods.regression.credible_sets import TABLE
from unpooled.methods.regression.linear import LINEAR
from unpooled.panel.panel import Panel
from unpooled.pictures import credible
from unpooled.pictures.associations import Associations
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run


def people(seed: int, n: int, m: int, effects: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, m))
    for k in range(1, m):
        x[:, k] += 0.9 * x[:, k - 1]
    x = (x > 0).astype(float) + (np.roll(x, 1, axis=0) > 0)
    y = random.normal(size=n) + sum(effect * x[:, k] for k, effect in effects.items())
    return x - x.mean(axis=0), y - y.mean()


def from_sums(x: np.ndarray, y: np.ndarray) -> Found:
    return susie(x.T @ x, x.T @ y, float(y @ y), len(y), is_number=True)


def plainly(x: np.ndarray, y: np.ndarray, rounds: int) -> np.ndarray:
    """Iterative Bayesian stepwise selection as its authors write it: probabilities, (effects, m)."""
    n, m = x.shape
    x = x / x.std(axis=0, ddof=1)
    d, variance = n - 1.0, y.var(ddof=1)
    count = min(EFFECTS, m)
    alpha, mean, second, prior = np.full((count, m), 1 / m), *np.zeros((2, count, m)), np.zeros(count)
    for _ in range(rounds):
        for k in range(count):
            others = np.delete(np.arange(count), k)
            estimate = x.T @ (y - x @ (alpha[others] * mean[others]).sum(axis=0)) / d
            error = variance / d

            def factors(v: float, b: np.ndarray = estimate, e: float = error) -> np.ndarray:
                return norm.logpdf(b, 0, np.sqrt(v + e)) - norm.logpdf(b, 0, np.sqrt(e))

            best = minimize_scalar(
                lambda at, of=factors: -logsumexp(of(np.exp(at))), bounds=(-30, 15), method="bounded",
                options={"xatol": 1e-9},
            )  # fmt: skip
            prior[k] = np.exp(best.x) if -best.fun > np.log(m) else 0.0
            alpha[k] = np.exp(factors(prior[k]) - logsumexp(factors(prior[k])))
            spread = 1 / (1 / prior[k] + d / variance) if prior[k] else 0.0
            mean[k] = spread / variance * d * estimate
            second[k] = spread + mean[k] ** 2
        effects = alpha * mean
        fits = x @ effects.T
        off = float(np.sum((y - fits.sum(axis=1)) ** 2)) - float(np.sum(fits**2)) + d * np.sum(alpha * second)
        variance = off / n
    alpha[prior == 0] = 0
    return alpha


@pytest.mark.parametrize("effects", [{10: 0.5}, {10: 0.6, 25: -0.5}, {5: 0.4, 6: 0.4, 30: 0.5}])
def test_probabilities_are_those_of_the_algorithm_over_people(effects: dict[int, float]) -> None:
    x, y = people(len(effects), 900, 40, effects)
    found = from_sums(x, y)
    np.testing.assert_allclose(found.pip, 1 - np.prod(1 - plainly(x, y, 20), axis=0), atol=2e-3)
    led = {int(each.members[0]) for each in found.sets}
    assert {k for k in effects if found.pip[k] > 0.95} <= led


def test_tied_variants_share_the_probability() -> None:
    x, y = people(4, 700, 30, {12: 0.6})
    x[:, 3], x[:, 20] = x[:, 12], -x[:, 12]
    found = from_sums(x, y)
    assert np.ptp(found.pip[[3, 12, 20]]) < 1e-9
    (one,) = found.sets
    assert sorted(one.members.tolist()) == [3, 12, 20] and one.purity == pytest.approx(1)


def test_without_an_effect_there_is_no_set() -> None:
    found = from_sums(*people(5, 800, 30, {}))
    assert not found.sets and found.pip.max() < 0.2


def test_of_two_variants_there_are_no_more_effects() -> None:
    x, y = people(6, 60, 2, {0: 1.0})
    found = from_sums(x, y)
    assert len(found.sets) == 1 and found.sets[0].members.tolist() == [0]


def test_scores_of_cases_have_the_variance_of_their_model() -> None:
    """Units of the genotypes do not matter; the residual variance is 1."""
    x, y = people(7, 500, 20, {8: 0.5})
    products, scores = x.T @ x / y.var(), x.T @ y / y.var()
    one = susie(products, scores, np.nan, 500, is_number=False)
    scale = np.linspace(1, 3, 20)
    scaled = susie(products * scale * scale[:, None], scores * scale, np.nan, 500, is_number=False)
    np.testing.assert_allclose(scaled.pip, one.pip, atol=1e-9)
    assert one.sets[0].members[0] == 8


FILES = ("assoc", "clumped", "susie")
PLAN = Plan("linear", "y", 3, NO_KEY, trait="quantitative", files=FILES)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"files": ("assoc", "susie")}, "choose the file clumped, too"),
        ({"dosages": True, "files": ("glm", "susie")}, "called genotypes"),
        ({"genotype_model": "dominant"}, "choose the additive model"),
        ({"interaction": ("age",)}, "without interactions"),
        ({"cohorts_apart": True, "cohorts": 4}, "no common model"),
        ({"masking": "gaussian"}, "choose modular masks"),
    ],
)
def test_a_plan_says_why_it_can_have_no_credible_sets(options: dict[str, Any], said: str) -> None:
    chosen = {"cohorts": 3, "files": FILES, "covariates": (Covariate("age"),), **options}
    plan = Plan(test="linear", phenotype="y", trait="quantitative", compensator_key=NO_KEY, **chosen)
    problem = LINEAR.problems(plan)["files"]
    assert problem.startswith("credible sets, susie: ") and said in problem


def run_of(n: int, positions: list[int], **options: Any) -> dict[str, dict[str, np.ndarray]]:
    """A study of variants that all have effects, at these positions."""
    random, m = np.random.default_rng(n), len(positions)
    copies = random.binomial(2, 0.4, (m, n)).astype(np.int8)
    y, everyone = copies.sum(axis=0) + random.normal(size=n), np.ones(n, bool)
    panel = Panel.of([(1, at, b"v%d" % k, b"A", b"G") for k, at in enumerate(positions)])
    cohorts = [
        ArrayCohort(
            Samples(y[k], np.ones(len(k), np.uint8), everyone[k], everyone[k], np.empty((len(k), 0))),
            copies[:, k],
            np.zeros(m, bool),
        )
        for k in np.array_split(np.arange(n), 3)
    ]
    plan = Plan("linear", "y", 3, NO_KEY, trait="quantitative", files=FILES, **options)
    return run(plan, panel, cohorts)


def test_a_lead_within_reach_of_a_stronger_one_has_no_locus() -> None:
    tables = run_of(600, [1000, 2000, 3000, 900_000, 901_000])
    assert len(np.unique(tables[LINKAGE]["variant"])) == 5
    found = tables[TABLE]
    for own in ({0, 1, 2}, {3, 4}):
        (lead,) = {int(each) for each in found["variant"]} & own
        assert set(found["other"][found["variant"] == lead].tolist()) == own
    assert (found["pip"] > 0.99).all() and (found["credible_set"] > 0).all()


def test_of_a_locus_of_one_variant_nothing_is_known() -> None:
    found = run_of(300, [1000, 900_000])[TABLE]
    assert found["other"].tolist() == found["variant"].tolist() == [0, 1]
    assert np.isnan(found["pip"]).all() and not found["credible_set"].any()


def test_a_region_marks_the_credible_sets_of_its_variants() -> None:
    ids = np.array([b"a", b"b", b"c", b"d"])
    of = Associations({"id": ids, "position": np.arange(4), "neg_log10_p": np.ones(4)}, PLAN)
    found = {
        "variant": np.array([10, 10, 10, 12, 12, 13], np.uint32),
        "other": np.array([10, 11, 99, 11, 12, 13], np.uint32),
        "pip": np.array([0.96, 0.2, 0.9, 0.5, 0.5, np.nan]),
        "credible_set": np.array([1, 0, 1, 2, 2, 0]),
    }
    known = credible.probabilities(found, np.array([10, 11, 12, 13], np.uint32))
    assert known["other"].tolist() == [0, 1, 1, 2]  # neither what was not tested, nor what is not known
    told = credible.around(of, known, np.arange(4))
    assert told is not None
    assert told["pip"] == [0.96, 0.5, 0.5, None] and told["set"] == [0, 1, 1, None]
    assert told["sets"] == [
        {"lead": "a", "number": 1, "variants": 1},
        {"lead": "c", "number": 2, "variants": 2},
    ]
    assert credible.around(of, known, np.array([3])) is None


def test_a_report_lists_the_sets_with_the_most_evidence() -> None:
    found = {
        "variant": np.array([0, 0, 0, 0, 3], np.uint32),
        "other": np.array([0, 1, 2, 3, 3], np.uint32),
        "pip": np.array([0.3, 0.7, 0.99, 0.01, np.nan]),
        "credible_set": np.array([2, 2, 1, 0, 0]),
        "log10_bayes_factor": np.array([9.0, 9.0, 4.0, np.nan, np.nan]),
        "purity": np.array([0.8, 0.8, 1.0, np.nan, np.nan]),
    }
    panel = Panel.of([(1, 1 + k, b"v%d" % k, b"A", b"G") for k in range(4)])
    page = str(shown({TABLE: found}, panel))
    assert "2 credible sets around 2 lead variants" in page and "Of 1 loci nothing is known" in page
    rows = [re.sub(r"<[^>]*>", " ", row).split() for row in page.split("<tr>")[2:]]
    assert [row[:7] for row in rows] == [
        ["v0", "2", "2", "v1", "0.7", "9", "0.8"],
        ["v0", "1", "1", "v2", "0.99", "4", "1"],
    ]
