"""Several phenotypes of one --pheno file: which columns they are, who counts, and what is said of each."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled_client.data.cohort import PlinkData, open_cohort
from unpooled_client.data.findings.report import Code, Report, Severity
from unpooled_client.study.problems import what_is_told

PEOPLE = 60
NAMES = ("ldl", "hdl", "tg")


def plan_of(test: str = "linear", names: tuple[str, ...] = NAMES, **more: Any) -> Plan:
    trait = "quantitative" if test == "linear" else "case/control"
    return Plan(
        test,
        names[0],
        3,
        NO_KEY,
        trait=trait,
        phenotypes=names[1:],
        min_samples=20,
        min_per_class=5,
        **more,
    )


def table(**columns: Any) -> str:
    """A --pheno file; a column is a value for everybody, or a function of a person's number."""
    lines = [f"FID IID {' '.join(columns)}"]
    for k in range(PEOPLE):
        values = (value(k) if callable(value) else value for value in columns.values())
        lines.append(f"F{k} I{k} {' '.join(map(str, values))}")
    return "\n".join(lines) + "\n"


USUAL: dict[str, Any] = {
    "tg": lambda k: "NA" if k < 6 else 37 * k % 61,
    "ldl": lambda k: k / 7,
    "other": 3,
    "hdl": lambda k: "NA" if k % 6 == 0 else 23 * k % 67,
}


def opened(files: Any, plan: Plan, pheno: str, **options: Any) -> tuple[PlinkData | None, Report]:
    files.write(pheno=pheno)
    return open_cohort(files.options(pheno="pheno", **options).under(plan))


def errors(report: Report) -> dict[str, str]:
    return {found.message: found.remedy for found in report.of(Severity.ERROR)}


def test_columns_are_found_by_the_plans_names_in_the_plans_order(files: Any) -> None:
    data, report = opened(files, plan_of(), table(**USUAL))
    assert data is not None, errors(report)
    ldl, hdl, tg = data.samples.phenotypes
    assert np.allclose(ldl, np.arange(PEOPLE) / 7)
    assert np.isnan(hdl).nonzero()[0].tolist() == list(range(0, PEOPLE, 6))
    assert np.isnan(tg).nonzero()[0].tolist() == list(range(6))
    assert [about["name"] for about in report.summary["phenotypes"]] == list(NAMES)
    of_second = data.of_phenotype(1)
    assert of_second.phenotypes == ("hdl",) and not of_second.samples.further


def test_a_cohort_may_have_other_names_in_this_order(files: Any) -> None:
    renamed = {f"my_{name}": USUAL[name] for name in ("tg", "hdl", "ldl")}
    data, report = opened(files, plan_of(), table(**renamed), pheno_name="my_ldl,my_hdl,my_tg")
    assert data is not None, errors(report)
    assert np.allclose(data.samples.phenotype, np.arange(PEOPLE) / 7)


def test_only_people_with_all_count(files: Any) -> None:
    data, _ = opened(files, plan_of(require_pheno=True), table(**USUAL))
    assert data is not None
    lacking = set(range(6)) | set(range(0, PEOPLE, 6))
    assert (~data.samples.kept).nonzero()[0].tolist() == sorted(lacking)
    _, report = opened(
        files, plan_of(require_pheno=True), table(**USUAL | {"tg": lambda k: "NA" if k < 45 else k})
    )
    assert "too few samples have the phenotype ldl" in errors(report)


@pytest.mark.parametrize(
    ("columns", "options", "said", "remedy"),
    [
        ({"hdl": None}, {}, "the --pheno file has no column hdl", "Choose one of its columns"),
        ({}, {"pheno_name": "ldl,hdl"}, "--pheno-name chooses 2 columns", "one column for each phenotype"),
        ({}, {"pheno_name": "ldl,ldl,tg"}, "--pheno-name chooses a column twice", "one column for each"),
        ({}, {"mpheno": 2}, "--mpheno chooses one", "Choose them by --pheno-name"),
        ({}, {"pheno": None}, "the study has several phenotypes: ldl, hdl, tg", "Give --pheno FILE"),
        ({"tg": "high"}, {}, "the phenotype tg is not a number", "write NA"),
        ({"hdl": "NA"}, {}, "too few samples have the phenotype hdl", "must not take part"),
    ],
)
def test_what_is_wrong_is_said_with_its_remedy(
    files: Any, columns: dict[str, Any], options: dict[str, Any], said: str, remedy: str
) -> None:
    pheno = table(**{name: value for name, value in (USUAL | columns).items() if value is not None})
    files.write(pheno=pheno)
    given = files.options(**{"pheno": "pheno", **options})
    data, report = open_cohort(given.under(plan_of()))
    assert data is None
    found = [(message, way) for message, way in errors(report).items() if said in message]
    assert len(found) == 1 and remedy in found[0][1], errors(report)


def test_one_phenotype_takes_one_column(files: Any) -> None:
    _, report = opened(files, plan_of(names=("ldl",)), table(**USUAL), pheno_name="ldl,hdl")
    assert any("and the study has one phenotype" in message for message in errors(report))


def test_a_cohort_without_cases_of_one_is_told_of_which(files: Any) -> None:
    columns = {name: (lambda k: 1 + k % 2) for name in NAMES} | {"hdl": 1}
    plan = plan_of("logistic")
    _, report = opened(files, plan, table(**columns))
    assert list(errors(report)) == ["too few cases of hdl"]
    data, _ = opened(files, plan, table(**columns), one_class=True)
    assert data is not None


def test_a_constant_one_is_named(files: Any) -> None:
    _, report = opened(files, plan_of(), table(**USUAL | {"hdl": 7}))
    constant = [found.message for found in report.findings if found.code == Code.PHENOTYPE_CONSTANT]
    assert constant == ["the phenotype hdl is the same for everybody here"]


def test_the_server_is_told_of_a_column_by_the_plans_name(files: Any) -> None:
    """The column has another name at this cohort."""
    renamed = {f"my_{name}": USUAL[name] for name in NAMES} | {"my_hdl": "high"}
    plan = plan_of()
    _, report = opened(files, plan, table(**renamed), pheno_name="my_ldl,my_hdl,my_tg")
    assert what_is_told(report, plan)[1] == "hdl"
    assert plan.field_of("hdl") == "phenotypes"


def test_a_covariate_that_is_one_of_them_is_found(files: Any) -> None:
    plan = dataclasses.replace(plan_of(), options=(*plan_of().options, ("covariates", (Covariate("copy"),))))
    files.write(covar=table(copy=USUAL["ldl"]))
    _, report = opened(files, plan, table(**USUAL), covar="covar")
    said = [found.message for found in report.findings if found.code == Code.COVARIATE_COLLINEAR]
    assert said == ["the covariate copy says the same as the phenotype ldl"]


def test_without_a_plan_several_can_be_checked(files: Any) -> None:
    files.write(pheno=table(**USUAL))
    report = files.check(pheno="pheno", pheno_name="ldl,tg")
    assert report.ok
    assert [about["missing"] for about in report.summary["phenotypes"]] == [0, 6]
    assert any("has no phenotype tg" in found.message for found in report.findings)
