"""A cohort against the pool: its own numbers are plink1.9's on it alone, and statsmodels' without it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects

from tests.plinks import plink, rows
from unpooled.methods import algorithm
from unpooled.panel.agreement import reconcile
from unpooled.plan import common_options
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import reports, run
from unpooled.simulate import simulate
from unpooled_client.compare.estimates import Contrast
from unpooled_client.compare.pool import strongest
from unpooled_client.compare.report import Place, Study, write_variants
from unpooled_client.compare.this_cohort import ABSENT, ALL_CASES, compare, conditioned, left_out, telling
from unpooled_client.compare.without_us import read_across
from unpooled_client.data.cohort import PlinkData, open_cohort
from unpooled_client.data.options import DataOptions
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.written import Written

COUNT = 12
CASE_CONTROL = Plan(
    test="chi-square",
    phenotype="ill",
    cohorts=3,
    compensator_key=NO_KEY,
    min_samples=20,
    files=("assoc", "frq"),
    missing="exact",
)
COVARIATES = (Covariate("age"), Covariate("site", ("1", "2", "3")))
LOGISTIC = dataclasses.replace(CASE_CONTROL, test="logistic", covariates=COVARIATES, cohort_sums=True)
BETAS = dataclasses.replace(
    LOGISTIC, files=("glm", "frq"), glm_cols=("chrom", "pos", "ref", "test", "nobs", "beta", "se", "p")
)
LINEAR = dataclasses.replace(LOGISTIC, test="linear", trait="quantitative", phenotype="height")


@dataclass
class Federation:
    """Three cohorts, and the folder of their files: covariates are age, and site, which each has one of."""

    folder: Path
    trait: str

    def cohort(self, plan: Plan, number: int) -> PlinkData:
        covar = self.folder / f"cohort{number}.covar" if common_options.COVARIATES.of(plan) else None
        options = DataOptions(bfile=self.folder / f"cohort{number}", covar=covar, min_samples=20)
        data, report = open_cohort(options.under(plan))
        assert data is not None, report.findings
        return data

    def study(self, plan: Plan) -> list[Path]:
        """The result files of a study."""
        cohorts = {str(number): self.cohort(plan, number) for number in (1, 2, 3)}
        panel = reconcile({name: data.panel for name, data in cohorts.items()}).panel
        tables = run(plan, panel, [data.align(panel) for data in cohorts.values()])
        paths = []
        for file, content in reports(plan, panel, tables).items():
            paths.append(self.folder / f"study.{algorithm(plan.test).file_name(file, plan)}")
            paths[-1].write_bytes(content)
        return paths

    def plink(self, number: int, *arguments: str) -> dict[str, dict[str, str]]:
        """Return what plink1.9 says of one cohort alone, by variant; its files are joined."""
        plink("--bfile", self.folder / f"cohort{number}", "--out", self.folder / "plink", *arguments)
        found: dict[str, dict[str, str]] = {}
        for path in (*self.folder.glob("plink.assoc*"), self.folder / "plink.frq"):
            for row in rows(path):
                if row.get("TEST", "ADD") == "ADD":
                    found.setdefault(row["SNP"], {}).update(row)
            path.unlink()
        return found


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Federation]:
    made: dict[str, Federation] = {}

    def make(trait: str) -> Federation:
        if trait not in made:
            folder = tmp_path_factory.mktemp("cohorts")
            simulate(
                folder,
                cohorts=(180, 100, 120),
                variants=3000,
                seed=7,
                trait=trait,
                missing_rate=(0.5, 0.03),
                oddities=True,
                pooled=False,
            )
            for number in (1, 2, 3):
                people = [line.split()[:2] for line in (folder / f"cohort{number}.fam").open()]
                lines = [f"{fid} {iid} {20 + k * 7 % 50} {number}" for k, (fid, iid) in enumerate(people)]
                (folder / f"cohort{number}.covar").write_text("\n".join(["FID IID age site", *lines]) + "\n")
            made[trait] = Federation(folder, trait)
        return made[trait]

    return make


def agrees(word: str, value: float, digits: int = 4) -> bool:
    """Tell whether a printed number is this one."""
    if word in ("NA", "nan"):
        return math.isnan(value)
    return math.isclose(float(word), float(f"{value:.{digits}g}"), rel_tol=1.01 * 10 ** (1 - digits))


def own_is_plinks(compared: Contrast, row: dict[str, str], *, odds: bool) -> bool:
    """Tell whether this cohort's numbers are those of the reference, whichever allele it calls A1."""
    assert compared.own is not None
    own = compared.own if row["A1"] == compared.variant.a1 else compared.own.of_other_allele(odds=odds)
    return (
        agrees(row["OR" if odds else "BETA"], own.effect)
        and agrees(row["P"], 10**-own.neg_log10_p)
        and agrees(row["SE"], own.se)
        and agrees(row["L95"], own.lower)
        and agrees(row["MAF"], own.frequency)
        and row.get("NMISS", str(own.n)) == str(own.n)
    )


