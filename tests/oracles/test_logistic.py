"""Logistic regressions against plink1.9 --logistic on the pooled data, line by line.

PLINK 1.9 computes in single precision and prints four digits. Where it is farther from ours than rounding
explains, statsmodels says who is right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pooled import Statuses, statuses

from unpooled.errors import Refuse

from ..conftest import Rehearse
from ..plinks import bfiles, plink, rows, split
from .reports import GLM, Agreement, Row, agreement, by_statsmodels, glm, unit

SHARES = {3: (5, 3, 2), 7: (9, 2, 5, 1, 4, 3, 2)}
FLOORS = ("--min-samples", 20, "--min-per-class", 5, "--one-class")
WITHOUT_FIRTH = ("--files", "assoc,glm", "--firth", "no-firth")
SAME = ("CHR", "SNP", "BP", "A1", "TEST", "NMISS")


def compare(ours: Path, plinks: Path) -> Agreement:
    """Compare as exactly as PLINK 1.9 is: odds ratio and P to 1e-3, STAT to 1e-3 absolute."""
    effect = "OR" if "OR" in next(rows(plinks)) else "BETA"
    # The logarithm of an odds ratio that is off by 1e-3 is off by that.
    bounds = {effect: (1e-3, 0.0) if effect == "OR" else (0.0, 1e-3), "STAT": (0.0, 1e-3), "P": (1e-3, 0.0)}
    return agreement(ours, plinks, SAME, bounds, digits=4)


def compare_with_plink2(ours: Path, plinks: Path) -> Agreement:
    """Codes are the same, and numbers as exact as plink2 is without missing calls."""
    bounds = {"OR": (1e-3, 0.0), "Z_STAT": (0.0, 1e-3), "P": (1e-3, 0.0)}
    return agreement(ours, plinks, GLM, bounds, digits=6, tests=("ADD", "SEX"))


def assert_ours_are_right(
    far: list[tuple[Row, Row]], truth: dict[tuple[str, str], tuple[float, float]]
) -> None:
    """Ours are what statsmodels finds, to the last digit printed."""
    for ours, plinks in far:
        name, statistic, digits = ("SNP", "STAT", 4) if "SNP" in ours else ("ID", "Z_STAT", 6)
        beta, error = truth[ours[name], ours["TEST"]]
        effect = ("OR", np.exp(beta)) if "OR" in ours else ("BETA", beta)
        for title, value in (effect, (statistic, beta / error)):
            allowed = max(0.501 * unit(ours[title], digits), 1e-8)
            assert abs(float(ours[title]) - value) <= allowed, (title, value, ours, plinks)


@pytest.mark.parametrize(
    ("cohorts", "flags", "plinks"),
    [
        (3, ("--ci", 0.95), ("--logistic", "--ci", 0.95)),
        (7, ("--beta", "--hide-covar", "--chunk-size", 3333), ("--logistic", "beta", "hide-covar")),
    ],
    ids=["3 cohorts", "7 cohorts"],
)
def test_mice_in_uneven_cohorts_agree_with_the_pooled_file(
    cohorts: int,
    flags: tuple[object, ...],
    plinks: tuple[object, ...],
    mouse: Path,
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """One cohort has cases only. No call is missing, so plink2 is exact, too."""
    parts = split(mouse, SHARES[cohorts], tmp_path, "--chr-set", "19", cases_only=True)
    common = ["--chr-set", 19, "--allow-no-sex"]
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    plink("--bfile", mouse, *common, *plinks, "--covar", mouse_tables["dummies"], "--out", pooled)
    rehearse("--test", "logistic", *bfiles(parts), *common, *flags, *FLOORS, "--covar", mouse_tables["covar"],
             "--categorical", "diet=chow,fat,sugar", *WITHOUT_FIRTH, "--out", ours)  # fmt: skip
    reports = [compare(Path(f"{ours}.assoc.logistic"), Path(f"{pooled}.assoc.logistic"))]
    table, columns = mouse_tables["dummies"], ("weight", "season", "diet=fat", "diet=sugar")
    if "--ci" in flags:
        asked = ("no-firth", "--ci", 0.95)
        plinks2 = glm(mouse, table, tmp_path / "plink2", *asked, chr_set=common[:2])
        reports.append(compare_with_plink2(Path(f"{ours}.phenotype.glm.logistic"), plinks2))
    for found in reports:
        assert not found.ours_alone and not found.theirs_alone
        assert found.numbers > 9_000 and len(found.far) < 1e-3 * found.numbers  # where P is 1e-16 or so
        names = [row.get("SNP") or row["ID"] for row, _ in found.far]
        truth = by_statsmodels(mouse, table, columns, names, tmp_path, *common)
        assert_ours_are_right(found.far, truth)


# Pools of generated people


def numbers(report: bytes) -> list[list[bytes]]:
    return [line.split() for line in report.splitlines()]


def plinks_and_ours(pooled: Statuses, folder: Path, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """P of PLINK's report and of ours, of all lines: NaN where it says NA."""
    out = pooled.plink1(folder, "--logistic")
    reports = Path(f"{out}.assoc.logistic").read_bytes(), pooled.study(**options)[0]["assoc"]
    plinks, ours = ([row[-1].replace(b"NA", b"nan") for row in numbers(report)[1:]] for report in reports)
    return np.array(plinks, float), np.array(ours, float)


