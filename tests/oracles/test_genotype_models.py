"""PLINK's genotype models and interactions on pooled data: plink1.9 and plink2, line by line.

Debian's plink2 has wrong standard errors for a dominant, recessive or heterozygous column beside covariates
where calls are missing in a logistic regression; there plink1.9 alone is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pooled import Pool, Quantities, Statuses, X, mice, quantities

from unpooled.plan.genotype_model import MODELS

from ..plinks import call
from .regression import Rows
from .reports import same
from .test_few_cases import assert_fitted, regression_of

RECODED = tuple(model for model in MODELS if model != "additive")
KINDS = [
    *((model, ()) for model in RECODED),
    ("additive", ("C1",)),
    ("dominant", ("C1", "C2")),
    ("genotypic", ("C2",)),
]
"""A model, and the covariates that the genotype interacts with."""

of_each_kind = pytest.mark.parametrize(("model", "interaction"), KINDS)
_PLACES = {"23", "24", "26", "X", "Y", "MT", "20", "21"}

Lines = list[list[str]]


def study(pooled: Quantities | Statuses, **options: object) -> dict[str, bytes]:
    """The files of a federated study in three cohorts."""
    of_cases = {"beta": True} if pooled.test == "logistic" else {}
    return pooled.study(files=("assoc", "adjusted", "glm"), **of_cases, **options)[0]


@dataclass(frozen=True)
class Plink:
    """Both PLINKs on pooled files."""

    folder: Path

    def old(self, pooled: Pool, model: str, interaction: Sequence[str]) -> Path:
        """plink1.9's reports, without X, Y and MT: after these it takes a variant for another."""
        words = [f"--{pooled.test}", *(["beta"] * (pooled.test == "logistic"))]
        words += self._asked(pooled, model, interaction)
        return pooled.plink1(self.folder, *words, "--not-chr", "X,Y,MT", "--adjust")

    def new(self, pooled: Pool, model: str, interaction: Sequence[str], *more: str) -> Lines:
        """plink2's report, on the files that plink1.9 wrote anew: so ALT is the rarer allele."""
        words = ["--glm", "omit-ref", *more, *([] if pooled.covariates else ["allow-no-covars"])]
        words += ["cols=+beta,-orbeta"] * (pooled.test == "logistic")
        words += self._asked(pooled, model, interaction)
        words += ["--not-chr", "X,Y,MT"] if interaction else []
        return pooled.plink2(self.folder, *words, own_units=False)

    def interacting(self, program: str, test: str, place: str, parameters: Sequence[int]) -> Lines:
        """Some tests of variants on one chromosome, of the files that `new` has written."""
        words = ["--allow-no-sex", "--bfile", self.folder / "pooled", f"--{test}", "interaction"]
        words += ["beta"] * (test == "logistic")
        if program == "plink2":
            words = ["--bfile", self.folder / "minor", "--threads", 1, "--glm", "interaction", "omit-ref"]
            words += ["cols=+beta,-orbeta"] * (test == "logistic")
        chosen = ["--chr", place, "--parameters", ",".join(map(str, parameters))]
        out = self.folder / f"{program}-{place}"
        call(program, *words, "--covar", self.folder / "pooled.cov", *chosen, "--out", out)
        return lines(next(path for path in self.folder.glob(f"{out.name}.*{test}*")).read_bytes())

    def _asked(self, pooled: Pool, model: str, interaction: Sequence[str]) -> list[str]:
        words = [model] if model != "additive" else []
        if not interaction:
            return words
        # Of all interactions, which PLINK has, those that are asked for.
        width, count = len(MODELS[model]), len(pooled.covariates)
        places = [k for k, name in enumerate(pooled.covariates) if name in interaction]
        first = width + count + 1
        kept = [str(first + width * k + column) for k in places for column in range(width)]
        return [*words, "interaction", "--parameters", ",".join([f"1-{width + count}", *kept])]


@pytest.fixture
def plink(tmp_path: Path) -> Plink:
    return Plink(tmp_path)


def cases(pooled: Quantities, share: float) -> Statuses:
    """Make cases of the people with the largest values of the phenotype."""
    y = pooled.samples.phenotype
    status = np.where(np.isnan(y), np.nan, y > np.nanquantile(y, 1 - share))
    samples = replace(pooled.samples, phenotype=status)
    return Statuses(samples, pooled.variants, pooled.copies, pooled.autosomes)


@cache
def people(missing: float) -> Quantities:
    return quantities(1, n=500, each=15, missing=missing)


def autosomal(report: bytes) -> bytes:
    """The lines that are not about X, Y or MT."""
    lines = report.splitlines(keepends=True)
    return b"".join(line for line in lines if line.split()[0].decode() not in _PLACES)


def lines(report: bytes) -> Lines:
    return [line.split() for line in report.decode().splitlines()]


