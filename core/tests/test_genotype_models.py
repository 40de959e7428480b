"""PLINK's genotype models and interactions on pooled data: plink1.9 and plink2, line by line.

Debian's plink2 has wrong standard errors for a dominant, recessive or heterozygous column beside covariates
where calls are missing in a logistic regression; there plink1.9 alone is compared.
"""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from asking import followed
from pooled import needed
from statsmodels.api import Logit
from test_plink_linear import Pooled, generated, mouse, same

from unpooled.algorithms import algorithm
from unpooled.algorithms.regression.linear import SumWithGenotypes
from unpooled.algorithms.regression.logistic_questions import Evaluate, FitCovariates
from unpooled.algorithms.regression.ordering import OrderBeforeFit
from unpooled.errors import ProtocolError, Refuse
from unpooled.genotype_model import MODELS
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan, PlanError
from unpooled.run import run

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


def study(pooled: Pooled, test: str, **options: object) -> dict[str, bytes]:
    """The files of a federated study in three cohorts."""
    chosen = {
        "trait": "quantitative" if test == "linear" else "case/control",
        "missing": "exact",
        "files": ("assoc", "adjusted", "glm"),
        "covariates": tuple(map(Covariate, pooled.covariates)),
        "autosomes": pooled.autosomes,
        "beta": test == "logistic",
        **options,
    }
    if test == "linear":
        chosen.pop("beta")
    plan = Plan(test, "trait", 3, bytes(32), **chosen)  # type: ignore[arg-type]
    panel, found = Panel.of(pooled.variants), {}
    tables, writers = run(plan, panel, pooled.cohorts((1, 2, 4), 0)), algorithm(test)
    for name in plan.files:
        writers.files[name](file := io.BytesIO(), panel, writers.columns_for(name, tables), plan)
        found[name] = file.getvalue()
    return found


@dataclass(frozen=True)
class Plink:
    """Both PLINKs on pooled files."""

    folder: Path

    def old(self, pooled: Pooled, test: str, model: str, interaction: Sequence[str], *more: str) -> Path:
        """plink1.9's reports, without X, Y and MT: after these it takes a variant for another."""
        program = shutil.which("plink1.9")
        needed(program, "plink1.9")
        self._write(pooled, test)
        words = [str(program), "--bfile", self.folder / "pooled", "--allow-no-sex", f"--{test}", *more]
        words += ["beta"] * (test == "logistic")
        self._run(words, pooled, model, interaction, "--not-chr", "X,Y,MT", "--adjust")
        return self.folder / "out"

    def new(self, pooled: Pooled, test: str, model: str, interaction: Sequence[str], *more: str) -> Path:
        """plink2's report, on the files that plink1.9 wrote anew: so ALT is the rarer allele."""
        old, program = shutil.which("plink1.9"), shutil.which("plink2")
        needed(old and program, "plink2")
        self._write(pooled, test)
        general = ["--allow-no-sex", "--chr-set", str(pooled.autosomes), "--make-bed"]
        _call([str(old), "--bfile", self.folder / "pooled", *general, "--out", self.folder / "minor"])
        words = [str(program), "--bfile", self.folder / "minor", "--threads", "1"]
        words += ["--glm", "omit-ref", *more, *([] if pooled.covariates else ["allow-no-covars"])]
        words += ["cols=+beta,-orbeta"] * (test == "logistic")
        self._run(words, pooled, model, interaction, *(["--not-chr", "X,Y,MT"] if interaction else []))
        return next(self.folder.glob("out.*.glm.*"))

    def interacting(self, program: str, test: str, place: str, parameters: Sequence[int]) -> Lines:
        """Some tests of variants on one chromosome, of the files that `new` has written."""
        words = [program, "--allow-no-sex", "--bfile", self.folder / "pooled", f"--{test}", "interaction"]
        words += ["beta"] * (test == "logistic")
        if program == "plink2":
            words = [program, "--bfile", self.folder / "minor", "--threads", "1", "--glm", "interaction"]
            words += ["omit-ref", *(["cols=+beta,-orbeta"] * (test == "logistic"))]
        chosen = ["--chr", place, "--parameters", ",".join(map(str, parameters))]
        out = self.folder / f"{program}-{place}"
        _call([*words, "--covar", self.folder / "pooled.cov", *chosen, "--out", out])
        return lines(next(path for path in self.folder.glob(f"{out.name}.*{test}*")).read_bytes())

    def _write(self, pooled: Pooled, test: str) -> None:
        if test == "logistic":  # 1 and 2 in PLINK's files
            samples = replace(pooled.samples, phenotype=pooled.samples.phenotype + 1)
            pooled = replace(pooled, samples=samples)
        pooled.write(self.folder / "pooled")
        fam = self.folder / "pooled.fam"
        if test == "logistic":
            fam.write_text(fam.read_text().replace(" NA\n", " -9\n").replace(".0\n", "\n"))

    def _run(
        self, words: list[object], pooled: Pooled, model: str, interaction: Sequence[str], *more: str
    ) -> None:
        if model != "additive":
            words = [*words, model]
        if interaction:
            # Of all interactions, which PLINK has, those that are asked for.
            width, count = len(MODELS[model]), len(pooled.covariates)
            places = [k for k, name in enumerate(pooled.covariates) if name in interaction]
            first = width + count + 1
            kept = [str(first + width * k + column) for k in places for column in range(width)]
            words = [*words, "interaction", "--parameters", ",".join([f"1-{width + count}", *kept])]
        covar = ["--covar", self.folder / "pooled.cov"] if pooled.covariates else []
        general = ["--chr-set", str(pooled.autosomes), "--out", self.folder / "out"]
        _call([*words, *covar, *general, *more])