def test_covariates_that_plink_refuses(tmp_path: Path) -> None:
    """Unlike --linear it takes what is nearly collinear. It says NA if two estimates are nearly the same.

    So it does for a covariate whose mean is far below zero, in units of its deviation: that estimate is
    nearly the intercept's. A mean far above zero is as bad, but not refused.
    """
    pooled = statuses(11, n=300)
    random, n = np.random.default_rng(3), 300
    a, b, noise = random.normal(size=n), random.normal(size=n), random.normal(size=n)
    trials = {
        "variance inflation of 70": ((a, a + 0.12 * noise), False),
        "a third, nearly a sum": ((a, b, a + b + 0.05 * noise), False),
        "two that oppose": ((a, -2 * a + 0.008 * noise), True),
        "a mean far below zero": ((a - 1000, b), True),
        "one who differs": (((np.arange(n) == 17).astype(float), a), None),
        "collinear": ((a, b, a + b), True),
        "deviations of 1e12": ((1e12 * a, b), True),
    }
    for name, (columns, refused) in trials.items():
        trial = pooled.beside(*columns)
        if name == "collinear":
            with pytest.raises(Refuse, match="the covariates C1, C2, C3 determine one another") as caught:
                trial.study()
            assert caught.value.field == "covariates"
            continue
        plinks, ours = plinks_and_ours(trial, tmp_path)
        if refused is None:  # PLINK goes on to where its estimate is of no use
            assert np.isnan(ours).all(), name
            continue
        assert np.array_equal(np.isnan(plinks), np.isnan(ours)), name
        assert np.isnan(ours).all() == refused, name
        np.testing.assert_allclose(ours, plinks, rtol=2e-3, err_msg=name)


def test_one_person_far_away(tmp_path: Path) -> None:
    """A covariate of 1e9 in one person is refused: no float64 has an estimate."""
    pooled = statuses(11, n=300)
    random = np.random.default_rng(3)
    a, b = random.normal(size=300), random.normal(size=300)
    far = pooled.beside(np.where(np.arange(300) == 5, 1e9, a), b)
    with pytest.raises(Refuse, match="C1: the values of a few people"):
        far.study()
    near = pooled.beside(np.where(np.arange(300) == 5, 1e3, a), b)
    _, rows = near.study()
    assert np.isfinite(rows["beta"][:, 0]).sum() > 40


def test_separated_by_a_covariate() -> None:
    pooled = statuses(6, n=200, each=4, missing=0.0)
    s = pooled.samples
    _, rows = pooled.beside(np.where(s.phenotype == 1, 1.0, 0.0) + np.linspace(0, 0.5, len(s))).study()
    assert np.isnan(rows["beta"]).all() and np.all(rows["code"] > 0)
