"""Names and sizes of result files: they follow from the plan, and are names on every system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.studies import nothing_said
from unpooled.algorithms import ALGORITHMS
from unpooled.algorithms.result_files import manifest_name, most_bytes, page_name, remarks_name, result_files
from unpooled.clump_option import CLUMPED
from unpooled.file_names import is_stem, stem_of
from unpooled.plan import Plan, PlanError
from unpooled.protocol import codec


def plan_of(test: str, phenotype: str, **more: Any) -> Plan:
    """With every file."""
    return nothing_said(test, phenotype=phenotype, **{"files": list(ALGORITHMS[test].files)} | more)


def test_a_plan_without_a_file_name_has_the_names_and_the_hash_of_before_there_were_any() -> None:
    """The hash is the one that the release before has; another would end running studies."""
    files = tuple(file for file in ALGORITHMS["chi-square"].files if file != CLUMPED)
    plan = replace(plan_of("chi-square", "asthma", files=list(files)), version=2)
    assert {"study.assoc", "study.variants.tsv", "study.methods.txt", "manifest.json"} < set(
        result_files(plan)
    )
    assert plan.hash().hex() == "6700717700257fdeae4f2e50565d6c52b8b48235686e0f3e03576293fa7d31d6"
    assert plan == Plan.from_json(plan.to_json()) and plan.to_json()["file_stem"] == ""
    named = plan_of("chi-square", "asthma", file_stem="asthma")
    assert named.hash() != plan.hash() and codec.decode(codec.encode(named), [Plan]) == named
    assert manifest_name(named) == "asthma.manifest.json" and page_name(named) == "asthma.report.html"


@pytest.mark.parametrize("values", [{"sexes": "males"}, {"condition": ("rs1",)}, {"few_studies": True}])
def test_an_option_that_came_later_is_encoded_only_where_it_is_set(values: dict[str, Any]) -> None:
    """So plans from before it keep their hash."""
    (name,) = values
    usual, other = plan_of("linear", "height"), plan_of("linear", "height", **values)
    assert name not in dict(usual.record_fields()) and name in usual.to_json()
    assert dict(other.record_fields())[name] == values[name]
    assert codec.decode(codec.encode(other), [Plan]) == other


@pytest.mark.parametrize(
    "stem",
    [".x", "-x", "a b", "a/b", "..", "a\\b", "größe", "CON", "nul.x", "com1", "x.", "x" * 61, "a\n", "a:b"],
)
def test_a_file_name_that_some_system_does_not_take_is_refused(stem: str) -> None:
    assert not is_stem(stem)
    with pytest.raises(PlanError, match="letters, digits, dots, dashes") as refused:
        plan_of("linear", "height", file_stem=stem)
    assert set(refused.value.problems) == {"file_stem"}


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Asthma in adults", "asthma-in-adults"),
        ("Größe & BMI, 2. Lauf", "grosse-bmi-2.-lauf"),
        ("../../etc/passwd", "etc-passwd"),
        ("身長", "study"),
        ("con", "study-con"),
        ("Aux.2", "study-aux.2"),
        ("--x--", "x"),
        ("", "study"),
        ("long " * 40, "long-" * 11 + "long"),
    ],
)
def test_the_usual_file_name_is_made_from_the_title(title: str, stem: str) -> None:
    assert stem_of(title) == stem and is_stem(stem_of(title))


def test_the_bound_grows_with_the_data_and_without_them_is_the_largest() -> None:
    plan = plan_of("logistic", "asthma")
    small, large = {"variants": 10, "list_bytes": 200}, {"variants": 10**6, "list_bytes": 10**7}
    bounds = [most_bytes("study.frq", plan, sizes) for sizes in (small, large, {})]
    assert bounds == sorted(bounds) and bounds[0] < bounds[1] < bounds[2]
    assert most_bytes(manifest_name(plan), plan, small) == most_bytes(manifest_name(plan), plan, large)
    longer = replace(plan, files=("assoc",))
    assert most_bytes("study.frq", longer, large | {"longest_id": 16_000}) > bounds[1]


@pytest.mark.parametrize("cohorts", [3, 1000])
def test_remarks_about_variants_fill_no_disk(cohorts: int) -> None:
    """The server says how long they are; a cohort looks at what they are only at their end."""
    plan = replace(plan_of("logistic", "asthma"), cohorts=cohorts)
    assert 10**10 < most_bytes(remarks_name(plan), plan, {}) < 2 * 10**10
