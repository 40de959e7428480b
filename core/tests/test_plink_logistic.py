"""Whole logistic studies in one process, against statsmodels and plink1.9 on the pooled data."""

from __future__ import annotations

import io
import shutil
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asking import followed
from pooled import Pool, needed

from unpooled import question as questions
from unpooled.algorithms.regression.logistic import LOGISTIC
from unpooled.cohort import ArrayCohort, Samples
from unpooled.errors import Refuse
from unpooled.kernels import least_squares as codes
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan
from unpooled.run import run

X, Y, MT = 23, 24, 26


class Pooled(Pool):
    """For tests of cases and controls."""

    def cohorts(self, shares: tuple[float, ...], cases_only: bool = True) -> list[ArrayCohort]:
        """Dealt out unevenly; the first cohort has cases only, and its cases are in no other proportion."""
        random = np.random.default_rng(0)
        s = self.samples
        of = random.choice(len(shares), len(s), p=np.divide(shares, sum(shares)))
        if cases_only:
            of = np.where((of == 0) & ~(s.phenotype == 1), len(shares) - 1, of)
        return self.dealt(of, len(shares))

    def study(
        self, shares: tuple[float, ...] = (1, 2, 4), **options: object
    ) -> tuple[dict[str, bytes], dict[str, np.ndarray]]:
        chosen = {
            "missing": "exact",
            "files": ("assoc", "adjusted"),
            "covariates": tuple(map(Covariate, self.covariates)),
            **options,
        }
        agreed = Plan("logistic", "status", len(shares), bytes(32), **chosen)  # type: ignore[arg-type]
        panel = Panel.of(self.variants)
        tables = run(agreed, panel, self.cohorts(shares))
        files = {}
        for suffix in agreed.files:
            LOGISTIC.files[suffix](file := io.BytesIO(), panel, LOGISTIC.columns(suffix, tables), agreed)
            files[suffix] = file.getvalue()
        return files, tables["variants"]

    def design(self, variant: int, first_is_a1: bool, mean: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """(y, X) of a variant's regression, X being intercept, genotype, covariates and on X sex."""
        s = self.samples
        chromosome, _, _, a1, a2 = self.variants[variant]
        copies = self.copies[variant]
        g = np.where(copies < 0, np.nan, copies if (first_is_a1 == (a1 < a2)) else 2 - copies)
        men = s.sex == 1
        single = {X: men, Y: men, MT: np.ones(len(men), bool)}.get(chromosome, np.zeros(len(men), bool))
        g = np.where(single, np.where(g == 1, np.nan, g / 2), g)
        inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
        if chromosome == Y:
            inside &= men
        columns = [np.ones(len(g)), g, *s.covariates.T] + ([men.astype(float)] if chromosome == X else [])
        design = np.column_stack(columns)
        if mean:
            for group in (men, ~men) if chromosome == X else (np.ones(len(men), bool),):
                who = inside & group & np.isnan(g)
                known = inside & group & ~np.isnan(g)
                design[who, 1] = np.mean(g[known])
        kept = inside & ~np.isnan(design).any(axis=1)
        return s.phenotype[kept], design[kept]


def generated(
    seed: int,
    n: int = 400,
    each: int = 12,
    missing: float = 0.02,
    covariates: int = 2,
    scale: float = 1.0,
    rare: bool = False,
    apart: bool = False,
) -> Pooled:
    """`rare`: most frequencies are below 1 %. `apart`: chromosome 1 nearly tells who is a case."""
    random = np.random.default_rng(seed)
    alleles = [(b"A", b"G"), (b"T", b"C"), (b"G", b"A")]
    rows = [(c, 1 + 7 * k, b"rs%d_%d" % (c, k), *alleles[k % 3]) for c in (1, 22, 23, 24, 25, 26)
            for k in range(each)]  # fmt: skip
    frequency = random.random((len(rows), 1)) ** (7 if rare else 2.5)
    copies = random.binomial(2, np.broadcast_to(frequency, (len(rows), n)))
    copies = np.where(random.random(copies.shape) < missing, -1, copies).astype(np.int8)
    cov = random.normal(size=(n, covariates))
    eta = 0.7 * np.maximum(copies[3], 0) + cov.sum(axis=1) / 2 - 0.7
    y = (random.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    if apart:
        for k in range(each):
            others = [random.choice(np.flatnonzero(y == status), k // 2 + 1) for status in (0, 1)]
            copies[k] = y + 1
            copies[k, np.concatenate(others)] = 3 - copies[k, np.concatenate(others)]
    y[random.random(n) < 0.03] = np.nan
    if covariates:
        cov[random.random(n) < 0.02, 0] = np.nan
    sex = random.choice([1, 2, 0], n, p=[0.5, 0.4, 0.1]).astype(np.uint8)
    samples = Samples(y, sex, random.random(n) < 0.9, np.ones(n, bool), cov * scale + 5 * scale)
    return Pooled(samples, rows, copies)


KINDS: dict[str, dict[str, object]] = {
    "two covariates": {},
    "no covariates": {"covariates": 0},
    "four covariates": {"covariates": 4, "n": 900},
    "no missing calls": {"missing": 0.0},
    "many missing calls": {"missing": 0.3},
    "large values": {"scale": 1e9},
    "few people": {"n": 60},
    "hardly more people than parameters": {"n": 36},
    "rare variants": {"n": 1500, "rare": True},
    "nearly separated": {"apart": True},
}
SEVEN = (1, 1, 2, 3, 5, 8, 13)
"""Shares of seven uneven cohorts, of which the first has cases only."""


@pytest.mark.parametrize("mean", [False, True], ids=["exact", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_those_of_statsmodels(kind: str, mean: bool) -> None:
    import statsmodels.api as sm

    pooled = generated(len(kind), **KINDS[kind])  # type: ignore[arg-type]
    _, rows = pooled.study(SEVEN, missing="mean" if mean else "exact", chunk_size=30)
    assert len(rows["variant"]) == len(pooled.variants)
    fitted = 0
    for k, variant in enumerate(rows["variant"]):
        y, design = pooled.design(int(variant), bool(rows["first_is_a1"][k]), mean)
        assert rows["n"][k] == len(y)
        if rows["code"][k] not in (codes.FITTED, *codes.REFUSED):
            assert np.isnan(rows["beta"][k]).all()
            cases, controls = design[y == 1, 1], design[y == 0, 1]
            if rows["code"][k] == codes.SEPARATED and not mean:
                assert cases.max() <= controls.min() or controls.max() <= cases.min()
            elif rows["code"][k] == codes.CONSTANT:
                assert np.ptp(design[:, 1]) == 0
            continue
        centred = np.column_stack([design[:, 0], *(c / max(1.0, np.abs(c).max()) for c in design.T[1:])])
        size = np.array([1.0, *(max(1.0, np.abs(c).max()) for c in design.T[1:])])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = sm.Logit(y, centred).fit(disp=0, tol=1e-14, maxiter=100, method="newton")
        beta, se = (result.params / size)[1:], (result.bse / size)[1:]
        count = len(beta)
        found, found_se = rows["beta"][k, :count], rows["se"][k, :count]
        assert np.all(np.abs(found - beta) <= 1e-9 * np.maximum(np.abs(beta), se)), (variant, found, beta)
        np.testing.assert_allclose(found_se, se, rtol=1e-6)
        fitted += 1
    assert fitted > len(pooled.variants) / 3
    if kind == "nearly separated":
        assert np.nanmax(np.abs(rows["beta"][:, 0])) > 5


def numbers(report: bytes) -> list[list[bytes]]:
    return [line.split() for line in report.splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_reports_agree_with_plinks(kind: str, tmp_path: Path) -> None:
    program = shutil.which("plink1.9")
    needed(program, "plink1.9")
    pooled = generated(3 + len(kind), **KINDS[kind])  # type: ignore[arg-type]
    pooled.write(tmp_path / "pooled")
    command = [
        str(program),
        "--bfile",
        str(tmp_path / "pooled"),
        "--out",
        str(tmp_path / "out"),
        "--logistic",
    ]
    command += ["--allow-no-sex", "--ci", "0.95"]
    if pooled.covariates:
        command += ["--covar", str(tmp_path / "pooled.cov")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ours, rows = pooled.study(ci=0.95)
    names = [pooled.variants[variant][2] for variant in rows["variant"]]
    reasons = dict(zip(names, rows["code"].tolist(), strict=True))
    plinks = (tmp_path / "out.assoc.logistic").read_bytes()
    header, *lines = zip(ours["assoc"].splitlines(), plinks.splitlines(), strict=True)
    assert header[0] == header[1]
    compared, running_off = 0, {}
    for our_line, plinks_line in lines:
        a, b = our_line.split(), plinks_line.split()
        assert a[:6] == b[:6]
        assert (a[-1] == b"NA") >= (b[-1] == b"NA")
        if a[-1] == b"NA" and b[-1] != b"NA":  # PLINK prints where it stopped, though there is no estimate
            assert reasons[a[1]] in (codes.SEPARATED, codes.UNFINISHED)
            running_off[a[1]] = max(running_off.get(a[1], 0.0), float(b[7]))
        if b"NA" in a or b"NA" in b:
            continue
        odds, statistic, p = (tuple(float(x[k]) for x in (a, b)) for k in (6, 10, 11))
        if not 1e-3 < odds[1] < 1e3:
            continue  # nearly separated: PLINK stops early
        compared += 1
        digit = 1.001e-3  # plus a step in the fourth digit
        assert abs(odds[0] - odds[1]) <= 2 * digit * abs(odds[1])
        assert abs(statistic[0] - statistic[1]) <= 2e-3 + 1e-3 * abs(statistic[1])
        assert abs(p[0] - p[1]) <= 2 * digit * p[1]
    assert compared > len(lines) / 3
    assert all(error > 100 for error in running_off.values()), running_off
    assert len(running_off) <= 0.05 * len(names)


def test_every_question_can_be_sent() -> None:
    pooled = generated(1, n=200, each=4)
    plan = Plan(
        "logistic", "status", 3, bytes(32), covariates=(Covariate("C1"), Covariate("C2")), missing="exact"
    )
    found = followed(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4)))
    for question in found.questions:
        asked = questions.decode(questions.encode(question), LOGISTIC.asks)
        assert questions.encode(asked) == questions.encode(question)
        assert asked.agrees(plan)
    seen = {question.name for question in found.questions}
    assert seen >= {"logistic/null", "logistic/start", "logistic/evaluate", "standardise/spread"}


def with_covariates(pooled: Pooled, *columns: np.ndarray) -> Pooled:
    return replace(pooled, samples=replace(pooled.samples, covariates=np.column_stack(columns)))


def plinks_and_ours(pooled: Pooled, folder: Path, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """P of PLINK's report and of ours, of all lines: NaN where it says NA."""
    needed(program := shutil.which("plink1.9"), "plink1.9")
    pooled.write(folder / "pooled")
    command = [str(program), "--bfile", str(folder / "pooled"), "--out", str(folder / "out"), "--logistic"]
    command += ["--allow-no-sex", "--covar", str(folder / "pooled.cov")]
    subprocess.run(command, capture_output=True, check=True)
    reports = (folder / "out.assoc.logistic").read_bytes(), pooled.study(**options)[0]["assoc"]
    plinks, ours = ([row[-1].replace(b"NA", b"nan") for row in numbers(report)[1:]] for report in reports)
    return np.array(plinks, float), np.array(ours, float)


def test_covariates_that_plink_refuses(tmp_path: Path) -> None:
    """Unlike --linear it takes what is nearly collinear. It says NA if two estimates are nearly the same.

    So it does for a covariate whose mean is far below zero, in units of its deviation: that estimate is
    nearly the intercept's. A mean far above zero is as bad, but not refused.
    """
    pooled = generated(11, n=300)
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
        trial = with_covariates(pooled, *columns)
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
    pooled = generated(11, n=300)
    random = np.random.default_rng(3)
    a, b = random.normal(size=300), random.normal(size=300)
    far = with_covariates(pooled, np.where(np.arange(300) == 5, 1e9, a), b)
    with pytest.raises(Refuse, match="C1: the values of a few people"):
        far.study()
    near = with_covariates(pooled, np.where(np.arange(300) == 5, 1e3, a), b)
    _, rows = near.study()
    assert np.isfinite(rows["beta"][:, 0]).sum() > 40


def test_separated_by_a_covariate() -> None:
    pooled = generated(6, n=200, each=4, missing=0.0)
    s = pooled.samples
    apart = np.column_stack(
        [np.where(s.phenotype == 1, 1.0, 0.0) + np.linspace(0, 0.5, len(s)), np.ones(len(s))]
    )
    trial = replace(pooled, samples=replace(s, covariates=apart[:, :1]))
    _, rows = trial.study()
    assert np.isnan(rows["beta"]).all() and np.all(rows["code"] > 0)
