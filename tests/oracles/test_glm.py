"""`.glm.*` beside plink2's report on the pooled data: numbers, codes, and columns by its cols=."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled import GENERATED, Quantities, Statuses

from unpooled.methods import check
from unpooled.plan.glm_columns import chosen
from unpooled.plan.plan import PlanError

from .reports import pairs

WITHOUT: dict[str, dict[str, Any]] = {"linear": {}, "logistic": {"firth": "no-firth"}}
"""Options of a study without Firth's fit, and plink2's modifiers for the same."""


def result(test: str, **options: Any) -> tuple[Quantities | Statuses, dict[str, bytes]]:
    pooled = GENERATED[test](3, each=10, **({"missing": 0.0} if test == "logistic" else {}))
    return pooled, pooled.study(files=("assoc", "glm"), **WITHOUT[test] | options)[0]


def assert_near(ours: dict[str, str], plinks: dict[str, str]) -> None:
    """Assert agreement to 1e-3 each; a coefficient in units of its standard error where it is smaller than
    that.
    """
    skipped = {"BETA", "OR", "SE", "LOG(OR)_SE", "L95", "U95"} if ours["TEST"].startswith("C") else set()
    error = float(plinks.get("SE", 0))
    for title in {"BETA", "OR", "SE", "LOG(OR)_SE", "L95", "U95", "P"} & set(ours) - skipped:
        absolute = 1e-3 * error if title in ("BETA", "L95", "U95") else 0.0
        assert float(ours[title]) == pytest.approx(float(plinks[title]), rel=1e-3, abs=absolute), (
            ours,
            plinks,
        )
    statistic = "Z_STAT" if "Z_STAT" in ours else "T_STAT"
    assert float(ours[statistic]) == pytest.approx(float(plinks[statistic]), rel=0, abs=1e-3), (ours, plinks)


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_a_covariate_that_is_nearly_a_variant(test: str, tmp_path: Path) -> None:
    """Linear: the codes of plink2. Logistic: PLINK 1.9 goes on, and so do we."""
    pooled = GENERATED[test](3, each=10, missing=0.0)
    noise = np.random.default_rng(1).normal(size=(2, len(pooled.samples)))
    modifiers = WITHOUT[test].values()
    for size, reason in ((0.005, "CORR_TOO_HIGH"), (0.05, "VIF_TOO_HIGH")):
        covariates = np.column_stack([pooled.copies[15] + size * noise[0], noise[1]])
        trial = replace(pooled, samples=replace(pooled.samples, covariates=covariates))
        ours = trial.study(files=("glm",), **WITHOUT[test])[0]["glm"]
        found = pairs(ours, trial.plink2(tmp_path, "--glm", *modifiers))
        odd = {(a["ID"], a["ERRCODE"], b["ERRCODE"]) for a, b in found if a["ERRCODE"] != b["ERRCODE"]}
        name = trial.variants[15][2].decode()
        assert reason in {b["ERRCODE"] for _, b in found if b["ID"] == name}
        assert odd == (set() if test == "linear" else {(name, ".", reason)})


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_a_mean_far_below_zero(test: str, tmp_path: Path) -> None:
    """PLINK 1.9 says NA for the intercept's sake, plink2 does not; each file follows its own."""
    pooled = GENERATED[test](3, each=10, missing=0.0)
    a, b = np.random.default_rng(1).normal(size=(2, len(pooled.samples)))
    trial = replace(pooled, samples=replace(pooled.samples, covariates=np.column_stack([a - 1000, b])))
    files, _ = trial.study(files=("assoc", "adjusted", "glm", "ssf"), **WITHOUT[test])
    assert all(line.endswith(b"NA") for line in files["assoc"].splitlines()[1:])
    assert len(files["adjusted"].splitlines()) == 1 < len(gzip.decompress(files["ssf"]).splitlines())
    modifiers = WITHOUT[test].values()
    for ours, plinks in pairs(files["glm"], trial.plink2(tmp_path, "--glm", *modifiers)):
        assert ours["ERRCODE"] == plinks["ERRCODE"]
        if ours["ERRCODE"] == ".":
            assert_near(ours, plinks)


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_chosen_columns_are_plink2s(test: str, tmp_path: Path) -> None:
    """Columns are plink2's on every kind of chromosome."""
    modifiers = WITHOUT[test].values()
    for asked in ("+a1freq,+a1count,+totallele,+ax,+alt1", "a1freq", "pos,tz,ref", "+beta,-test,-err"):
        flags = ["--ci", "0.9", "--glm", *modifiers, "hide-covar", f"cols={asked}"]
        pooled, files = result(test, hide_covar=True, ci=0.9, glm_cols=chosen(asked))
        plinks = pooled.plink2(tmp_path, *flags)
        ours = [line.split("\t") for line in files["glm"].decode().splitlines()]
        assert ours[0] == plinks[0]
        for mine, theirs in zip(ours[1:], plinks[1:], strict=True):
            for title, x, y in zip(ours[0], mine, theirs, strict=True):
                far = 0.0 if title in ("A1_CT", "ALLELE_CT", "A1_FREQ") else 1e-3
                assert x == y or float(x) == pytest.approx(float(y), rel=far, abs=far), (mine, theirs)


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_a_covariate_does_not_become_the_sex_of_x(test: str) -> None:
    """plink2 then has two lines SEX; here all lines are as under other names, and each has one of its own."""
    pooled = GENERATED[test](3, each=10, missing=0.0)
    for names in (("SEX", "age"), ("SEX", "SEX(X)"), ("ADDxSEX", "age")):
        reports = [
            replace(pooled, names=own).study(
                files=("glm",), interaction=(own or pooled.covariates)[1:], **WITHOUT[test]
            )[0]["glm"]
            for own in ((), names)
        ]
        plain, named = ([line.split(b"\t") for line in of.splitlines()] for of in reports)
        place = plain[0].index(b"TEST")
        called = {(a[place], b[place]) for a, b in zip(plain, named, strict=True)}
        assert len(called) == len(dict(called)) == len({b for _, b in called})
        assert [line[:place] + line[place + 1 :] for line in plain] == [
            line[:place] + line[place + 1 :] for line in named
        ]


def test_names_that_a_report_cannot_tell_apart_are_refused() -> None:
    pooled = GENERATED["linear"](3, each=10)
    for names, options in (
        (("ADD", "age"), {}),
        (("trait", "age"), {}),
        (("DOMDEV", "age"), {"genotype_model": "genotypic"}),
        (("ADDxage", "age"), {"interaction": ("age",)}),
    ):
        with pytest.raises(PlanError, match=f"{names[0]} is what"):
            check(replace(pooled, names=names).plan(**options))