@pytest.mark.parametrize(
    "plan, flags",
    [
        (CASE_CONTROL, ["--assoc"]),
        (LOGISTIC, ["--logistic", "--covar-name", "age"]),
        (dataclasses.replace(LOGISTIC, files=("glm", "frq")), ["--logistic", "--covar-name", "age"]),
        (BETAS, ["--logistic", "beta", "--covar-name", "age"]),
        (LINEAR, ["--linear", "--covar-name", "age"]),
    ],
    ids=["chi-square", "logistic", "glm", "betas", "linear"],
)
def test_own_numbers_are_those_of_plink_on_this_cohort(
    federation: Callable[[str], Federation], plan: Plan, flags: list[str]
) -> None:
    made = federation(plan.trait)
    pool = strongest(made.study(plan), plan, COUNT)
    compared = compare(pool, made.cohort(plan, 1), plan)
    covar = ["--covar", str(made.folder / "cohort1.covar")] if common_options.COVARIATES.of(plan) else []
    plinks = made.plink(1, *covar, *flags, "--ci", "0.95", "--freq")
    assert len(compared) == COUNT
    known = [one for one in compared if one.own is not None and one.own.is_known]
    assert len(known) >= COUNT - 2
    for one in known:
        assert own_is_plinks(one, plinks[one.variant.name], odds=pool.odds), (one, plinks[one.variant.name])


def test_what_the_study_conditions_on_is_a_covariate_here_too(
    federation: Callable[[str], Federation],
) -> None:
    made = federation("quantitative")
    name = _common(made.cohort(LINEAR, 1))
    plan = dataclasses.replace(LINEAR, condition=(name,), covar_variance_standardize=True)
    pool, data = strongest(made.study(plan), plan, COUNT), conditioned(made.cohort(plan, 1), plan)
    assert telling(data.samples) == [0, 1] and left_out(data.samples, plan) == ["site=2", "site=3"]
    covar = ["--covar", str(made.folder / "cohort1.covar"), "--covar-name", "age", "--condition", name]
    plinks = made.plink(1, *covar, "--linear", "--ci", "0.95", "--freq")
    known = [one for one in compare(pool, data, plan) if one.own is not None and one.own.is_known]
    assert len(known) >= COUNT - 2
    for one in known:
        assert own_is_plinks(one, plinks[one.variant.name], odds=False), (one, plinks[one.variant.name])


def _common(data: PlinkData) -> str:
    """A variant of an autosome of which many people have either allele, and of which some lack the call."""
    panel = data.panel
    words = data.align(panel).packed(np.arange(500)).words
    het = ((words >> np.uint64(1)) & ~words & np.uint64(0x5555555555555555)).view(np.uint8)
    often = np.unpackbits(het, axis=1).sum(axis=1)
    return str(panel.name[int(np.argmax(often))].decode())


def test_the_strongest_are_those_of_the_file_and_far_from_one_another(
    federation: Callable[[str], Federation],
) -> None:
    made = federation("case/control")
    (path, *_) = made.study(CASE_CONTROL)
    pool = strongest([path], CASE_CONTROL, COUNT)
    known = sorted((row for row in rows(path) if row["P"] != "NA"), key=lambda row: float(row["P"]))
    wanted: list[dict[str, str]] = []
    for row in known:
        if all(row["CHR"] != w["CHR"] or abs(int(row["BP"]) - int(w["BP"])) > 500_000 for w in wanted):
            wanted.append(row)
    assert {variant.name for variant, _ in pool.leads} == {row["SNP"] for row in wanted[:COUNT]}
    scores = [estimate.neg_log10_p for _, estimate in pool.leads]
    assert scores == sorted(scores, reverse=True)