@pytest.fixture
def plink(tmp_path: Path) -> Plink:
    return Plink(tmp_path)


def _call(words: Sequence[object]) -> None:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def cases(pooled: Pooled, share: float) -> Pooled:
    """With the largest values of the phenotype as cases."""
    y = pooled.samples.phenotype
    status = np.where(np.isnan(y), np.nan, y > np.nanquantile(y, 1 - share))
    return replace(pooled, samples=replace(pooled.samples, phenotype=status))


@cache
def people(missing: float) -> Pooled:
    return generated(1, n=500, each=15, missing=missing)


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
    ours = study(pooled, "linear", genotype_model=model, interaction=interaction)
    if model != "hetonly":  # which plink1.9 does not have
        out = plink.old(pooled, "linear", model, interaction)
        same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes(), 0.995)
    report = plink.new(pooled, "linear", model, interaction).read_bytes()
    mine = autosomal(ours["glm"]) if interaction else ours["glm"]
    assert not near(lines(mine), lines(report), 2e-5)


@of_each_kind
def test_logistic_is_plinks(model: str, interaction: tuple[str, ...], plink: Plink) -> None:
    """Where both have a fit of the same kind: plink2 also prints where it stopped short of one."""
    pooled = cases(people(0.0), 0.3)
    ours = study(pooled, "logistic", genotype_model=model, interaction=interaction)
    if model != "hetonly":
        out = plink.old(pooled, "logistic", model, interaction)
        report = out.with_suffix(".assoc.logistic").read_bytes()
        far = near(lines(autosomal(ours["assoc"])), lines(report), 2e-3)
        assert all(a[-1] == "NA" and is_run_off(b) for a, b in far), far[:3]
    report = plink.new(pooled, "logistic", model, interaction).read_bytes()
    mine = autosomal(ours["glm"]) if interaction else ours["glm"]
    far = near(lines(mine), lines(report), 2e-3)
    assert all(b[-1] == "UNFINISHED" and a[6] == "Y" for a, b in far), far[:3]
    assert len(far) <= 0.05 * len(lines(report))


def is_run_off(line: list[str]) -> bool:
    """Whether an iteration was printed where it stood: an effect of tens of log odds and no significance."""
    return line[-3] == "NA" or abs(float(line[-3])) > 4 or float(line[-1]) > 0.01 or line[4].startswith("C")


@pytest.mark.parametrize(("model", "interaction"), [kind for kind in KINDS if kind[0] != "hetonly"])
def test_logistic_with_missing_calls_is_plink_1s(
    model: str, interaction: tuple[str, ...], plink: Plink
) -> None:
    pooled = cases(people(0.05), 0.4)
    ours = study(pooled, "logistic", genotype_model=model, interaction=interaction)
    out = plink.old(pooled, "logistic", model, interaction)
    far = near(lines(autosomal(ours["assoc"])), lines(out.with_suffix(".assoc.logistic").read_bytes()), 2e-3)
    assert all(a[-1] == "NA" and is_run_off(b) for a, b in far), far[:3]


@pytest.mark.parametrize("firth", ["firth", "no-firth"])
@pytest.mark.parametrize("model", RECODED)
def test_firths_fit_of_each_model_is_plink2s(model: str, firth: str, plink: Plink) -> None:
    pooled = cases(people(0.0), 0.04)
    ours = study(pooled, "logistic", genotype_model=model, firth=firth, hide_covar=True)
    report = plink.new(pooled, "logistic", model, (), firth, "hide-covar").read_bytes()
    far = near(lines(ours["glm"]), lines(report), 5e-3)
    assert all("UNFINISHED" in b[-1] or a[-1] == "LOGISTIC_CONVERGE_FAIL" for a, b in far), far[:3]
    assert len(far) <= 0.05 * len(lines(report))


