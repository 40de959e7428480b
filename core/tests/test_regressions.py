"""Regressions: what a plan may say of them, what a cohort answers, and the files that are written."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from asking import followed
from pooled import GENERATED, MT, Pool, Quantities, X, Y, quantities, statuses

from tests.contract.studies import of_variants
from unpooled.errors import Refuse, UnpooledError
from unpooled.formats import titles
from unpooled.formats.reading import Report, neg_log10
from unpooled.formats.ssf import metadata, renamed
from unpooled.formats.titles import Title
from unpooled.methods import ALGORITHMS
from unpooled.methods.regression.linear_questions import SumColumns, SumWithGenotypes
from unpooled.methods.regression.logistic_questions import Evaluate
from unpooled.methods.regression.results import file_name
from unpooled.methods.shared.allele_coding import PLACES, by_plink2
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan, PlanError
from unpooled.run import run


def plan_with(**options: object) -> Plan:
    chosen = {"trait": "quantitative", "files": ("assoc",), "covariates": (Covariate("age"),), **options}
    return Plan("linear", "trait", 3, NO_KEY, **chosen)  # type: ignore[arg-type]


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


def refused(pooled: Quantities, **options: object) -> Refuse:
    names = tuple(map(Covariate, pooled.covariates))
    plan = plan_with(**{"covariates": names, "min_samples": 1, **options})
    with pytest.raises(Refuse) as error:
        run(plan, Panel.of(pooled.variants), pooled.cohorts((1, 1, 1), 0))
    return error.value


def test_too_few_people_for_the_columns_are_refused() -> None:
    pooled = quantities(1, n=7, each=2)
    error = refused(pooled, genotype_model="genotypic", interaction=("C1", "C2"))
    assert error.field == "interaction" and "8 columns" in str(error) and "additive" in str(error)
    assert refused(quantities(1, n=5, each=2), genotype_model="genotypic").field == "genotype_model"


def test_a_cohort_multiplies_with_sex_on_x_alone() -> None:
    pooled = statuses(1, n=200, each=3, covariates=1)
    plan = Plan(
        "logistic", "trait", 3, NO_KEY, covariates=(Covariate("C1"),), interaction=("C1",), min_samples=1,
        missing="exact",
    )  # fmt: skip
    cohorts = pooled.cohorts((1, 1, 1), cases_only=False)
    asked = followed(plan, Panel.of(pooled.variants), cohorts).questions
    fits = [question for question in asked if isinstance(question, Evaluate)]
    sizes = {question.chromosome: question.parameters for question in fits}
    assert sizes["diploid"] == 4 and sizes["X"] == 6


@pytest.mark.parametrize("autosomes", [22, 30])
def test_men_are_apart_where_there_is_an_x(autosomes: int) -> None:
    """None of these variants is on X or Y with 30 autosomes, and no sum is about men."""
    pooled = replace(quantities(1, n=200, each=4), autosomes=autosomes)
    plan = pooled.plan()
    asked = followed(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4))).questions
    columns = [question for question in asked if isinstance(question, SumColumns)]
    sums = [question for question in asked if isinstance(question, SumWithGenotypes)]
    assert len(columns) == 1 and any(question.of_one_sex for question in sums) == (autosomes == 22)
    assert sums and all(question.exact for question in sums)


def without_heterozygous(pooled: Pool) -> Pool:
    """The same data in which those calls are missing."""
    chromosome = np.array([row[0] for row in pooled.variants])[:, None]
    men = pooled.samples.sex == 1
    single = ((chromosome == X) & men) | ((chromosome == Y) & men) | (chromosome == MT)
    return replace(pooled, copies=np.where(single & (pooled.copies == 1), -1, pooled.copies).astype(np.int8))


@pytest.mark.parametrize("test", ["linear", "logistic"])
@pytest.mark.parametrize("missing", ["exact", "mean"])
def test_plink2s_report_counts_them_by_the_rule_exact_only(test: str, missing: str) -> None:
    pooled = GENERATED[test](6, n=300, each=12)
    (file, rows), (without, others) = (
        data.study(missing=missing, files=("glm",), hide_covar=True)
        for data in (pooled, without_heterozygous(pooled))
    )
    header, *lines = file["glm"].splitlines()
    assert without["glm"].splitlines()[0] == header
    # On MT such calls count for the frequency that decides on A1.
    same_a1 = rows["first_is_a1"] == others["first_is_a1"]
    chromosomes = [pooled.variants[variant][0] for variant in rows["variant"]]
    reports = zip(chromosomes, same_a1, lines, without["glm"].splitlines()[1:], strict=True)
    different = {chromosome for chromosome, same, line, other in reports if same and line != other}
    assert different == (set() if missing == "mean" else {X, Y, MT})


def test_both_questions_about_a_variant_have_the_same_sums() -> None:
    pooled = GENERATED["linear"](6, n=300, each=12)
    plan = Plan(
        "linear", "trait", 3, NO_KEY, trait="quantitative", missing="mean", files=("glm",),
        covariates=tuple(map(Covariate, pooled.covariates)),
    )  # fmt: skip
    cohorts = pooled.cohorts((1, 2, 4), 0)
    answers = followed(plan, Panel.of(pooled.variants), cohorts).answers
    found = {
        (question.start, question.chromosome): total
        for question, total in answers
        if isinstance(question, SumWithGenotypes)
    }
    pairs = [
        (total, found[start, PLACES[chromosome]])
        for (start, chromosome), total in found.items()
        if by_plink2(chromosome)
    ]
    assert len(pairs) == 3
    for again, first in pairs:
        np.testing.assert_array_equal(again["genotype"], first["genotype"])


def test_people_of_unknown_sex_stay_where_few_must_not_show() -> None:
    """plink2 leaves them out on X. By the rule `mean` that would show them, and they count with the women."""
    pooled = quantities(3, each=10, missing=0.0)
    counts = {}
    for rule in ("exact", "mean"):
        report = pooled.study(files=("glm",), missing=rule)[0]["glm"].decode().splitlines()
        lines = [line.split("\t") for line in report if line.startswith("X\t")]
        counts[rule] = {int(line[7]) for line in lines}
    s = pooled.samples
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    assert counts == {"exact": {int((inside & (s.sex > 0)).sum())}, "mean": {int(inside.sum())}}


def test_ssf_has_ids_in_its_own_signs() -> None:
    names = [b"rs7", b"rs7b", b"1:200:A:T", "é".encode(), b"."]
    panel = Panel.of([(1, 5 + k, name, b"A", b"C") for k, name in enumerate(names)])
    count = len(names)
    rows = {
        "variant": np.arange(count, dtype=np.uint32),
        "first_is_a1": np.ones(count, bool),
        "n": np.full(count, 100),
        "a1_freq": np.full(count, 0.25),
        **{name: np.full((count, 1), 0.5) for name in ("beta", "se", "neg_log10_p")},
    }
    plan = Plan("linear", "y", 3, NO_KEY, trait="quantitative")
    ALGORITHMS["linear"].files["ssf"](file := io.BytesIO(), panel, rows, plan)
    lines = [line.split("\t") for line in gzip.decompress(file.getvalue()).decode().splitlines()[1:]]
    assert [line[8] for line in lines] == ["rs7", "rs7b", "1_200_A_T", "__", "_"]
    assert [line[9] for line in lines] == ["rs7", "#NA", "#NA", "#NA", "#NA"]


def test_metadata_is_yaml() -> None:
    plan = Plan("linear", 'height "cm"', 3, NO_KEY, trait="quantitative", covariates=(Covariate("age"),))
    people = {"people": 5343, "cases": None, "controls": None}
    text = metadata(plan, data_file="a.tsv.gz", md5="0" * 32, people=people, date="2024-12-31")
    found = yaml.safe_load(text)
    assert found["trait_description"] == ['height "cm"']
    assert found["samples"][0]["sample_size"] == 5343
    assert found["adjusted_covariates"] == ["age"]
    assert yaml.safe_load(renamed(text, 'b "2".tsv.gz')) == {**found, "data_file_name": 'b "2".tsv.gz'}


def test_names_of_files() -> None:
    plan = Plan("logistic", "asthma", 3, NO_KEY, files=("assoc", "glm"))
    names = {file: file_name(file, plan) for file in ALGORITHMS["logistic"].files}
    assert names["assoc"] == "assoc.logistic" and names["adjusted"] == "assoc.logistic.adjusted"
    assert names["glm"] == "asthma.glm.logistic.hybrid" and names["frq"] == "frq"
    others = {firth: file_name("glm", replace(plan, firth=firth)) for firth in ("firth", "no-firth")}
    assert others == {"firth": "asthma.glm.firth", "no-firth": "asthma.glm.logistic"}
    first = replace(plan, version=1, compensator_key=bytes(32))
    assert file_name("glm", first) == "asthma.glm.logistic"


def test_no_rows() -> None:
    panel = Panel.of([(1, 5, b"v", b"A", b"C")])
    rows = {
        "variant": np.zeros(0, np.uint32),
        "first_is_a1": np.zeros(0, bool),
        "n": np.zeros(0, np.int32),
        "code": np.zeros(0, np.uint8),
        "a1_freq": np.zeros(0),
        **{name: np.zeros((0, 1)) for name in ("beta", "se", "neg_log10_p")},
    }
    plan = Plan("linear", "y", 3, NO_KEY, trait="quantitative")
    for file in ("assoc", "glm", "ssf", "adjusted"):
        ALGORITHMS["linear"].files[file](found := io.BytesIO(), panel, rows, plan)
        assert found.getvalue()


def written(folder: Path, file: str, test: str, **changes: Any) -> tuple[Report, dict[str, np.ndarray]]:
    """A report of a small study, and the columns it was written from."""
    small = of_variants(test, cohort_sums=test != "chi-square", **changes)
    rows = small.test.columns_for(file, run(small.plan, small.panel, small.cohorts))
    path = folder / file
    with path.open("wb") as out:
        small.test.files[file](out, small.panel, rows, small.plan)
    columns = {name: rows[name][:] for name in rows}
    variant = columns["variant"]
    columns |= {"name": small.panel.name[variant], "position": small.panel.position[variant]}
    return Report(path), columns


EFFECTS = [
    ("assoc", "linear", {"ci": 0.9}, titles.BETA),
    ("assoc", "logistic", {"ci": 0.9, "missing": "exact"}, titles.ODDS_RATIO),
    ("glm", "linear", {}, titles.BETA),
    ("glm", "logistic", {"missing": "exact"}, titles.ODDS_RATIO),
    (
        "glm",
        "logistic",
        {"missing": "exact", "beta": True, "glm_cols": ("chrom", "pos", "orbeta", "se", "nobs", "p", "test")},
        titles.BETA,
    ),
]


@pytest.mark.parametrize("file, test, changes, effect", EFFECTS)
def test_a_regression_is_read_as_it_was_written(
    file: str, test: str, changes: dict[str, Any], effect: Title, tmp_path: Path
) -> None:
    report, columns = written(tmp_path, file, test, **changes)
    lines = list(report.lines())
    assert report.texts(lines, titles.NAME) == [name.decode() for name in columns["name"].tolist()]
    assert report.texts(lines, titles.POSITION) == [str(place) for place in columns["position"].tolist()]
    assert [int(n) for n in report.texts(lines, titles.PEOPLE)] == columns["n"].tolist()
    assert not report.has({titles.BETA: titles.ODDS_RATIO, titles.ODDS_RATIO: titles.BETA}[effect])
    found, se = report.numbers(lines, effect), report.numbers(lines, titles.SE, titles.SE_OF_LOG_ODDS)
    known = ~np.isnan(found)  # not every estimate is printed
    beta, spread = columns["beta"][known, 0], columns["se"][known, 0]
    assert known.sum() > len(known) / 2
    np.testing.assert_allclose(found[known], np.exp(beta) if effect == titles.ODDS_RATIO else beta, rtol=1e-3)
    np.testing.assert_allclose(se[known], spread, rtol=1e-3)
    p = [neg_log10(text) for text in report.texts(lines, titles.P) if text != "NA"]
    np.testing.assert_allclose(p, columns["neg_log10_p"][known, 0], rtol=1e-3, atol=1e-3)


def test_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    report, columns = written(tmp_path, "frq", "chi-square")
    lines, alleles = list(report.lines()), columns["founder_a1"] + columns["founder_a2"]
    np.testing.assert_array_equal(report.numbers(lines, titles.ALLELES), alleles)
    share = columns["founder_a1"] / alleles
    np.testing.assert_allclose(report.numbers(lines, titles.FREQUENCY), share, rtol=1e-3)


def test_what_a_report_lacks(tmp_path: Path) -> None:
    report, _ = written(tmp_path, "assoc", "chi-square")
    lines = list(report.lines())[:2]
    assert report.texts(lines, titles.PEOPLE) == ["", ""]
    assert np.isnan(report.numbers(lines, titles.PEOPLE)).all()
    with pytest.raises(UnpooledError, match="assoc has no column NMISS or OBS_CT"):
        report.place(titles.PEOPLE)


@pytest.mark.parametrize("p, wanted", [("0.01", 2), ("1", 0), ("1e-5", 5), ("1e-400", 400), ("0", np.inf)])
def test_p_however_small(p: str, wanted: float) -> None:
    assert neg_log10(p) == pytest.approx(wanted)