def test_where_there_is_no_estimate_it_is_said_why(federation: Callable[[str], Federation]) -> None:
    made = federation("case/control")
    plan = dataclasses.replace(LOGISTIC, covariates=COVARIATES[:1])
    pool, data = strongest(made.study(plan), plan, COUNT), made.cohort(plan, 3)
    absent = made.folder / "absent"
    absent.write_text(pool.leads[0][0].name)
    cases = dataclasses.replace(data.samples, kept=data.samples.kept & (data.samples.phenotype == 1))
    without = open_cohort(dataclasses.replace(data.options, exclude=absent))[0]
    assert without is not None
    first, *others = compare(pool, dataclasses.replace(without, samples=cases), plan)
    assert (first.own, first.note) == (None, ABSENT)
    assert {one.note for one in others} == {ALL_CASES}
    assert not any(one.own and one.own.is_known for one in others)


def test_a_covariate_that_is_the_same_for_all_here_is_left_out(
    federation: Callable[[str], Federation],
) -> None:
    samples = federation("case/control").cohort(LOGISTIC, 2).samples
    assert telling(samples) == [0]
    twice = np.column_stack([samples.covariates[:, 0], 3 - 2 * samples.covariates[:, 0]])
    assert telling(dataclasses.replace(samples, covariates=twice)) == [0]


META = {"files": ("assoc", "meta"), "few_studies": True, "covariates": (Covariate("age"),), "ci": 0.95}
PLANS = {"logistic": dataclasses.replace(LOGISTIC, options=(), **META),
         "betas": dataclasses.replace(LOGISTIC, options=(), beta=True, **META),
         "linear": dataclasses.replace(LINEAR, options=(), **META)}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_without_us_is_what_the_others_find(
    name: str, federation: Callable[[str], Federation], tmp_path: Path
) -> None:
    plan = PLANS[name]
    odds = name == "logistic"
    made = federation(plan.trait)
    files = made.study(plan)
    pool = strongest(files, plan, 12)
    across = read_across(files, [variant for variant, _ in pool.leads], plan)
    each = [compare(pool, made.cohort(plan, number), plan, None, across) for number in (1, 2, 3)]
    checked = 0
    for ours in zip(*each, strict=True):
        own = [one.own for one in ours if one.own and one.own.is_known]
        if len(own) < 3:
            continue
        b = np.log([of.effect for of in own]) if odds else np.array([of.effect for of in own])
        se = np.array([of.se for of in own])
        for k, one in enumerate(ours):
            assert one.across is not None and one.across.studies == 3
            others = np.arange(3) != k
            said = combine_effects(b[others], se[others] ** 2, method_re="dl")
            found = math.log(one.across.without.effect) if odds else one.across.without.effect
            close = 1e-4 * one.across.without.se + 2e-5 * abs(found)
            assert abs(found - said.mean_effect_fe) <= close
            assert one.across.without.se == pytest.approx(math.sqrt(said.var_eff_w_fe), rel=1e-4)
            checked += 1
    assert checked > 15
    place = Place(tmp_path, Written(StateFolder(tmp_path)), plan)
    lines, page = write_variants(place, Study("s", "c", plan), each[0], odds=odds, left_out=())
    head, *rows = (line.split("\t") for line in lines.read_text().splitlines())
    assert {len(row) for row in rows} == {len(head)} and "WITHOUT_US_SE" in head
    assert "Without us is" in page.read_text() and 'aria-label="fixed effect' in page.read_text()


def test_a_study_without_the_file_has_no_such_columns(
    federation: Callable[[str], Federation], tmp_path: Path
) -> None:
    plan = plan_without(PLANS["linear"])
    made = federation(plan.trait)
    files = made.study(plan)
    pool = strongest(files, plan, 3)
    assert read_across(files, [variant for variant, _ in pool.leads], plan) == {}
    found = compare(pool, made.cohort(plan, 1), plan)
    place = Place(tmp_path, Written(StateFolder(tmp_path)), plan)
    lines, page = write_variants(place, Study("s", "c", plan), found, odds=False, left_out=())
    assert "WITHOUT_US" not in lines.read_text() and "without us" not in page.read_text()


def plan_without(plan: Plan) -> Plan:
    return dataclasses.replace(plan, files=("assoc",))