@pytest.mark.parametrize("model", ["dominant", "genotypic"])
def test_mice(model: str, plink: Plink) -> None:
    pooled = mouse(5)
    ours = study(pooled, "linear", genotype_model=model)
    out = plink.old(pooled, "linear", model, ())
    same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes())
    adjusted = (ours["adjusted"], out.with_suffix(".assoc.linear.adjusted").read_bytes())
    same(*(b"\n".join(sorted(text.splitlines())) for text in adjusted))


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("interaction", [("C2",), ("C1", "C2")])
@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_interaction_on_x_y_and_mt_is_plinks(
    test: str, interaction: tuple[str, ...], missing: float, plink: Plink
) -> None:
    """On X there are SEX and its product with the genotype, too. PLINK counts ADD, C1, C2, ADDxC1, ADDxC2,
    SEX and ADDxSEX, of which some are chosen."""
    pooled = people(missing) if test == "linear" else cases(people(missing), 0.4)
    ours = study(pooled, test, interaction=interaction)
    plink.new(pooled, test, "additive", ())  # writes the files
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
    ours = study(pooled, "linear", interaction=pooled.covariates)
    plink.new(pooled, "linear", "additive", ())  # writes the files
    for program, file, place in (("plink1.9", "assoc", "23"), ("plink2", "glm", "X")):
        report = plink.interacting(program, "linear", place, [1, 2, 3, 4, 5])
        mine = [line for line in lines(ours[file]) if line[0] == place]
        assert len(mine) == 15 * 5
        assert not near([report[0], *mine], report, 2e-3)


def tied() -> Pooled:
    """Variants of two equally frequent alleles, of which A1 in the files is now the first, now the second."""
    random = np.random.default_rng(3)
    pooled = generated(2, n=200, each=2, missing=0.0, covariates=1)
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
    ours = study(pooled, "linear", genotype_model=model)
    out = plink.old(pooled, "linear", model, ())
    same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes())