def near(ours: Lines, plinks: Lines, distance: float) -> list[tuple[list[str], list[str]]]:
    """Lines that are not the same up to a distance, relative or, of a number below 1, absolute."""
    assert ours[0] == plinks[0]
    title = ours[0]
    first = title.index("OBS_CT" if "OBS_CT" in title else "NMISS") + 1
    return [
        (a, b)
        for a, b in zip(ours[1:], plinks[1:], strict=True)
        if a[:first] != b[:first]
        or any(x != y and not _is_near(x, y, distance) for x, y in zip(a[first:], b[first:], strict=True))
    ]


def _is_near(x: str, y: str, distance: float) -> bool:
    try:
        return abs(float(x) - float(y)) <= distance * max(abs(float(y)), 1.0)
    except ValueError:
        return False


@of_each_kind
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_linear_is_plinks(model: str, interaction: tuple[str, ...], missing: float, plink: Plink) -> None:
    pooled = people(missing)
    ours = study(pooled, genotype_model=model, interaction=interaction)
    if model != "hetonly":  # which plink1.9 does not have
        out = plink.old(pooled, model, interaction)
        same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes(), 0.995)
    report = plink.new(pooled, model, interaction)
    mine = autosomal(ours["glm"]) if interaction else ours["glm"]
    assert not near(lines(mine), report, 2e-5)


@of_each_kind
def test_logistic_is_plinks(model: str, interaction: tuple[str, ...], plink: Plink) -> None:
    """Lines are compared if both have a fit of the same kind: plink2 also prints where it stopped short of
    one.
    """
    pooled = cases(people(0.0), 0.3)
    ours = study(pooled, genotype_model=model, interaction=interaction)
    if model != "hetonly":
        out = plink.old(pooled, model, interaction)
        report = out.with_suffix(".assoc.logistic").read_bytes()
        far = near(lines(autosomal(ours["assoc"])), lines(report), 2e-3)
        assert all(a[-1] == "NA" and is_run_off(b) for a, b in far), far[:3]
    report = plink.new(pooled, model, interaction)
    mine = autosomal(ours["glm"]) if interaction else ours["glm"]
    far = near(lines(mine), report, 2e-3)
    assert all(b[-1] == "UNFINISHED" and a[6] == "Y" for a, b in far), far[:3]
    assert len(far) <= 0.05 * len(report)


def is_run_off(line: list[str]) -> bool:
    """Tell whether a diverging iteration was printed: an effect of tens of log odds and no significance."""
    return line[-3] == "NA" or abs(float(line[-3])) > 4 or float(line[-1]) > 0.01 or line[4].startswith("C")


@pytest.mark.parametrize(("model", "interaction"), [kind for kind in KINDS if kind[0] != "hetonly"])
def test_logistic_with_missing_calls_is_plink_1s(
    model: str, interaction: tuple[str, ...], plink: Plink
) -> None:
    pooled = cases(people(0.05), 0.4)
    ours = study(pooled, genotype_model=model, interaction=interaction)
    out = plink.old(pooled, model, interaction)
    far = near(lines(autosomal(ours["assoc"])), lines(out.with_suffix(".assoc.logistic").read_bytes()), 2e-3)
    assert all(a[-1] == "NA" and is_run_off(b) for a, b in far), far[:3]


@pytest.mark.parametrize("firth", ["firth", "no-firth"])
@pytest.mark.parametrize("model", RECODED)
def test_firths_fit_of_each_model_is_plink2s(model: str, firth: str, plink: Plink) -> None:
    pooled = cases(people(0.0), 0.04)
    ours = study(pooled, genotype_model=model, firth=firth, hide_covar=True)
    report = plink.new(pooled, model, (), firth, "hide-covar")
    far = near(lines(ours["glm"]), report, 5e-3)
    assert all("UNFINISHED" in b[-1] or a[-1] == "LOGISTIC_CONVERGE_FAIL" for a, b in far), far[:3]
    assert len(far) <= 0.05 * len(report)


@pytest.mark.parametrize("model", ["dominant", "genotypic"])
def test_mice(model: str, plink: Plink) -> None:
    pooled = mice(5)
    ours = study(pooled, genotype_model=model)
    out = plink.old(pooled, model, ())
    same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes())
    adjusted = (ours["adjusted"], out.with_suffix(".assoc.linear.adjusted").read_bytes())
    same(*(b"\n".join(sorted(text.splitlines())) for text in adjusted))


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("interaction", [("C2",), ("C1", "C2")])
@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_interaction_on_x_y_and_mt_is_plinks(
    test: str, interaction: tuple[str, ...], missing: float, plink: Plink
) -> None:
    """There are SEX and its product with the genotype, too, on X. PLINK counts ADD, C1, C2, ADDxC1, ADDxC2,
    SEX and ADDxSEX, of which some are chosen.
    """
    pooled = people(missing) if test == "linear" else cases(people(missing), 0.4)
    ours = study(pooled, interaction=interaction)
    plink.new(pooled, "additive", ())  # writes the files
    products = [3 + int(name[1:]) for name in interaction]
    for program, file, places in (
        ("plink1.9", "assoc", ("23", "24", "26")),
        ("plink2", "glm", ("X", "Y", "MT")),
    ):
        for place, of_sex in zip(places, ([6, 7], [], []), strict=True):
            report = plink.interacting(program, test, place, [1, 2, 3, *products, *of_sex])
            mine = [line for line in lines(ours[file]) if line[0] == place]
            if program == "plink1.9" and place != "23":
                report = [_doubled(line) if "x" in line[4] else line for line in report]
            far = near([report[0], *mine], report, 2e-3)
            may_differ = is_run_off if program == "plink1.9" else _is_unfinished
            assert len(mine) == 15 * (3 + len(products) + len(of_sex))
            assert test == "logistic" or not far, far[:3]
            assert all(may_differ(theirs) for _, theirs in far), far[:3]
            assert len(far) <= 0.2 * len(mine), far[:3]


