"""Firth's penalised fit against logistf's numbers, its definition and plink2; and what separates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled import MT, Statuses, X, Y

from unpooled.kernels import least_squares as codes
from unpooled.methods.regression.case_control import CaseControlCounts
from unpooled.methods.regression.results import TABLE_BY_FIRTH
from unpooled.panel.panel import Panel
from unpooled.plan.genotype_model import Terms
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

from ..conftest import Rehearse
from ..people import people as samples_of
from ..plinks import bfiles, plink, rows, split
from .regression import Rows
from .reports import GLM, agreement, glm, pairs
from .test_few_cases import regression_of

MICE_ILL, EVERY = 25, 6
"""Mice that are cases, of 1,940; and every so many-th of their variants is taken."""


@pytest.fixture
def few_ill(mouse: Path, mouse_tables: dict[str, Path], tmp_path: Path) -> Path:
    """Real genotypes of which the mice with the largest values of a real phenotype are the cases."""
    values = [line.split()[2] for line in mouse_tables["pheno"].read_text().splitlines()[1:]]
    numbers = np.array([np.nan if value == "NA" else float(value) for value in values])
    least = np.sort(numbers[~np.isnan(numbers)])[-MICE_ILL]
    coded = np.select([np.isnan(numbers), numbers >= least], ["-9", "2"], "1")
    names = [line.split()[1] for line in mouse.with_suffix(".bim").read_text().splitlines()]
    (listed := tmp_path / "some.txt").write_text("\n".join(names[::EVERY]) + "\n")
    prefix = tmp_path / "few"
    plink("--bfile", mouse, "--chr-set", 19, "--extract", listed, "--make-bed", "--out", prefix)
    people = [line.split() for line in prefix.with_suffix(".fam").read_text().splitlines()]
    lines = (" ".join([*row[:5], code]) + "\n" for row, code in zip(people, coded, strict=True))
    prefix.with_suffix(".fam").write_text("".join(lines))
    return prefix


def test_the_same_mice_fall_back(
    few_ill: Path, mouse_tables: dict[str, Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    """Coefficients and standard errors to 1e-4, P to 1e-3, but where plink2 stops a little early."""
    common = ("--chr-set", 19, "--allow-no-sex", "--hide-covar", "--files", "assoc,glm")
    floors = ("--min-samples", 20, "--min-per-class", 0, "--one-class")
    parts = split(few_ill, (5, 3, 2), tmp_path, "--chr-set", "19")
    table = ("--covar", mouse_tables["covar"], "--covar-name", "weight,season")
    rehearse("--test", "logistic", *bfiles(parts), *common, *floors, *table, "--out", tmp_path / "ours")
    flags = ("hide-covar", "--covar-name", "weight", "season")
    theirs = glm(few_ill, mouse_tables["covar"], tmp_path / "plink2", *flags, chr_set=("--chr-set", 19))
    ours = tmp_path / "ours.phenotype.glm.logistic.hybrid"
    assert theirs.name == "plink2.PHENO1.glm.logistic.hybrid"
    bounds = {"OR": (1e-4, 0.0), "LOG(OR)_SE": (1e-4, 0.0), "P": (1e-3, 0.0)}
    found = agreement(ours, theirs, (*GLM, "FIRTH?"), bounds, digits=6)
    fell = {row["ID"] for row in rows(ours) if row["FIRTH?"] == "Y"}
    assert not found.ours_alone and not found.theirs_alone
    assert len(fell) > 20 and found.numbers > 1_500
    assert len(found.far) < 0.03 * found.numbers
    for a, b in found.far:  # the definition says who is right there, below
        assert a["FIRTH?"] == "Y" and float(a["Z_STAT"]) == pytest.approx(float(b["Z_STAT"]), abs=1e-3), (
            a,
            b,
        )
    assert {row["SNP"] for row in rows(tmp_path / "ours.assoc.logistic") if row["P"] == "NA"} >= fell


# Pools of generated people


SEX2 = """
    0000010 1  0001000 2  0001010 1  0001100 8  0001110 18  0010000 42  0010010 1  0011000 1  0011100 5
    0011110 6  0101100 2  0101110 4  0110000 14  0110010 1  0111000 1  0111110 2  1000010 1  1001000 14
    1001010 3  1001100 10  1001110 12  1001111 1  1010000 44  1010001 3  1011000 15  1011001 1  1011010 2
    1011100 7  1011110 3  1101000 2  1101010 1  1101011 1  1101100 1  1101111 1  1110000 5  1111000 3
"""
"""logistf's example: case, age, oc, vic, vicl, vis, dia, and how many are such (Foxman et al. 1997)."""

