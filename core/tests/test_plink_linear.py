"""Whole linear studies in one process, line by line as plink1.9 --linear writes them on the pooled data."""

from __future__ import annotations

import gzip
import io
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asking import followed
from pooled import Pool, needed, written

from unpooled import question as questions
from unpooled.algorithms.regression.linear import LINEAR, SumColumns, SumWithGenotypes
from unpooled.algorithms.shared.summary import chi_square
from unpooled.cohort import ArrayCohort, Samples
from unpooled.errors import Refuse
from unpooled.formats.number import number_text
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan
from unpooled.run import run
from unpooled.statistics import genomic_inflation

MOUSE = Path("/usr/share/doc/gemma/example")


class Pooled(Pool):
    """For tests of numbers."""

    def phenotypes(self) -> list[str]:
        return list(map(written, self.samples.phenotype))

    def cohorts(self, shares: tuple[float, ...], seed: int) -> list[ArrayCohort]:
        """The samples dealt out at random, unevenly."""
        of = np.random.default_rng(seed).choice(
            len(shares), len(self.samples), p=np.divide(shares, sum(shares))
        )
        return self.dealt(of, len(shares))

    def study(
        self, *, shares: tuple[float, ...] = (1, 2, 4), seed: int = 0, **options: object
    ) -> tuple[dict[str, bytes], dict[str, np.ndarray]]:
        """The files of a federated study, and its result columns."""
        chosen = {
            "trait": "quantitative",
            "missing": "exact",
            "files": ("assoc", "adjusted"),
            "covariates": tuple(map(Covariate, self.covariates)),
            "autosomes": self.autosomes,
            **options,
        }
        agreed = Plan("linear", "trait", len(shares), bytes(32), **chosen)  # type: ignore[arg-type]
        panel = Panel.of(self.variants)
        tables = run(agreed, panel, self.cohorts(shares, seed))
        files = {}
        for suffix in agreed.files:
            LINEAR.files[suffix](file := io.BytesIO(), panel, LINEAR.columns(suffix, tables), agreed)
            files[suffix] = file.getvalue()
        return files, tables["variants"]


SUFFIXES = {"assoc": "assoc.linear", "adjusted": "assoc.linear.adjusted"}
PooledPlink = Callable[..., dict[str, bytes]]


