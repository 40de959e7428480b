"""Cohorts apart: linear regression as both PLINKs print it with an indicator of each cohort as covariate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import followed
from pooled import Quantities, quantities

from tests.contract.studies import of_variants
from unpooled.asking.cohort import ArrayCohort
from unpooled.errors import Refuse
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods import check
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan, PlanError
from unpooled.run import run

from ..people import people, some
from .reports import same

SHARES = (9, 2, 5, 1, 4)
APART: dict[str, Any] = {"cohorts_apart": True, "files": ("assoc", "glm")}
SINGULAR = ("VIF_INFINITE", "CORR_TOO_HIGH", "INVALID_RESULT", "RANK_DEFICIENT")
"""Codes of plink2 where one column follows from others: its rounding decides which."""
Reports = Callable[[Quantities, np.ndarray], tuple[bytes, list[list[str]]]]


def with_indicators(pooled: Quantities, of: np.ndarray) -> Quantities:
    return pooled.beside(pooled.samples.covariates, of[:, None] == np.arange(1, of.max() + 1))


@pytest.fixture
def plinks(tmp_path: Path) -> Reports:
    """PLINK 1.9's report and the lines of plink2's, without what is about the indicators."""

    def call(pooled: Quantities, of: np.ndarray) -> tuple[bytes, list[list[str]]]:
        together = with_indicators(pooled, of)
        names = set(together.covariates[len(pooled.covariates) :])
        one = Path(f"{together.plink1(tmp_path, '--linear')}.assoc.linear").read_text().splitlines()
        own = "".join(f"{line}\n" for line in one if not names & set(line.split()))
        two = together.plink2(tmp_path, "--glm")
        return own.encode(), [line for line in two if not names & set(line)]

    return call


def test_variants_that_say_something_in_some_cohorts_only(plinks: Reports) -> None:
    """If a cohort has no call, or the genotype follows from the cohort, indicators leave nothing."""
    pooled = quantities(3, n=400, missing=0.02)
    of, copies = pooled.cohort_of(SHARES), pooled.copies
    copies[30, of == 1] = copies[31, of == 0] = copies[80, of == 1] = -1  # of one cohort nobody
    copies[32, of == 1], copies[33, of != 1] = 0, 2  # varies in all but one, and in one only
    copies[34] = 2 * np.isin(of, [0, 2])
    copies[35] = 1 + (of == 0)
    copies[36, of != 0] = copies[37, np.isin(of, [1, 3, 4])] = -1
    pooled.samples.sex[of == 3] = 2  # nobody on Y
    ours, rows = pooled.study(shares=SHARES, **APART)
    one, two = plinks(pooled, of)
    same(ours["assoc"], one, 0.99)
    same_glm(ours["glm"], two)
    place = np.searchsorted(rows["variant"], [30, 31, 32, 33, 34, 35, 36, 37, 80])
    assert np.isfinite(rows["beta"][place, 0]).tolist() == [False, False, True, True, *[False] * 5]


def test_on_x_nobody_varies_where_only_one_man_has_both_alleles(plinks: Reports) -> None:
    """Copies change with sex alone, of the allele that all have: of the other nothing is to be left."""
    pooled = quantities(3, n=400, missing=0.02)
    of, copies = pooled.cohort_of(SHARES), pooled.copies
    on_x = [k for k, variant in enumerate(pooled.variants) if variant[0] == 23]
    man = np.flatnonzero(pooled.samples.sex == 1)[0]
    for k in on_x:
        copies[k, copies[k] >= 0] = 2 * (k % 2)
        copies[k, man] = 1
    ours, rows = pooled.study(shares=SHARES, **APART)
    one, two = plinks(pooled, of)
    same(ours["assoc"], one, 0.99)
    same_glm(ours["glm"], two)
    found = rows["beta"][np.isin(rows["variant"], on_x), 0]
    assert len(found) > 5 and np.isnan(found).all()


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_covariates_of_any_size_and_cohorts_that_are_far_apart(scale: float, plinks: Reports) -> None:
    pooled = quantities(6, n=400, scale=scale)
    of = pooled.cohort_of(SHARES)
    s = pooled.samples
    pooled = replace(pooled, samples=replace(s, phenotype=s.phenotype + 1e6 * of))
    same(pooled.study(shares=SHARES, **APART)[0]["assoc"], plinks(pooled, of)[0], 0.98)


def same_glm(ours: bytes, theirs: list[list[str]]) -> None:
    """Line by line, but for what plink2 says of its covariates in units of its own."""
    heads, *lines = [line.split("\t") for line in ours.decode().splitlines()]
    assert heads == theirs[0] and len(lines) == len(theirs) - 1
    numbers = [heads.index(name) for name in ("BETA", "SE", "T_STAT", "P")]
    others = [k for k in range(len(heads)) if k not in numbers]
    found = {(line[2], line[heads.index("TEST")]): line for line in lines}
    for line in theirs[1:]:
        own = found[line[2], line[heads.index("TEST")]]
        if line[-1] in SINGULAR:
            assert own[-1] in SINGULAR and own[:-1] == line[:-1]
            continue
        assert [own[k] for k in others] == [line[k] for k in others]
        if "NA" in line:
            assert own == line
            continue
        (beta, se, t, p), (b, s, u, q) = ([float(one[k]) for k in numbers] for one in (own, line))
        if line[heads.index("TEST")] in ("ADD", "SEX"):
            assert abs(beta - b) < 1e-4 * s and abs(se - s) < 1e-5 * s, (own, line)
        assert abs(t - u) < 1e-3 * max(1, abs(u)) and abs(p - q) < 5e-3 * q, (own, line)


def test_a_covariate_that_the_cohort_decides_is_refused() -> None:
    pooled = quantities(3, n=300)
    of = pooled.cohort_of(SHARES)
    pooled.samples.covariates[:, 0] = 0.1 * of
    with pytest.raises(Refuse, match="C1: the same value for everybody of each cohort") as refused:
        pooled.study(shares=SHARES, **APART)
    assert refused.value.field == "covariates"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cohorts": 3}, "at least 4 cohorts, not 3"),
        ({"genotype_model": "dominant", "files": ("assoc",)}, "additive"),
        ({"masking": "gaussian"}, "modular"),
        ({"covariates": (Covariate("age"),), "covar_variance_standardize": True}, "--covar-variance"),
        ({"test": "logistic", "trait": "case/control", "cohorts": 3}, "at least 4 cohorts, not 3"),
        ({"test": "chi-square", "trait": "case/control"}, "does not have this"),
    ],
)
def test_plans_that_cannot_keep_cohorts_apart(changes: dict[str, Any], says: str) -> None:
    fields = {"test": "linear", "phenotype": "y", "cohorts": 5, "trait": "quantitative", **changes}
    with pytest.raises(PlanError) as refused:
        check(Plan(compensator_key=NO_KEY, cohorts_apart=True, **fields))
    assert says in refused.value.problems["cohorts_apart"]


@pytest.mark.parametrize(
    ("copies", "digits", "least", "most"), [(20, 12, 1, 2), (20, 6, 2, 4), (100, 6, 3, 18)]
)
def test_how_many_allele_counts_fit_a_sum_of_squares(copies: int, digits: int, least: int, most: int) -> None:
    """Test what docs/linear.md says of the sum of squares about the cohorts' means, to so many digits."""
    n, random, one = np.array([1200, 2100, 900, 1700]), np.random.default_rng(1), np.arange(copies + 1)
    three = np.meshgrid(one, one, one, indexing="ij", sparse=True)
    parts = [*three, copies - sum(three)]
    squares = copies - sum(part**2 / size for part, size in zip(parts, n, strict=True))
    found = []
    for _ in range(5):
        true = copies - (random.multinomial(copies, n / n.sum()) ** 2 / n).sum()
        half = 0.5 * 10.0 ** (np.floor(np.log10(true)) - digits + 1)
        found.append(np.count_nonzero((parts[-1] >= 0) & (np.abs(squares - true) <= half)))
    assert (min(found), max(found)) == (least, most)