LOGISTF = {
    "dia": (3.09601, 1.67501),
    "age": (-1.10598, 0.423660),
    "oc": (-0.0688167, 0.443793),
    "vic": (2.26887, 0.548416),
    "vicl": (-2.11141, 0.543082),
    "vis": (-0.788317, 0.417368),
}
"""Coefficients and standard errors as logistf prints them."""


def rows_of(pooled: Statuses, **options: Any) -> dict[str, np.ndarray]:
    """Return the rows of a study by Firth's fit."""
    chosen = {"missing": "exact", "files": ("glm",), "covariates": tuple(map(Covariate, pooled.covariates))}
    plan = Plan("logistic", "status", 3, NO_KEY, **chosen | options)  # type: ignore[arg-type]
    tables = run(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4), cases_only=False))
    return tables.get(TABLE_BY_FIRTH, {"variant": np.zeros(0, int)})


def assert_is_the_maximum(pooled: Statuses, rows: dict[str, np.ndarray]) -> None:
    for k, code in enumerate(rows["code"]):
        assert code == codes.PENALISED, pooled.variants[rows["variant"][k]]
        of = regression_of(pooled, rows, k)
        beta = rows["beta"][k, : len(of.names)]
        truth = of.penalised(beta)
        assert truth is not None
        assert (np.abs(beta - truth.beta) <= 1e-6 * np.maximum(np.abs(truth.beta), truth.se)).all(), k
        np.testing.assert_allclose(rows["se"][k, : len(beta)], truth.se, rtol=1e-5)


def test_logistf_prints_the_same() -> None:
    """Its own example, in which `dia` separates. A column of it stands for the genotype."""
    table = np.array(
        [[*map(int, row), int(count)] for row, count in zip(*[iter(SEX2.split())] * 2, strict=True)]
    )
    people = np.repeat(table[:, :7], table[:, 7], axis=0)
    case, age, oc, vic, vicl, vis, dia = people.T
    columns = np.column_stack([age, oc, vic, vicl, vis]).astype(float)
    samples = samples_of(case, columns, sex=np.full(len(people), 2, np.uint8))
    pooled = Statuses(samples, [(1, 1, b"dia", b"A", b"G")], dia[None].astype(np.int8))
    rows = rows_of(pooled)
    assert len(rows["code"]) == 1
    for k, (beta, se) in enumerate(LOGISTF.values()):
        assert rows["beta"][0, k] == pytest.approx(beta, rel=5e-6)
        assert rows["se"][0, k] == pytest.approx(se, rel=5e-6)


def few(cases: int, covariates: int, missing: float = 0.0) -> Statuses:
    """Rare variants, most of which no case carries, in 1,500 people with few cases."""
    random = np.random.default_rng([cases, covariates])
    n, m = 1500, 120
    columns = random.normal(size=(n, covariates))
    risk = 0.5 * columns.sum(axis=1) + random.logistic(size=n)
    case = risk > np.sort(risk)[-cases - 1]
    copies = random.binomial(2, np.exp(random.uniform(np.log(0.002), np.log(0.1), (m, 1))), (m, n))
    copies[:10, case] = random.binomial(2, 0.1, (10, cases))  # strong effects
    copies[:5, ~case] = 0
    copies = np.where(random.random(copies.shape) < missing, -1, copies).astype(np.int8)
    sex = random.choice([1, 2], n).astype(np.uint8)
    rows = [(1, 1 + k, b"rs%d" % k, b"A", b"G") for k in range(m)]
    return Statuses(samples_of(case, columns, sex=sex), rows, copies)


@pytest.mark.parametrize("firth", ["firth-fallback", "firth"])
@pytest.mark.parametrize(("cases", "covariates"), [(20, 0), (30, 2), (90, 5)])
def test_it_is_the_maximum(firth: str, cases: int, covariates: int) -> None:
    pooled = few(cases, covariates)
    rows = rows_of(pooled, firth=firth)
    assert len(rows["variant"]) >= (20 if firth == "firth-fallback" else 120)
    assert_is_the_maximum(pooled, rows)


def separating(pooled: Statuses) -> Statuses:
    """Replace the first covariate by one that only cases may have."""
    s = pooled.samples
    some = np.random.default_rng(3).integers(0, 2, len(s.phenotype))
    columns = s.covariates.copy()
    columns[:, 0] = np.where(s.phenotype == 1, some, 0)
    return replace(pooled, samples=replace(s, covariates=columns))