def _doubled(line: list[str]) -> list[str]:
    """PLINK 1.9's line of an interaction on Y or MT, where a copy counts 1, but 2 in its product."""
    return [*line[:6], line[6] if line[6] == "NA" else str(2 * float(line[6])), *line[7:]]


def _is_unfinished(line: list[str]) -> bool:
    return line[-1] == "UNFINISHED"


@pytest.mark.parametrize("sex", [1, 2])
def test_where_all_are_of_one_sex_nothing_is_multiplied_with_it(sex: int, plink: Plink) -> None:
    pooled = people(0.0)
    of_one = replace(pooled.samples, sex=np.full(len(pooled.samples.sex), sex, np.uint8))
    pooled = replace(pooled, samples=of_one)
    ours = study(pooled, interaction=pooled.covariates)
    plink.new(pooled, "additive", ())  # writes the files
    for program, file, place in (("plink1.9", "assoc", "23"), ("plink2", "glm", "X")):
        report = plink.interacting(program, "linear", place, [1, 2, 3, 4, 5])
        mine = [line for line in lines(ours[file]) if line[0] == place]
        assert len(mine) == 15 * 5
        assert not near([report[0], *mine], report, 2e-3)


def tied() -> Quantities:
    """Variants of two equally frequent alleles, of which A1 in the files is now the first, now the second."""
    random = np.random.default_rng(3)
    pooled = quantities(2, n=200, each=2, missing=0.0, covariates=1)
    copies = pooled.copies.copy()
    copies[:4] = random.permuted(np.repeat([0, 1, 2], [60, 80, 60])[None].repeat(4, axis=0), axis=1)
    pairs = ((b"C", b"T"), (b"T", b"C"))
    rows = [(c, at, name, *pairs[k % 2]) for k, (c, at, name, *_) in enumerate(pooled.variants)]
    everyone = np.ones(200, bool)
    samples = replace(pooled.samples, founder=everyone)
    return replace(pooled, variants=rows, copies=copies, samples=samples)


@pytest.mark.parametrize("model", ["dominant", "recessive"])
def test_of_a_tie_a1_is_settled_before_the_fit(model: str, plink: Plink) -> None:
    pooled = tied()
    ours = study(pooled, genotype_model=model)
    out = plink.old(pooled, model, ())
    same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes())


@pytest.mark.parametrize(("model", "interaction"), [("dominant", ()), ("genotypic", ("C1",))])
def test_the_mean_rule_takes_each_column_for_its_mean(model: str, interaction: tuple[str, ...]) -> None:
    """Against least squares on the pooled data, where a missing call is the mean of each coded column."""
    pooled = quantities(4, n=150, each=6, missing=0.1)
    _, rows = pooled.study(missing="mean", files=("assoc",), genotype_model=model, interaction=interaction)
    s, checked = pooled.samples, 0
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    for k, variant in enumerate(rows["variant"].tolist()):
        *_, a1, a2 = pooled.variants[variant]
        copies = pooled.copies[variant][inside].astype(int)
        copies = np.where(copies < 0, -1, copies if rows["first_is_a1"][k] == (a1 < a2) else 2 - copies)
        own = [np.array(column.values)[copies] for column in MODELS[model]]
        own = [np.where(copies < 0, column[copies >= 0].mean(), column) for column in own]
        products = [column * s.covariates[inside, 0] for column in own] if interaction else []
        x = np.column_stack([np.ones(len(copies)), *own, *s.covariates[inside].T, *products])
        if rows["code"][k] == 0:
            assert_fitted(rows, k, Rows("linear", (), s.phenotype[inside], x), 1e-7, 1e-9)
            checked += 1
    assert checked >= 10


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_the_mean_rule_on_x_takes_each_sexes_mean_before_products(test: str) -> None:
    """Against least squares, and Newton's method, on the pooled data."""
    pooled = quantities(4, n=400 if test == "linear" else 2000, each=6, missing=0.1)
    pooled = pooled if test == "linear" else cases(pooled, 0.4)
    _, rows = pooled.study(missing="mean", files=("assoc",), interaction=("C1",))
    fitted = [k for k, v in enumerate(rows["variant"]) if pooled.variants[v][0] == X and not rows["code"][k]]
    for k in fitted:
        of = regression_of(pooled, rows, k, mean=True)
        one, copies, *c, men = of.x.T
        x = np.column_stack([one, copies, *c, copies * c[0], men, copies * men])
        assert_fitted(rows, k, Rows(test, (), of.y, x), 1e-6, 1e-8)
    assert len(fitted) >= 3