@pytest.fixture
def plink(tmp_path: Path) -> PooledPlink:
    """plink1.9 on pooled data."""
    program = shutil.which("plink1.9")
    needed(program, "plink1.9")

    def call(pooled: Pooled, *flags: str, modifiers: tuple[str, ...] = ()) -> dict[str, bytes]:
        pooled.write(tmp_path / "pooled")
        command = [str(program), "--bfile", str(tmp_path / "pooled"), "--out", str(tmp_path / "out")]
        command += ["--linear", *modifiers, "--allow-no-sex", "--chr-set", str(pooled.autosomes), *flags]
        if pooled.covariates:
            command += ["--covar", str(tmp_path / "pooled.cov")]
        command += ["--adjust"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found = {name: tmp_path / f"out.{suffix}" for name, suffix in SUFFIXES.items()}
        # Without any valid test there is no file of adjusted P values.
        return {name: path.read_bytes() for name, path in found.items() if path.exists()}

    return call


def off_by_one(ours: bytes, plinks: bytes) -> bool:
    """Whether two lines differ by no more than one in the last digit of their numbers."""
    words = list(zip(ours.split(), plinks.split(), strict=True))
    return len(ours) == len(plinks) and all(a == b or _neighbours(a, b) for a, b in words)


def _neighbours(a: bytes, b: bytes) -> bool:
    try:
        unit = [abs(float(x)) for x in (a, b)]
    except ValueError:
        return False
    step = 10.0 ** (np.floor(np.log10(max(unit))) - 3)
    return abs(float(a) - float(b)) <= 1.001 * step


def same(ours: bytes, plinks: bytes, share: float = 0.999) -> None:
    """At least this share of lines equal, the others off by one in the last digit."""
    lines = list(zip(ours.splitlines(), plinks.splitlines(), strict=True))
    different = [(a, b) for a, b in lines if a != b]
    far = [pair for pair in different if not off_by_one(*pair)]
    assert not far, f"{len(far)} of {len(lines)}; ours, then PLINK's:\n" + b"\n".join(far[0]).decode()
    assert len(different) <= (1 - share) * len(lines), different[:5]


def generated(
    seed: int = 0,
    n: int = 210,
    each: int = 25,
    missing: float = 0.03,
    covariates: int = 2,
    scale: float = 1.0,
) -> Pooled:
    """Variants on every kind of chromosome, people of every kind, missing values of every kind."""
    random = np.random.default_rng(seed)
    alleles = [(b"A", b"G"), (b"T", b"C"), (b"G", b"A")]
    rows = [(c, 1 + 7 * k, b"rs%d_%d" % (c, k), *alleles[k % 3]) for c in (0, 1, 22, 23, 24, 25, 26)
            for k in range(each)]  # fmt: skip
    copies = random.binomial(2, np.broadcast_to(random.random((len(rows), 1)) ** 2, (len(rows), n)))
    copies = np.where(random.random(copies.shape) < missing, -1, copies).astype(np.int8)
    cov = random.normal(size=(n, covariates)) * scale + 3 * scale
    y = random.normal(size=n) + 0.3 * np.maximum(copies[each + 3], 0) + cov.sum(axis=1) / scale / 4
    y[random.random(n) < 0.05] = np.nan
    if covariates:
        cov[random.random(n) < 0.03, 0] = np.nan
    samples = Samples(
        y, random.integers(0, 3, n).astype(np.uint8), random.random(n) < 0.8, np.ones(n, bool), cov
    )
    return Pooled(samples, rows, copies)


KINDS: dict[str, dict[str, object]] = {
    "no covariates": {"covariates": 0},
    "two covariates": {},
    "five covariates": {"covariates": 5, "n": 700},
    "no missing calls": {"missing": 0.0},
    "many missing calls": {"missing": 0.4},
    "few people": {"n": 24},
    "hardly more people than parameters": {"n": 9, "missing": 0.2},
    "large values": {"scale": 1e9},
    "small values": {"scale": 1e-9},
}


@pytest.mark.parametrize("shares", [(1, 2, 4), (1, 1, 2, 3, 5, 8, 13)], ids=["3 cohorts", "7 cohorts"])
@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_plinks(kind: str, shares: tuple[float, ...], plink: PooledPlink, tmp_path: Path) -> None:
    pooled = generated(len(kind), **KINDS[kind])  # type: ignore[arg-type]
    ours, rows = pooled.study(shares=shares, chunk_size=40)
    plinks = plink(pooled)
    for name, report in plinks.items():
        same(ours[name], report, 0.995)
    said = re.findall(r"median chisq\) = (.*)\.\n", (tmp_path / "out.log").read_text())
    assert said == ([number_text(genomic_inflation(chi_square(rows)), 6)] if "adjusted" in plinks else [])


def test_modifiers(plink: PooledPlink) -> None:
    pooled = generated(5)
    ours, _ = pooled.study(ci=0.95)
    same(ours["assoc"], plink(pooled, "--ci", "0.95")["assoc"])
    ours, _ = pooled.study(hide_covar=True, ci=0.99)
    same(ours["assoc"], plink(pooled, "--ci", "0.99", modifiers=("hide-covar",))["assoc"])


@pytest.mark.parametrize("nonfounders", [False, True])
def test_filters(nonfounders: bool, plink: PooledPlink) -> None:
    pooled = generated(7, each=60)
    random = np.random.default_rng(9)  # the longest IDs are of variants that do not pass
    named = [(c, at, name + b"x" * random.integers(9), *pair) for c, at, name, *pair in pooled.variants]
    pooled = replace(pooled, variants=named)
    ours, rows = pooled.study(maf=0.1, geno=0.04, hwe=0.3, nonfounders=nonfounders)
    flags = ["--maf", "0.1", "--geno", "0.04", "--hwe", "0.3"] + ["--nonfounders"] * nonfounders
    assert 0 < len(rows["variant"]) < len(pooled.variants)
    plinks = plink(pooled, *flags)
    for name in plinks:
        same(ours[name], plinks[name])


def with_covariates(pooled: Pooled, *columns: np.ndarray) -> Pooled:
    s = pooled.samples
    return replace(pooled, samples=replace(s, covariates=np.column_stack(columns)))


def test_covariates_that_do_not_do(plink: PooledPlink) -> None:
    pooled = generated(11, n=300)
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
        trial = with_covariates(pooled, *chosen)
        if name == "one outlier of 1e6":  # a variant without a call of that person has no covariate left
            trial.copies[:, 5] = 2 * (trial.copies[:, 5] > 0)
            trial.samples.sex[5] = 1
        if name in ("correlated", "correlated negatively", "collinear"):
            with pytest.raises(Refuse, match=r"C2.* determine one another in the pool") as caught:
                trial.study()
            assert caught.value.field == "covariates"
            assert all(line.endswith(b"NA") for line in plink(trial)["assoc"].splitlines()[1:]), name
            continue
        ours, _ = trial.study()
        try:
            same(ours["assoc"], plink(trial)["assoc"], 0.995)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


@pytest.mark.parametrize("value", [0.0, 3.0, -1234.567, 1e9])
def test_a_constant_covariate(value: float, plink: PooledPlink) -> None:
    """Refused. PLINK says NA everywhere but for a few numbers, where rounding makes the column vary."""
    pooled = with_covariates(generated(11, n=300), np.full(300, value))
    with pytest.raises(Refuse, match="C1: the same value for everybody") as caught:
        pooled.study()
    assert caught.value.field == "covariates"
    if value in (0.0, 3.0):
        lines = [line for line in plink(pooled)["assoc"].splitlines()[1:] if not line.endswith(b"NA")]
        assert len(lines) < 0.05 * len(pooled.variants)


def mouse(phenotype: int) -> Pooled:
    """1,940 mice, 12,226 variants (PLINK skips those at negative positions); real phenotypes, no founders."""
    needed((MOUSE / "mouse_hs1940.bed.gz").exists(), "gemma-doc")
    fam, bim = (
        [line.split() for line in gzip.decompress((MOUSE / f"mouse_hs1940.{s}.gz").read_bytes()).splitlines()]
        for s in ("fam", "bim")
    )
    raw = np.frombuffer(gzip.decompress((MOUSE / "mouse_hs1940.bed.gz").read_bytes()), np.uint8)[3:]
    codes = (raw.reshape(len(bim), -1, 1) >> np.array([0, 2, 4, 6], np.uint8)) & 3
    copies = np.array([2, -1, 1, 0], np.int8)[codes.reshape(len(bim), -1)[:, : len(fam)]]
    value = np.array([float(row[phenotype]) if row[phenotype] != b"NA" else np.nan for row in fam])
    n = len(fam)
    random = np.random.default_rng(1)
    cov = np.column_stack([random.normal(170, 9, n), random.integers(0, 2, n).astype(float)])
    samples = Samples(
        value,
        np.array([int(row[4]) for row in fam], np.uint8),
        np.array([row[2:4] == [b"0", b"0"] for row in fam]),
        np.ones(n, bool),
        cov,
    )
    codes_of = {b"X": 20, b"Y": 21, b"XY": 22, b"MT": 23}
    rows = [
        (codes_of[c] if c in codes_of else int(c), int(at), name, a1, a2) for c, name, _, at, a1, a2 in bim
    ]
    order = [k for k in sorted(range(len(rows)), key=lambda k: rows[k][:3]) if rows[k][1] >= 0]
    return Pooled(samples, [rows[k] for k in order], copies[order], autosomes=19)


def test_p_values_down_to_0(plink: PooledPlink) -> None:
    """From 1e-150 to below the smallest float64; just above that PLINK's P has too few digits to compare."""
    random = np.random.default_rng(1)
    n = 1200
    causal = random.binomial(2, 0.4, n)
    near = np.where(
        random.random((260, n)) < np.linspace(0, 0.2, 260)[:, None], random.permutation(causal), causal
    )
    everyone = np.ones(n, bool)
    samples = Samples(
        causal + random.normal(size=n) * 0.35,
        np.ones(n, np.uint8),
        everyone,
        everyone,
        random.normal(size=(n, 1)),
    )
    rows = [(1, k + 1, b"v%d" % k, b"A", b"C") for k in range(len(near))]
    pooled = Pooled(samples, rows, near.astype(np.int8))
    ours, columns = pooled.study()
    assert np.isfinite(columns["neg_log10_p"]).all() and columns["neg_log10_p"].max() > 330
    for name, report in plink(pooled).items():
        pairs = list(zip(ours[name].splitlines(), report.splitlines(), strict=True))
        assert any(line[-2:] == b" 0" or b"INF" in line for _, line in pairs)
        fit = [pair for pair in pairs if not any(re.search(rb"e-3(1[4-9]|2.)", line) for line in pair)]
        assert len(fit) > 0.9 * len(pairs)
        same(*(b"\n".join(lines) for lines in zip(*fit, strict=True)))


@pytest.mark.parametrize("flags", [(), ("--nonfounders",)], ids=["founders", "nonfounders"])
def test_mice(flags: tuple[str, ...], plink: PooledPlink) -> None:
    pooled = mouse(5)
    ours, _ = pooled.study(nonfounders=bool(flags), shares=(1, 2, 5))
    plinks = plink(pooled, *flags)
    same(ours["assoc"], plinks["assoc"])
    # By P: variants whose P is the same but for rounding stand in any order.
    same(*(b"\n".join(sorted(text.splitlines())) for text in (ours["adjusted"], plinks["adjusted"])))


def test_the_mean_rule_is_imputing_the_pooled_mean() -> None:
    """Against least squares on the pooled data, each missing call being the mean of its variant and sex."""
    pooled = generated(4, n=150, each=8)
    _, rows = pooled.study(missing="mean")
    s, fitted = pooled.samples, set()
    for row, variant in enumerate(rows["variant"]):
        chromosome, _, _, a1, a2 = pooled.variants[variant]
        inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
        men = s.sex == 1
        if chromosome == 24:
            inside &= men
        single = men if chromosome in (23, 24) else np.full(len(men), chromosome == 26)
        of_first = rows["first_is_a1"][row] == (a1 < a2)
        g = pooled.copies[variant].astype(float)
        g = np.where((g < 0) | (single & (g == 1)), np.nan, g if of_first else 2 - g)
        g = np.where(single, g / 2, g)
        for alike in [men, ~men] if chromosome == 23 else [np.ones(len(men), bool)]:
            g[alike & np.isnan(g)] = np.nanmean(g[alike & inside])
        sex = [men[inside]] if chromosome == 23 else []
        g = g[inside]
        design = np.column_stack([np.ones(len(g)), g, s.covariates[inside], *sex])
        if np.ptp(g) == 0:
            assert rows["code"][row]
            continue
        fitted.add(chromosome)
        beta, rss, *_ = np.linalg.lstsq(design, s.phenotype[inside], rcond=None)
        variance = rss[0] / (len(g) - design.shape[1]) * np.linalg.inv(design.T @ design)
        shown = len(beta) - 1
        np.testing.assert_allclose(rows["beta"][row, :shown], beta[1:], rtol=1e-8)
        np.testing.assert_allclose(rows["se"][row, :shown], np.sqrt(np.diag(variance))[1:], rtol=1e-8)
        assert rows["n"][row] == inside.sum()
    assert fitted == {0, 1, 22, 23, 24, 25, 26}


def test_ties_of_the_alleles(plink: PooledPlink) -> None:
    """Both alleles equally frequent in founders: A1 stays as in the .bim."""
    pooled = generated(9, n=200, missing=0.0)
    copies = pooled.copies
    copies[:, :100] = np.where(copies[:, 100:] == 1, 1, 2 - copies[:, 100:])
    s = pooled.samples
    pooled = replace(pooled, samples=replace(s, founder=np.ones(200, bool)))
    ours, rows = pooled.study()
    same(ours["assoc"], plink(pooled)["assoc"])
    on_autosomes = np.array([pooled.variants[v][0] in (1, 22) for v in rows["variant"]])
    assert np.array_equal(rows["founder_a1"][on_autosomes], rows["founder_a2"][on_autosomes])


@pytest.mark.parametrize("autosomes", [22, 30])
def test_every_question_can_be_sent(autosomes: int) -> None:
    """With 30 autosomes none of these variants is on X or Y, and no sum is about men."""
    pooled = generated(1, n=200, each=4)
    pooled.copies[:3] = 1  # a tie, and out of equilibrium: not fitted, but reported
    pooled.copies[3] = np.arange(200) % 3  # a tie that is fitted
    plan = Plan(
        "linear", "trait", 3, bytes(32), trait="quantitative", missing="exact", hwe=1e-20,
        files=("assoc", "hwe"), covariates=tuple(map(Covariate, pooled.covariates)), autosomes=autosomes,
    )  # fmt: skip
    cohorts = pooled.cohorts((1, 2, 4), 0)
    found = followed(plan, Panel.of(pooled.variants), cohorts)
    for question in found.questions:
        asked = questions.decode(questions.encode(question), LINEAR.asks)
        assert questions.encode(asked) == questions.encode(question)
        assert asked.agrees(plan)
        if isinstance(asked, SumWithGenotypes):  # nobody's values without the rule that sends them
            assert not asked.agrees(replace(plan, missing="mean"))
        if isinstance(asked, SumColumns):
            assert asked.men_apart == (autosomes == 22)
    assert {question.name for question in found.questions} == {
        kind.name for kind in LINEAR.asks if kind.sends_under(plan)
    }


def test_p_below_1e_300() -> None:
    pooled = generated(2, n=3000, each=2, missing=0.0, covariates=0)
    s = pooled.samples
    y = pooled.copies[2] + np.random.default_rng(1).normal(size=3000) * 0.01
    ours, rows = replace(pooled, samples=replace(s, phenotype=y)).study()
    known = ~np.isnan(rows["beta"])
    assert np.isfinite(rows["neg_log10_p"][known]).all()
    assert rows["neg_log10_p"][known].max() > 300
    assert b" 0\n" in ours["assoc"]
