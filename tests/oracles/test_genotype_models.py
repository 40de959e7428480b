"""PLINK's genotype models on real genotypes: plink1.9, line by line; tests/fuzz/gwas draws every model and
interaction, on every chromosome, beside both PLINKs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled import GENERATED, X, mice
from scipy import stats

from .reports import same

_PLACES = {"20", "21"}


def autosomal(report: bytes) -> bytes:
    """The lines that are not about the mice's X or Y."""
    lines = report.splitlines(keepends=True)
    return b"".join(line for line in lines if line.split()[0].decode() not in _PLACES)


@pytest.mark.parametrize("model", ["dominant", "genotypic"])
def test_mice(model: str, tmp_path: Path) -> None:
    """plink1.9 is asked without X, Y and MT: after these it takes a variant for another."""
    pooled = mice(5)
    ours, _ = pooled.study(files=("assoc", "adjusted"), genotype_model=model)
    out = pooled.plink1(tmp_path, "--linear", model, "--not-chr", "X,Y,MT", "--adjust")
    same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes())
    adjusted = (ours["adjusted"], out.with_suffix(".assoc.linear.adjusted").read_bytes())
    same(*(b"\n".join(sorted(text.splitlines())) for text in adjusted))


JOINT: dict[str, Any] = {"joint_test": True, "files": ("assoc", "adjusted", "glm")}
BOTH = ("C1", "C2")


@pytest.mark.parametrize(
    ("chosen", "of_plink", "parameters"),
    [
        ({"interaction": ("C1",)}, ("--tests", "1,4"), ("--parameters", "1-4")),
        ({"interaction": BOTH}, ("--tests", "1,4,5"), ()),
        ({"interaction": BOTH, "genotype_model": "genotypic"}, ("--tests", "1,2,5-8"), ()),
    ],
)
def test_joint_test_of_genotype_and_interactions(
    chosen: dict[str, Any], of_plink: tuple[str, ...], parameters: tuple[str, ...], tmp_path: Path
) -> None:
    """Every line of PLINK 1.9's report and of `.adjusted`, and every joint test of plink2's, on autosomes."""
    pooled = GENERATED["linear"](4, n=400)
    model = [chosen["genotype_model"]] if "genotype_model" in chosen else []
    autosomes = "--chr", "1-22"
    ours, _ = pooled.study(**chosen, **JOINT)
    linear = ("--linear", *model, "interaction", *parameters, *of_plink)
    out = pooled.plink1(tmp_path, *linear, *autosomes, "--adjust")
    own, plinks = _of(ours["assoc"], b"1", b"22"), out.with_suffix(".assoc.linear").read_bytes()
    if model:  # PLINK 1.9 has numbers of variants whose columns depend on one another
        fitted = {line.split()[1] for line in own.splitlines() if b"NA" not in line.split()[-2:]}
        own, plinks = (
            b"".join(line for line in each.splitlines(True) if line.split()[1] in {b"SNP", *fitted})
            for each in (own, plinks)
        )
    same(own, plinks, 0.99)
    adjusted = (ours["adjusted"], out.with_suffix(".assoc.linear.adjusted").read_bytes())
    mine, theirs = ({line.split()[1]: line.split()[2] for line in text.splitlines()} for text in adjusted)
    both = {*mine} & {*theirs}
    assert len(both) > 15 and [mine[name] for name in both] == [theirs[name] for name in both]
    places = {line[2]: line for line in (row.split("\t") for row in ours["glm"].decode().splitlines())}
    glm = ("--glm", *model, "interaction", *(parameters or ("--parameters", "1-8" if model else "1-5")))
    found = 0
    for line in pooled.plink2(tmp_path, *glm, *of_plink, *autosomes)[1:]:
        own = places[line[2]]  # the last of a variant
        # plink2 has its covariates standardised, which lets fewer variances be inflated.
        if line[6].startswith("USER") and line[11] != "NA" and own[12] != "VIF_TOO_HIGH":
            assert own[:10] == line[:10] and own[12] == line[12]
            np.testing.assert_allclose(*(np.array(each[10:12], float) for each in (own, line)), rtol=1e-3)
            found += 1
    assert found > 15


def test_joint_test_on_x_has_the_interaction_with_sex(tmp_path: Path) -> None:
    pooled = GENERATED["linear"](4, n=400)
    ours, _ = pooled.study(interaction=BOTH, **JOINT)
    out = pooled.plink1(tmp_path, "--linear", "interaction", "--tests", "1,4,5,7", "--chr", "X")
    theirs = [line.split() for line in out.with_suffix(".assoc.linear").read_text().splitlines()]
    own = [line.split() for line in _of(ours["assoc"], b"23").decode().splitlines()]
    assert own == theirs and sum(line[4] == "USER_4DF" for line in own) == 25


def _of(report: bytes, *chromosomes: bytes) -> bytes:
    head, *lines = report.splitlines(keepends=True)
    return head + b"".join(line for line in lines if line.split()[0] in chromosomes)


@pytest.mark.parametrize("rule", ["exact", "mean"])
def test_joint_test_of_cases_and_controls(rule: str) -> None:
    """Wald's test by statsmodels, over every kind of chromosome; under `mean` where no call is missing."""
    import statsmodels.api as sm

    pooled = GENERATED["logistic"](7, n=900, missing=0.02 * (rule == "exact"))
    pooled = pooled.beside(pooled.samples.covariates * [1, 37])
    report, rows = pooled.study(interaction=("C2",), missing=rule, firth="no-firth", min_samples=1, **JOINT)
    fitted = 0
    for k, variant in enumerate(rows["variant"].tolist()):
        y, x = pooled.design(variant, bool(rows["first_is_a1"][k]))
        on_x = pooled.variants[variant][0] == X
        own = [1, *range(x.shape[1], x.shape[1] + 1 + on_x)]
        x = np.column_stack([x, x[:, 1] * x[:, 3], *([x[:, 1] * x[:, 4]] if on_x else [])])
        filled = rule == "mean" and pooled.variants[variant][0] not in (1, 22)  # one copy each, called as two
        if filled or np.isnan(rows["beta"][k, 0]) or rows["se"][k, 0] > 5:
            continue
        fit = sm.Logit(y, x).fit(disp=0, method="newton", maxiter=100, tol=1e-12)
        chi_square = fit.params[own] @ np.linalg.solve(fit.cov_params()[np.ix_(own, own)], fit.params[own])
        assert rows["joint_freedom"][k] == len(own)
        np.testing.assert_allclose(rows["joint"][k], chi_square, rtol=1e-6)
        fitted += 1
    assert fitted > (10 if rule == "mean" else 30)
    lines = [line.split() for line in report["assoc"].splitlines() if b"USER_3DF" in line]
    for *_, chi_square, p in lines:
        if p != b"NA":
            assert float(p) == pytest.approx(stats.chi2.sf(float(chi_square), 3), rel=2e-3, abs=1e-4)
