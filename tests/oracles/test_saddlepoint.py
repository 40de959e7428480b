"""The saddlepoint test of federated studies, and that of the pooled rows."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.methods.regression.logistic import LOGISTIC
from unpooled.methods.regression.saddlepoint import TABLE
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import reports, run

from .imputing import copies_of, near
from .saddlepoint import LEAST_FAR, covariates_model, log_tail, score

M = 120


@dataclass(frozen=True, eq=False)
class People:
    """Variants from common to rare, of which a few are likelier in cases, in three uneven cohorts."""

    people: int
    controls: int
    """Number for each case."""
    covariates: int = 0
    missing: float = 0.0
    rarest: float = 0.003
    strength: float = 1.2
    variants: int = M
    imputed: bool = False

    @functools.cached_property
    def drawn(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies int8 (m, n), who is a case, and the covariates (n, c)."""
        random = np.random.default_rng(self.people + self.controls)
        frequency = np.geomspace(self.rarest, 0.5, self.variants)
        copies = random.binomial(2, frequency[:, None], (self.variants, self.people)).astype(np.int8)
        c = random.normal(size=(self.people, self.covariates)) * 3 + 40
        copies[::5] = random.binomial(2, special.expit(special.logit(frequency[::5, None]) + self._of(c)))
        bear = random.permutation(self.variants)[: self.variants // 20]
        effects = self.strength * (bear % 3 == 0)
        carried = effects[:, None] * (copies[bear] - 2 * frequency[bear, None])
        risk = carried.sum(axis=0) + 1.5 * self._of(c) + random.logistic(size=self.people)
        is_case = risk > np.quantile(risk, 1 - 1 / (1 + self.controls))
        copies[random.random(copies.shape) < self.missing] = -1
        return copies, is_case.astype(float), c

    @functools.cached_property
    def dosages(self) -> np.ndarray:
        return near(self.drawn[0], np.random.default_rng(2))

    @property
    def copies(self) -> np.ndarray:
        """Copies that a study counts, (m, n); -1 where there are none."""
        return copies_of(self.dosages) if self.imputed else self.drawn[0]

    @functools.cached_property
    def cohorts(self) -> list[np.ndarray]:
        """People of each cohort."""
        of = np.random.default_rng(1).choice(3, self.people, p=(0.2, 0.3, 0.5))
        return [np.flatnonzero(of == each) for each in range(3)]

    def has_floors(self, variant: int) -> bool:
        """Tell whether cohorts have twenty carriers of each allele, if none counts for more than ten."""
        copies = np.floor(self.copies[variant] + 0.5)
        carried = [[(copies[k] > 0).sum(), ((copies[k] >= 0) & (copies[k] < 2)).sum()] for k in self.cohorts]
        return bool(np.minimum(carried, 10).sum(axis=0).min() >= 20)

    @staticmethod
    def _of(c: np.ndarray) -> np.ndarray:
        return np.asarray((c - 40).sum(axis=1) / 5)


CASES = {
    "many cases": People(1500, 1),
    "1 in 6, no covariates": People(2000, 5),
    "1 in 6, missing calls": People(2000, 5, 2, missing=0.05),
    "1 in 51": People(4000, 50, 2),
    "1 in 51, no covariates, missing calls": People(4000, 50, missing=0.1),
    "1 in 201": People(8000, 200, 2, rarest=0.001),
    "1 in 201, no covariates": People(8000, 200, rarest=0.001),
    "1 in 201, strong": People(8000, 200, 2, rarest=0.001, strength=4.0),
    "few people": People(300, 5, 1, rarest=0.02),
    "dosages, missing": People(2000, 50, 2, missing=0.05, rarest=0.01, imputed=True),
}


def plan_of(people: People, **options: Any) -> Plan:
    names = tuple(Covariate(f"c{k}") for k in range(people.covariates))
    return Plan("logistic", "y", 3, NO_KEY, **{"covariates": names, "files": ("assoc", "spa")} | options)


def study(people: People) -> tuple[dict[str, np.ndarray], list[list[str]]]:
    """The rows of a study, and the lines of its file."""
    copies, y, c = people.drawn
    everyone, random = np.ones(people.people, bool), np.random.default_rng(1)
    cohorts = [
        ArrayCohort(
            Samples(y[k], np.ones(len(k), np.uint8), everyone[k], everyone[k], c[k]),
            copies[:, k],
            random.random(people.variants) < 0.5,
            people.dosages[:, k] if people.imputed else None,
        )
        for k in people.cohorts
    ]
    panel = Panel.of([(1, 1 + k, b"v%d" % k, b"A", b"G") for k in range(people.variants)])
    files = ("glm" if people.imputed else "assoc", "spa")
    plan = plan_of(people, dosages=people.imputed, files=files)
    tables = run(plan, panel, cohorts)
    lines = reports(plan, panel, tables)["spa"].decode().splitlines()
    return tables.get(TABLE, {}), [line.split("\t") for line in lines]


@pytest.mark.parametrize("name", CASES)
def test_tails_are_those_of_the_formula(name: str) -> None:
    people = CASES[name]
    rows, _ = study(people)
    _, y, c = people.drawn
    design = np.column_stack([np.ones(len(y)), c])
    p, far = covariates_model(y, design), 0
    for k, variant in enumerate(rows["variant"]):
        own = {name: column[k] for name, column in rows.items()}
        assert np.isnan(own["score"]) != people.has_floors(variant)
        if np.isnan(own["score"]):
            continue
        t, variance, g = score(people.copies[variant], y, p, design)
        np.testing.assert_allclose((own["score"], own["score_variance"]), (t, variance), rtol=1e-6, atol=1e-5)
        normal = stats.norm.logsf(abs(t) / np.sqrt(variance)) + np.log(2)
        assert own["score_neg_log10_p"] == pytest.approx(-normal / np.log(10), abs=1e-5)
        if t * t <= LEAST_FAR * variance:
            assert np.isnan(own["neg_log10_p"])
            continue
        tails = np.logaddexp(*(log_tail(g, p, s) for s in (abs(t), -abs(t))))
        assert own["neg_log10_p"] == pytest.approx(-tails / np.log(10), rel=1e-6, abs=1e-6), variant
        far += 1
    assert far > 2 and np.all(rows["n"] == people.people)
    assert len(rows["variant"]) == people.variants


@pytest.mark.parametrize("carriers", [20, 30, 39, 40])
def test_a_variant_that_only_cases_carry(carriers: int) -> None:
    """Its saddlepoint is far out: only what noncarriers differ by from 0 leads there. If all 40 cases carry
    it there is none.
    """
    people = People(6000, 150, 0, variants=20)
    copies, y, _ = people.drawn
    copies[4] = 0
    copies[4, np.concatenate([own[y[own] == 1] for own in people.cohorts])[:carriers]] = 1
    rows, _ = study(people)
    p = np.full(len(y), y.mean())
    t, _, g = score(copies[4], y, p, np.ones((len(y), 1)))
    expected = -np.logaddexp(log_tail(g, p, t), log_tail(g, p, -t)) / np.log(10)
    found = rows["neg_log10_p"][4]
    assert np.isnan(found) == (not people.has_floors(4))
    assert np.isnan(found) or found == pytest.approx(expected, rel=1e-6)


def test_the_file_has_a_line_for_each_variant_and_scores_of_a1() -> None:
    people = CASES["1 in 51"]
    rows, (head, *lines) = study(people)
    assert head == ["CHR", "SNP", "BP", "A1", "N", "T", "VAR", "P_SCORE", "P_SPA"]
    assert [line[1] for line in lines] == [f"v{k}" for k in rows["variant"]]
    copies, y, c = people.drawn
    design = np.column_stack([np.ones(len(y)), c])
    p = covariates_model(y, design)
    for line, variant in zip(lines, rows["variant"], strict=True):
        first = line[3] == "A"
        assert (copies[variant].mean() < 1) == first
        if line[5] == "NA":
            continue
        expected = score(copies[variant], y, p, design)[0]
        assert float(line[5]) == pytest.approx(expected if first else -expected, rel=1e-4, abs=1e-4)
    with_tails = [line for line in lines if line[8] != "NA"]
    assert {float(line[7]) < 0.05 for line in with_tails} == {True} and len(with_tails) < len(lines)


def test_a_genotype_that_covariates_determine_has_no_score() -> None:
    people = People(600, 3, covariates=1, rarest=0.1, variants=20)
    copies, y, _ = people.drawn
    vars(people)["drawn"] = copies, y, copies[3, :, None].astype(float)
    rows, lines = study(people)
    assert np.flatnonzero(np.isnan(rows["score"])).tolist() == [3]
    assert lines[1 + 3][5:] == ["NA"] * 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"genotype_model": "dominant"}, "choose the additive model"),
        ({"interaction": ("c0",)}, "without interactions"),
        ({"cohorts_apart": True, "cohorts": 4}, "no common model"),
        ({"masking": "gaussian"}, "choose modular masks"),
    ],
)
def test_a_plan_says_why_it_can_have_no_saddlepoint(options: dict[str, Any], said: str) -> None:
    chosen = {"cohorts": 3, "covariates": (Covariate("c0"),), "files": ("assoc", "spa"), **options}
    problem = LOGISTIC.problems(Plan("logistic", "y", compensator_key=NO_KEY, **chosen))["files"]
    assert problem.startswith("the saddlepoint test, spa: ") and said in problem