@pytest.mark.parametrize("seed", range(8))
def test_random_federations_with_dosages_are_least_squares_with_indicators(seed: int) -> None:
    """Uneven cohorts of other frequencies and phenotypes; some cohorts have calls only."""
    random = np.random.default_rng(seed)
    sizes = random.integers(6, 120, random.integers(4, 9))
    of, n, m = np.repeat(np.arange(len(sizes)), sizes), int(sizes.sum()), 30
    chance = random.random((m, len(sizes)))[:, of]
    copies = random.binomial(2, chance).astype(np.int8)
    dosages = np.clip(copies + random.normal(0, 0.3, (m, n)), 0, 2)
    dosages[:, of % 3 == 0] = copies[:, of % 3 == 0]
    units = np.rint(dosages * COPY).astype(np.uint16)
    lacking = random.random((m, n)) < random.choice([0, 0.02, 0.2])
    units[lacking], copies[lacking] = NO_DOSAGE, -1
    covariates = random.normal(size=(n, random.integers(0, 3))) + 5.0 * of[:, None]
    y = random.normal(size=n) + 100.0 * random.normal(size=len(sizes))[of] + dosages[0]
    y[random.random(n) < 0.05] = np.nan
    cohorts = [
        ArrayCohort(
            some(people(y, covariates), who),
            copies[:, who],
            random.random(m) < 0.5,
            units[:, who] if k % 3 else None,
        )
        for k in range(len(sizes))
        for who in [of == k]
    ]
    rule = ("exact", "mean")[seed % 2]
    fields = {"trait": "quantitative", "missing": rule, "files": ("glm",), "dosages": True, "min_samples": 1}
    names = tuple(Covariate(f"C{k}") for k in range(covariates.shape[1]))
    plan = Plan("linear", "y", len(sizes), NO_KEY, covariates=names, cohorts_apart=True, **fields)  # type: ignore[arg-type]
    panel = Panel.of([(1, 1 + k, b"rs%d" % k, b"A", b"C") for k in range(m)])
    rows = run(plan, panel, cohorts)["variants"]
    fitted = 0
    for row, variant in enumerate(rows["variant"].tolist()):
        d = np.where(lacking[variant], np.nan, units[variant] / COPY)
        d = d if rows["first_is_a1"][row] else 2 - d
        inside = ~np.isnan(y)
        if rule == "mean":
            d = np.where(np.isnan(d), np.nanmean(d[inside]), d)
        inside &= ~np.isnan(d)
        if len(np.unique(of[inside])) < len(sizes):
            assert np.isnan(rows["beta"][row]).all()
            continue
        design = np.column_stack([d, covariates, of[:, None] == np.arange(len(sizes))])[inside]
        beta, rss, *_ = np.linalg.lstsq(design, y[inside], rcond=None)
        freedom = len(design) - design.shape[1]
        error = np.sqrt(rss[0] / freedom * np.diag(np.linalg.inv(design.T @ design)))
        shown = rows["beta"].shape[1]
        np.testing.assert_allclose(rows["beta"][row], beta[:shown], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(rows["se"][row], error[:shown], rtol=1e-7)
        assert rows["freedom"][row] == freedom and rows["n"][row] == len(design)
        fitted += 1
    assert fitted > 20


def test_no_sum_over_whole_cohorts_is_asked_for() -> None:
    small = of_variants("linear", cohorts=4, cohorts_apart=True, missing="exact")
    together = followed(small.plan, small.panel, small.cohorts).questions
    assert {question.name for question in together}.isdisjoint({"linear/block", "linear/sums"})
    mean = next(one for one in together if one.name == "standardise/mean")
    sums = [mean.local(cohort)["sum"] for cohort in small.cohorts]
    assert np.abs(sums).max() < 1e-9  # each cohort's own, so that it tells nothing of its means
