"""Men's and women's results, and their difference, beside a model in which everything interacts with sex."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from pooled import GENERATED
from scipy import stats

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "by_sex.py"


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_difference_of_men_and_women(test: str, tmp_path: Path) -> None:
    """Compare z with an interaction beside which all covariates interact, or with a fit of each sex."""
    pooled = GENERATED[test](11, n=1500)
    more = {"firth": "no-firth"} if test == "logistic" else {}
    s = pooled.samples
    for code, sexes in enumerate(("males", "females"), 1):
        # As a cohort's own reader leaves everybody else out.
        some = replace(pooled, samples=replace(s, kept=s.kept & (s.sex == code)))
        (tmp_path / sexes).write_bytes(some.study(files=("glm",), sexes=sexes, **more)[0]["glm"])
    command = [sys.executable, EXAMPLE, tmp_path / "males", tmp_path / "females"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = {line["ID"]: line for line in csv.DictReader(table.splitlines(), delimiter="\t")}
    compared = 0
    for (chromosome, _, name, first, _), copies in zip(pooled.variants, pooled.copies, strict=True):
        line = lines.get(name.decode())
        if chromosome not in (1, 22) or line is None or line["Z_DIFF"] == "nan":
            continue
        inside = (copies >= 0) & ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1) & (s.sex > 0)
        g = copies[inside] if line["A1"] == first.decode() else 2 - copies[inside]
        x, y = np.column_stack([np.ones(len(g)), g, s.covariates[inside]]), s.phenotype[inside]
        men = s.sex[inside] == 1
        if test == "logistic":
            fit = sm.Logit(y, np.column_stack([x, x * men[:, None]])).fit(disp=0, maxiter=100)
            z = fit.params[x.shape[1] + 1] / fit.bse[x.shape[1] + 1]
        else:
            of_men, of_women = (sm.OLS(y[who], x[who]).fit() for who in (men, ~men))
            z = (of_men.params[1] - of_women.params[1]) / np.hypot(of_men.bse[1], of_women.bse[1])
            assert float(line["BETA_M"]) == pytest.approx(of_men.params[1], rel=1e-5, abs=1e-6)
            assert float(line["P_F"]) == pytest.approx(of_women.pvalues[1], rel=1e-4)
        assert float(line["Z_DIFF"]) == pytest.approx(z, rel=1e-3, abs=1e-4)
        assert float(line["P_DIFF"]) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=2e-3)
        compared += 1
    assert compared > 15
