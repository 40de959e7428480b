"""Credible sets of federated studies, and those that R's susieR finds in the pooled genotypes."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled import Quantities, mice
from scipy import stats

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.methods.regression.credible_sets import TABLE
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import reports, run

from ..plinks import call, needed

M, KB = 60, 1000

# Of a number susieR is given the data themselves, without what the covariates explain; of cases and controls
# the scores at the covariates' model, and how they go together there.
R = """
suppressMessages(library(susieR))
a <- commandArgs(TRUE)
read <- function(name) as.matrix(read.csv(file.path(a[1], name), header = FALSE))
X <- read("x.csv"); y <- read("y.csv")[, 1]; C <- read("c.csv"); n <- length(y)
if (a[2] == "quantitative") {
  left <- function(v) residuals(lm(v ~ C))
  s <- susie(apply(X, 2, left), left(y), max_iter = 1000)
} else {
  p <- fitted(glm(y ~ C, family = binomial(), control = list(epsilon = 1e-14)))
  D <- cbind(1, C); w <- p * (1 - p)
  V <- crossprod(X, w * X) - crossprod(X, w * D) %*% solve(crossprod(D, w * D), crossprod(D, w * X))
  z <- crossprod(X, y - p)[, 1] / sqrt(diag(V))
  s <- susie_suff_stat((n - 1) * cov2cor(V), sqrt(n - 1) * z, n = n, yty = n - 1,
                       estimate_residual_variance = FALSE, max_iter = 1000)
}
text <- function(v) paste0("[", if (length(v)) paste(format(v, digits = 17), collapse = ","), "]")
sets <- vapply(s$sets$cs, text, "")
# Its own coverage is that of another set where one is left out as impure.
coverage <- mapply(function(l, own) sum(s$alpha[l, own]), s$sets$cs_index, s$sets$cs)
lbf <- s$lbf[s$sets$cs_index]
cat(paste0('{"pip":', text(s$pip), ',"sets":[', paste(sets, collapse = ","), '],"lbf":', text(lbf),
           ',"coverage":', text(coverage), ',"purity":', text(s$sets$purity$min.abs.corr), "}"))
"""


@dataclass(frozen=True, eq=False)
class People:
    """A locus in which the first variant in its middle has an effect, or none has, with a covariate."""

    people: int
    effects: tuple[float, ...] = ()
    """Each of another variant, ten apart."""
    missing: float = 0.0
    ties: int = 0
    """Number of further variants that are like the first with an effect, or its mirror image."""
    condition: tuple[int, ...] = ()
    """Variants that the plan conditions on."""
    components: int = 0

    @functools.cached_property
    def drawn(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies int8 (M, n), the number, and the covariate (n, 1)."""
        random = np.random.default_rng(self.people)
        along = random.normal(size=(2, M, self.people))
        for k in range(1, M):
            along[:, k] = 0.9 * along[:, k - 1] + np.sqrt(0.19) * along[:, k]
        frequency = random.uniform(0.1, 0.5, M)
        copies = (along > stats.norm.ppf(1 - frequency)[None, :, None]).sum(axis=0).astype(np.int8)
        age = random.normal(size=self.people) + 0.5 * copies[25]
        y = sum(effect * copies[20 + 10 * k] for k, effect in enumerate(self.effects)) + 0.7 * age
        for k in range(self.ties):
            copies[21 + k] = copies[20] if k % 2 else 2 - copies[20]
        copies[random.random(copies.shape) < self.missing] = -1
        return copies, y + random.normal(size=self.people), age[:, None]

    @property
    def covariates(self) -> np.ndarray:
        """All that the plan has, principal components but for their size: (n, c)."""
        copies, _, age = self.drawn
        p = copies.mean(axis=1, keepdims=True) / 2
        z = (copies - 2 * p) / np.sqrt(2 * p * (1 - p))
        scores = np.linalg.svd(z, full_matrices=False)[2][: self.components]
        return np.column_stack([age, *copies[[*self.condition]], *scores])

    def phenotype(self, trait: str) -> np.ndarray:
        y = self.drawn[1]
        return y if trait == "quantitative" else (y > np.quantile(y, 0.7)).astype(float)


CASES = {
    "two in linkage": People(1500, (0.3, -0.3)),
    "none": People(1200),
    "ties": People(1300, (0.4,), ties=3),
    "missing calls": People(1400, (0.35, 0.3), missing=0.05),
    "few people": People(110, (1.2,)),
    "three": People(2500, (0.3, 0.3, 0.25)),
    "beside a condition": People(2500, (0.3, 0.3, 0.25), condition=(20,)),
    "beside components": People(2500, (0.3, 0.3, 0.25), components=2),
    "beside both": People(2500, (0.3, 0.3, 0.25), condition=(40,), components=1),
}