def test_beside_a_covariate_that_separates_all_fall_back(tmp_path: Path) -> None:
    pooled = separating(few(90, 2))
    report = pooled.study(files=("glm",), hide_covar=True)[0]["glm"]
    found = pairs(report, pooled.plink2(tmp_path, "--glm", "hide-covar"))
    for a, b in found:
        assert (a["FIRTH?"], b["FIRTH?"], a["ERRCODE"], b["ERRCODE"]) == ("Y", "Y", ".", ".")
        assert float(a["Z_STAT"]) == pytest.approx(float(b["Z_STAT"]), abs=2e-3), (a, b)
    assert_is_the_maximum(pooled, {name: column[:20] for name, column in rows_of(pooled).items()})


def test_a_limit_of_iterations_is_said() -> None:
    rows = rows_of(few(30, 2), max_iterations=2)
    unfinished = rows["code"] == codes.PENALISED_UNFINISHED
    assert unfinished.any() and np.isnan(rows["beta"][unfinished]).all()
    assert not np.isnan(rows["beta"][~unfinished]).any()


def test_counts_alone_lead_to_the_estimate_without_covariates() -> None:
    random = np.random.default_rng(5)
    copies = np.array([2.0, 1.0, 0.0])
    cases, controls = random.integers(1, 30, (40, 3)), random.integers(1, 300, (40, 3))
    cases[:10, :2], controls[10:20, 0], cases[20:25, 1:], controls[20:25, :2] = 0, 0, 0, 0
    found = CaseControlCounts(cases, controls, copies).penalised(Terms("additive", ()))
    for case, control, beta in zip(cases, controls, found, strict=True):
        y = np.repeat([1.0, 1, 1, 0, 0, 0], [*case, *control])
        g = np.repeat(np.tile(copies, 2), [*case, *control])
        truth = Rows("logistic", ("ADD",), y, np.column_stack([np.ones(len(g)), g])).penalised(beta[1:])
        assert truth is not None
        np.testing.assert_allclose(beta[1], truth.beta[0], rtol=1e-6, atol=1e-7)


CASES, PEOPLE = 60, 400


def copies_of_a1(case: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Genotypes, among everyone, by what is odd about them."""
    n = len(case)
    rare = random.choice([0, 1, 2], n, p=[0.8, 0.15, 0.05])
    return {
        "rarer one in cases only": np.where(case, rare, 0),
        "rarer one in controls only": np.where(case, 0, rare),
        "commoner one in controls only": np.where(case, 2, rare),
        "commoner one in cases only": np.where(case, 2 - rare, 2),
        "each has one": np.where(case, 2, 0),
        "cases heterozygous": np.where(case, 1, 0),
        "both in both, but apart": np.where(case, random.choice([1, 2], n), random.choice([0, 1], n)),
        "both in both": rare,
    }


def odd(seed: int, covariates: int) -> Statuses:
    """Each kind of separation on each kind of chromosome, with the rarer allele first and last in ASCII."""
    random = np.random.default_rng(seed)
    case = np.arange(PEOPLE) < CASES
    kinds = copies_of_a1(case, random).values()
    pairs_of_alleles = ((b"A", b"C"), (b"G", b"C"))
    places = [(chromosome, copies, pair) for chromosome in (1, X, Y, MT) for copies in kinds
              for pair in pairs_of_alleles]  # fmt: skip
    rows = [(c, 1 + k, b"v%d" % k, *pair) for k, (c, _, pair) in enumerate(places)]
    copies = np.array([copies for _, copies, _ in places]).astype(np.int8)
    copies[random.random(copies.shape) < 0.03] = -1
    sex = random.choice([1, 2, 0], PEOPLE, p=[0.5, 0.45, 0.05]).astype(np.uint8)
    return Statuses(samples_of(case, random.normal(size=(PEOPLE, covariates)), sex=sex), rows, copies)


@pytest.mark.parametrize("seed", range(3))
def test_separation_is_plink2s(seed: int, tmp_path: Path) -> None:
    pooled = odd(seed, covariates=1)
    ours = pooled.study(files=("glm",), hide_covar=True, firth="no-firth")[0]["glm"]
    found = pairs(ours, pooled.plink2(tmp_path, "--glm", "no-firth", "hide-covar"))
    said = {b["ERRCODE"] for _, b in found}
    assert {"SEPARATION,REF", "SEPARATION,ALT1", "."} <= said
    for a, b in found:
        if {a["ERRCODE"], b["ERRCODE"]} - {"LOGISTIC_CONVERGE_FAIL", "UNFINISHED"}:
            assert a["ERRCODE"] == b["ERRCODE"], (a, b)
        else:  # where no allele is missing anywhere plink2's iteration runs off
            assert a["P"] == "NA", (a, b)
