"""Linear regressions against plink1.9 --linear on the pooled data, also of one person far away."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pooled import Quantities, quantities
from scipy import stats

from unpooled.errors import Refuse
from unpooled.formats.number import number_text
from unpooled.kernels.statistics import genomic_inflation
from unpooled.methods.shared.summary import chi_square

from ..conftest import Rehearse, inflation
from ..people import people
from ..plinks import bfiles, plink, split
from .reports import off_by_one, same, without_gc

SHARES = {3: (5, 3, 2), 7: (9, 2, 5, 1, 4, 3, 2)}
FLOORS = ("--min-samples", 20)


@pytest.mark.parametrize("cohorts", SHARES)
def test_mice_in_uneven_cohorts_give_the_pooled_file(
    cohorts: int, mouse: Path, mouse_tables: dict[str, Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    parts = split(mouse, SHARES[cohorts], tmp_path, "--chr-set", "19")
    common = ["--chr-set", 19, "--allow-no-sex", "--pheno", mouse_tables["pheno"], "--pheno-name", "second"]
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    log = plink("--bfile", mouse, *common, "--linear", "--covar", mouse_tables["dummies"], "--adjust",
                "--out", pooled)  # fmt: skip
    said = rehearse("--test", "linear", *bfiles(parts), *common, *FLOORS, "--covar", mouse_tables["covar"],
                    "--categorical", "diet=chow,fat,sugar", "--adjust", "--out", ours).stdout  # fmt: skip
    assert inflation(said) == f"{float(inflation(log)):.3f}" != "1.000"
    same(Path(f"{ours}.assoc.linear"), Path(f"{pooled}.assoc.linear"))
    # By P: variants whose P is the same but for rounding stand in any order.
    adjusted = "assoc.linear.adjusted"
    same(Path(f"{ours}.{adjusted}"), Path(f"{pooled}.{adjusted}"), in_order=False)
    report = json.loads(Path(f"{ours}.report.json").read_text())
    assert (report["cohorts"], report["test"]) == (cohorts, "linear")


# Pools of generated people


def by_plink(pooled: Quantities, folder: Path, *flags: object) -> dict[str, bytes]:
    """The reports of plink1.9 on pooled data. Without any valid test there is none of adjusted P values."""
    out = pooled.plink1(folder, "--linear", *flags, "--adjust")
    found = {"assoc": f"{out}.assoc.linear", "adjusted": f"{out}.assoc.linear.adjusted"}
    return {name: Path(path).read_bytes() for name, path in found.items() if Path(path).exists()}


KINDS: dict[str, dict[str, object]] = {
    "hardly more people than parameters": {"n": 9, "missing": 0.2},
    "large values": {"scale": 1e9},
    "small values": {"scale": 1e-9},
}


@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_plinks(kind: str, tmp_path: Path) -> None:
    """Adjusted P values, too, with those of genomic control by their definition; tests/fuzz/gwas draws the
    usual federations.
    """
    pooled = quantities(len(kind), **KINDS[kind])  # type: ignore[arg-type]
    ours, rows = pooled.study(chunk_size=40)
    plinks = by_plink(pooled, tmp_path)
    for name, report in plinks.items():
        same(*map(without_gc, (ours[name], report)), 0.995)
    check_gc(ours["adjusted"], pooled, rows)
    said = re.findall(r"median chisq\) = (.*)\.\n", (tmp_path / "out.log").read_text())
    assert said == ([number_text(genomic_inflation(chi_square(rows)), 6)] if "adjusted" in plinks else [])


def check_gc(adjusted: bytes, pooled: Quantities, rows: dict[str, np.ndarray]) -> None:
    """Each variant has the P of its own t, divided by the root of lambda, with its own degrees of freedom."""
    place = {pooled.variants[k][2]: row for row, k in enumerate(rows["variant"].tolist())}
    lines = [line.split() for line in adjusted.splitlines()[1:]]
    of = [place[line[1]] for line in lines]
    t = np.abs(rows["beta"][of, 0] / rows["se"][of, 0]) / np.sqrt(genomic_inflation(chi_square(rows)))
    own = 2 * stats.t.sf(t, rows["freedom"][of])
    np.testing.assert_allclose([float(line[3]) for line in lines], own, rtol=6e-4)


def test_covariates_that_do_not_do(tmp_path: Path) -> None:
    pooled = quantities(11, n=300)
    random = np.random.default_rng(3)
    n = len(pooled.samples)
    a, b, tiny = random.normal(size=n), random.normal(size=n), random.normal(size=n)
    first = np.maximum(pooled.copies[30], 0).astype(float)
    columns = {
        "correlated": (a, 2 * a + 0.01 * tiny),
        "correlated negatively": (a, -2 * a + 0.01 * tiny),
        "nearly correlated": (a, a + 0.3 * tiny),
        "collinear": (a, b, a + b + 0.05 * tiny),
        "the genotype": (first, a),
        "the genotype and more": (first + 0.05 * tiny, a),
        "negative mean": (a - 1000, b),
        "positive mean": (a + 1000, b),
        "one outlier of 1e4": (np.where(np.arange(n) == 6, 1e4, a), b),
        "one outlier of 1e6": (np.where(np.arange(n) == 5, 1e6, a), b),
        "deviations of 1e9": (1e9 * a, 1e9 * b + 3e8),
        "one who differs": ((np.arange(n) == 17).astype(float), a),
    }
    for name, chosen in columns.items():
        trial = pooled.beside(*chosen)
        if name == "one outlier of 1e6":  # a variant without a call of that person has no covariate left
            trial.copies[:, 5] = 2 * (trial.copies[:, 5] > 0)
            trial.samples.sex[5] = 1
        if name in ("correlated", "correlated negatively", "collinear"):
            with pytest.raises(Refuse, match=r"C2.* determine one another in the pool") as caught:
                trial.study()
            assert caught.value.field == "covariates"
            assert all(
                line.endswith(b"NA") for line in by_plink(trial, tmp_path)["assoc"].splitlines()[1:]
            ), name
            continue
        ours, _ = trial.study()
        try:
            same(ours["assoc"], by_plink(trial, tmp_path)["assoc"], 0.995)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


@pytest.mark.parametrize("value", [0.0, 3.0, -1234.567, 1e9])
def test_a_constant_covariate(value: float, tmp_path: Path) -> None:
    """Refused. PLINK says NA everywhere but for a few numbers, where rounding makes the column vary."""
    pooled = quantities(11, n=300).beside(np.full(300, value))
    with pytest.raises(Refuse, match="C1: the same value for everybody") as caught:
        pooled.study()
    assert caught.value.field == "covariates"
    if value in (0.0, 3.0):
        lines = [
            line for line in by_plink(pooled, tmp_path)["assoc"].splitlines()[1:] if not line.endswith(b"NA")
        ]
        assert len(lines) < 0.05 * len(pooled.variants)


def test_p_values_down_to_0(tmp_path: Path) -> None:
    """P goes from 1e-150 to below the smallest float64; just above that PLINK's has too few digits to
    compare.
    """
    random = np.random.default_rng(1)
    n = 1200
    causal = random.binomial(2, 0.4, n)
    near = np.where(
        random.random((260, n)) < np.linspace(0, 0.2, 260)[:, None], random.permutation(causal), causal
    )
    samples = people(causal + random.normal(size=n) * 0.35, random.normal(size=(n, 1)))
    rows = [(1, k + 1, b"v%d" % k, b"A", b"C") for k in range(len(near))]
    pooled = Quantities(samples, rows, near.astype(np.int8))
    ours, columns = pooled.study()
    assert np.isfinite(columns["neg_log10_p"]).all() and columns["neg_log10_p"].max() > 330
    for name, report in by_plink(pooled, tmp_path).items():
        pairs = list(zip(*(without_gc(each).splitlines() for each in (ours[name], report)), strict=True))
        assert any(line[-2:] == b" 0" or b"INF" in line for _, line in pairs)
        fit = [pair for pair in pairs if not any(re.search(rb"e-3(1[4-9]|2.)", line) for line in pair)]
        assert len(fit) > 0.9 * len(pairs)
        same(*(b"\n".join(lines) for lines in zip(*fit, strict=True)))


FAR_AWAY = 7


def pooled_with(outlier: float, column: str, mean: float, called: bool) -> Quantities:
    """Return a pool with an outlier, who has complete data, and calls of all variants or of none."""
    pooled = quantities(5, n=1000, each=6, covariates=1, missing=0.0)
    samples, copies = pooled.samples, pooled.copies.copy()
    phenotype = np.nan_to_num(samples.phenotype) + mean
    covariates = np.nan_to_num(samples.covariates) + mean
    (phenotype if column == "phenotype" else covariates[:, 0])[FAR_AWAY] = outlier
    copies[:, FAR_AWAY] = 2 * (copies[:, FAR_AWAY] > 0) if called else -1  # a man's one copy on X
    sex = np.where(np.arange(len(samples)) == FAR_AWAY, 1, samples.sex)
    return replace(
        pooled, copies=copies, samples=replace(samples, phenotype=phenotype, covariates=covariates, sex=sex)
    )


@pytest.mark.parametrize("called", [True, False], ids=["called", "lacking"])
@pytest.mark.parametrize("mean", [0.0, 1e3])
@pytest.mark.parametrize("column", ["phenotype", "covariate"])
@pytest.mark.parametrize("outlier", [1e3, -1e5, 1e6, 1e7, -999999999.0])
def test_an_outlier(outlier: float, column: str, mean: float, called: bool, tmp_path: Path) -> None:
    pooled = pooled_with(outlier, column, mean, called)
    if not mean and abs(outlier) > 1e8:
        name = "trait" if column == "phenotype" else "C1"
        with pytest.raises(Refuse, match=f"{name}: .* a code for a missing value"):
            pooled.study(files=("assoc",))
        return
    ours = pooled.study(files=("assoc",))[0]["assoc"].splitlines()
    theirs = Path(f"{pooled.plink1(tmp_path, '--linear')}.assoc.linear").read_bytes().splitlines()
    pairs = list(zip(ours, theirs, strict=True))
    unknown = [(a, b) for a, b in pairs if a != b and a.endswith(b"NA") and not called]
    assert all(off_by_one(a, b) for a, b in pairs if (a, b) not in unknown)
    if abs(outlier) <= 1e5:
        assert not unknown and sum(a != b for a, b in pairs) < 0.02 * len(pairs)