def study(people: People, trait: str, rule: str) -> tuple[dict[str, np.ndarray], bytes]:
    """The rows of the credible sets of a study, and their file."""
    copies, _, covariates = people.drawn
    y, everyone = people.phenotype(trait), np.ones(people.people, bool)
    panel = Panel.of([(1, KB * (1 + k), b"v%d" % k, b"A", b"G") for k in range(M)])
    random = np.random.default_rng(1)
    parts = np.array_split(random.permutation(people.people), 3)
    cohorts = [
        ArrayCohort(
            Samples(y[k], np.ones(len(k), np.uint8), everyone[k], everyone[k], covariates[k]),
            copies[:, k],
            random.random(M) < 0.5,
        )
        for k in parts
    ]
    options: dict[str, Any] = {"trait": trait, "missing": rule, "clump_p1": 0.05}
    options |= {"condition": tuple(f"v{k}" for k in people.condition), "components": people.components}
    test = "linear" if trait == "quantitative" else "logistic"
    plan = Plan(test, "y", 3, NO_KEY, covariates=(Covariate("age"),), files=FILES, **options)
    tables = run(plan, panel, cohorts)
    return tables[TABLE], reports(plan, panel, tables)["susie"]


FILES = ("assoc", "clumped", "susie")


def of_susier(copies: np.ndarray, y: np.ndarray, c: np.ndarray, trait: str, folder: Path) -> dict[str, Any]:
    """Ask susieR about some variants of the pool, (m, n); a missing call is the mean."""
    has_r = shutil.which("Rscript")
    found = has_r and subprocess.run(["Rscript", "-e", "library(susieR)"], capture_output=True, check=False)
    needed(found and not found.returncode, "susieR", "r-cran-susier")
    x = np.where(copies < 0, np.nan, copies.astype(float))
    x = np.where(np.isnan(x), np.nanmean(x, axis=1, keepdims=True), x).T
    for name, values in (("x", x), ("y", y), ("c", c)):
        np.savetxt(folder / f"{name}.csv", values, delimiter=",", fmt="%.17g")
    (folder / "susie.R").write_text(R)
    answer: dict[str, Any] = json.loads(call("Rscript", folder / "susie.R", folder, trait))
    return answer


def compare(found: dict[str, np.ndarray], expected: dict[str, Any], near: float = 1e-6) -> int:
    """Compare the rows of one locus with what susieR says of it; return the number of sets."""
    np.testing.assert_allclose(found["pip"], expected["pip"], rtol=0, atol=near)
    sets = [np.array(members) - 1 for members in expected["sets"]]
    assert found["credible_set"].max(initial=0) == len(sets)
    for k, members in enumerate(sets):
        ours = np.flatnonzero(found["credible_set"] == found["credible_set"][members[0]])
        assert set(ours.tolist()) == set(members.tolist())
        for column in ("coverage", "purity"):
            np.testing.assert_allclose(found[column][ours], expected[column][k], atol=near)
        factor = expected["lbf"][k] / np.log(10)
        np.testing.assert_allclose(found["log10_bayes_factor"][ours], factor, atol=10 * near)
    return len(sets)


@pytest.mark.parametrize("trait", ["quantitative", "case/control"])
@pytest.mark.parametrize("name", CASES)
def test_credible_sets_are_those_of_susier(name: str, trait: str, tmp_path: Path) -> None:
    people = CASES[name]
    found, _ = study(people, trait, "exact" if name == "missing calls" else "mean")
    assert len(np.unique(found["variant"])) == 1
    own = people.drawn[0][found["other"]]
    sets = compare(found, of_susier(own, people.phenotype(trait), people.covariates, trait, tmp_path))
    assert (sets > 0) == (name != "none")


@pytest.mark.parametrize("founders", [True, False])
def test_loci_of_mice_are_those_of_susier(founders: bool, tmp_path: Path) -> None:
    """Real linkage, many variants alike, people without a phenotype; also without founders, where every hit
    leads a clump of its own.
    """
    every = mice(6)
    here = [k for k, (chromosome, *_) in enumerate(every.variants) if chromosome == 17]
    samples = replace(every.samples, founder=np.full(len(every.samples), founders))
    pool = Quantities(samples, [every.variants[k] for k in here], every.copies[here], 19)
    plan = pool.plan(3, files=FILES, missing="mean", maf=0.05, clump_kb=2000.0)
    found = run(plan, Panel.of(pool.variants), pool.cohorts((2, 3, 4)))[TABLE]
    inside, sets = ~np.isnan(pool.samples.phenotype), 0
    of_people = pool.samples.phenotype[inside], pool.samples.covariates[inside]
    leads = np.unique(found["variant"])
    for lead in leads[:4]:
        own = {name: column[found["variant"] == lead] for name, column in found.items()}
        expected = of_susier(pool.copies[own["other"]][:, inside], *of_people, "quantitative", tmp_path)
        sets += compare(own, expected, near=1e-5)
    assert len(leads) > 3 and sets > 3


def test_few_people_have_few_variants() -> None:
    """A locus has those nearest to its lead: one for ten people, and for five without any one cohort."""
    found, _ = study(CASES["few people"], "quantitative", "mean")
    lead, other = int(found["variant"][0]), found["other"].astype(int)
    assert len(other) == 11 and np.abs(other - lead).max() <= 6


def test_the_file_has_a_line_for_each_variant() -> None:
    rows, file = study(CASES["ties"], "quantitative", "mean")
    head, *lines = (line.split("\t") for line in file.decode().splitlines())
    assert head[:7] == ["LEAD", "CHR", "SNP", "BP", "A1", "PIP", "CS"] and len(lines) == len(rows["other"])
    tied = [line for line in lines if line[2] in ("v20", "v21", "v22", "v23")]
    assert len({line[5] for line in tied}) == 1 and {line[6] for line in tied} == {"1"}
    outside = next(line for line in lines if line[6] == "0")
    assert outside[7:] == ["NA"] * 3