def least_squares(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    rest = y - x @ beta
    return beta, np.sqrt(np.diag(inverse) * (rest @ rest) / (len(y) - x.shape[1]))


@pytest.mark.parametrize(("model", "interaction"), [("dominant", ()), ("genotypic", ("C1",))])
def test_the_mean_rule_takes_each_column_for_its_mean(model: str, interaction: tuple[str, ...]) -> None:
    """Against least squares on the pooled data, where a missing call is the mean of each coded column."""
    pooled = generated(4, n=150, each=6, missing=0.1)
    plan = Plan(
        "linear", "trait", 3, bytes(32), trait="quantitative", missing="mean", files=("assoc",),
        covariates=tuple(map(Covariate, pooled.covariates)), genotype_model=model, interaction=interaction,
    )  # fmt: skip
    rows = run(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4), 0))["variants"]
    s, checked = pooled.samples, 0
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    for k, variant in enumerate(rows["variant"].tolist()):
        *_, a1, a2 = pooled.variants[variant]
        copies = pooled.copies[variant][inside].astype(int)
        copies = np.where(copies < 0, -1, copies if rows["first_is_a1"][k] == (a1 < a2) else 2 - copies)
        own = [np.array(column.values)[copies] for column in MODELS[model]]
        own = [np.where(copies < 0, column[copies >= 0].mean(), column) for column in own]
        products = [column * s.covariates[inside, 0] for column in own] if interaction else []
        x = np.column_stack([*own, *s.covariates[inside].T, *products, np.ones(len(copies))])
        if rows["code"][k] == 0:
            beta, se = least_squares(x, s.phenotype[inside])
            np.testing.assert_allclose(rows["beta"][k], beta[:-1], rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(rows["se"][k], se[:-1], rtol=1e-7)
            checked += 1
    assert checked >= 10


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_the_mean_rule_on_x_takes_each_sexes_mean_before_products(test: str) -> None:
    """Against least squares, and Newton's method, on the pooled data."""
    pooled = generated(4, n=400, each=6, missing=0.1)
    pooled = pooled if test == "linear" else cases(pooled, 0.4)
    plan = Plan(
        test, "trait", 3, bytes(32), trait="quantitative" if test == "linear" else "case/control",
        missing="mean", files=("assoc",), covariates=tuple(map(Covariate, pooled.covariates)),
        interaction=("C1",),
    )  # fmt: skip
    rows = run(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4), 0))["variants"]
    s, checked = pooled.samples, 0
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    men, c, y = s.sex[inside] == 1, s.covariates[inside], s.phenotype[inside]
    for k, variant in enumerate(rows["variant"].tolist()):
        chromosome, _, _, a1, a2 = pooled.variants[variant]
        if chromosome != 23 or rows["code"][k] != 0:
            continue
        copies = pooled.copies[variant][inside].astype(float)
        copies[(copies < 0) | (men & (copies == 1))] = np.nan
        copies = copies if rows["first_is_a1"][k] == (a1 < a2) else 2 - copies
        copies[men] /= 2
        for group in (men, ~men):
            copies[group & np.isnan(copies)] = np.nanmean(copies[group])
        x = np.column_stack([copies, c, copies * c[:, 0], men, copies * men, np.ones(len(y))])
        beta, se = least_squares(x, y) if test == "linear" else maximum_likelihood(x, y)
        np.testing.assert_allclose(rows["beta"][k], beta[:-1], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(rows["se"][k], se[:-1], rtol=1e-6)
        checked += 1
    assert checked >= 3


def maximum_likelihood(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    fit = Logit(y, x).fit(disp=False, method="newton", maxiter=100, tol=1e-14)
    return fit.params, fit.bse


def plan_with(**options: object) -> Plan:
    chosen = {"trait": "quantitative", "files": ("assoc",), "covariates": (Covariate("age"),), **options}
    return Plan("linear", "trait", 3, bytes(32), **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        ({"interaction": ("weight",)}, "interaction", "is called weight; there are age"),
        ({"interaction": ("weight",), "covariates": ()}, "interaction", "it has none"),
        ({"genotype_model": "codominant"}, "genotype_model", "dominant, recessive, hetonly or genotypic"),
        ({"genotype_model": "dominant", "files": ("ssf",)}, "genotype_model", "leave out the file ssf"),
        ({"interaction": ("age",), "files": ("ssf",)}, "interaction", "leave out the file ssf"),
    ],
)
def test_a_plan_says_what_is_wrong_with_it(options: dict[str, object], field: str, said: str) -> None:
    with pytest.raises(PlanError) as error:
        plan_with(**options)
    assert said in error.value.problems[field]


def refused(pooled: Pooled, **options: object) -> Refuse:
    names = tuple(map(Covariate, pooled.covariates))
    plan = plan_with(**{"covariates": names, "min_samples": 1, **options})
    with pytest.raises(Refuse) as error:
        run(plan, Panel.of(pooled.variants), pooled.cohorts((1, 1, 1), 0))
    return error.value


def test_a_constant_covariate_is_refused_before_any_genotype() -> None:
    pooled = generated(1, n=60, each=2)
    same_for_all = np.column_stack([pooled.samples.covariates[:, 0], np.full(60, 3.0)])
    pooled = replace(pooled, samples=replace(pooled.samples, covariates=same_for_all))
    error = refused(pooled, interaction=("C2",))
    assert error.field == "covariates" and "C2" in str(error) and "Leave it out" in str(error)


def test_too_few_people_for_the_columns_are_refused() -> None:
    pooled = generated(1, n=7, each=2)
    error = refused(pooled, genotype_model="genotypic", interaction=("C1", "C2"))
    assert error.field == "interaction" and "8 columns" in str(error) and "additive" in str(error)
    assert refused(generated(1, n=5, each=2), genotype_model="genotypic").field == "genotype_model"


def test_a_cohort_answers_no_other_model_than_the_plans() -> None:
    pooled = generated(1, n=60, each=2, covariates=2)
    names = tuple(map(Covariate, pooled.covariates))
    plan = plan_with(covariates=names, genotype_model="dominant", interaction=("C1",))
    asked = followed(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 3), 0)).questions
    sums = next(question for question in asked if isinstance(question, SumWithGenotypes))
    assert sums.agrees(plan)
    for changes in ({"model": "recessive"}, {"interacting": ()}, {"interacting": (0, 1)}):
        assert not replace(sums, **changes).agrees(plan)
    for changes in ({"model": "codominant"}, {"interacting": (5,)}, {"chromosome": "X"}):
        with pytest.raises(ProtocolError):
            replace(sums, **changes)
    for plain in (plan_with(covariates=names), plan_with(covariates=names, interaction=("C2",))):
        assert not sums.agrees(plain)
    assert not OrderBeforeFit(np.arange(1), "diploid").agrees(plan_with(covariates=names))


def test_a_cohort_multiplies_with_sex_on_x_alone() -> None:
    pooled = generated(1, n=200, each=3, covariates=1)
    plan = Plan(
        "logistic", "trait", 3, bytes(32), covariates=(Covariate("C1"),), interaction=("C1",), min_samples=1
    )
    asked = followed(plan, Panel.of(pooled.variants), cases(pooled, 0.4).cohorts((1, 1, 1), 0)).questions
    fits = [question for question in asked if isinstance(question, Evaluate)]
    sizes = {question.chromosome: question.parameters for question in fits}
    assert sizes["diploid"] == 4 and sizes["X"] == 6
    for question in (fits[0], next(question for question in asked if isinstance(question, FitCovariates))):
        assert question.chromosome == "diploid"
        beta = np.zeros((*question.beta.shape[:-1], 6 if question is fits[0] else 3))
        with pytest.raises(ProtocolError):
            replace(question, with_sex=True, beta=beta)
