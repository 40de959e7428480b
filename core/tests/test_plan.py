"""Plans: contents and refusals, their hash, the differences between two, and the files that follow."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.studies import nothing_said
from unpooled.described.facts import NOT_SAID, Change, changes, plan_facts
from unpooled.described.file_list import (
    manifest_name,
    methods_name,
    most_bytes,
    page_name,
    remarks_name,
    result_files,
)
from unpooled.errors import CodecError, UnpooledError
from unpooled.methods import ALGORITHMS, check
from unpooled.panel.chromosomes import chromosome_codes
from unpooled.plan import common_options, options
from unpooled.plan.common_options import ELEMENTS, GENO, MAF, MAX_ITERATIONS
from unpooled.plan.file_names import is_stem, stem_of
from unpooled.plan.genotype_model import INTERACTION
from unpooled.plan.glm_columns import USUAL, chosen
from unpooled.plan.options import Number, Switch, Whole, called
from unpooled.plan.plan import NO_KEY, Covariate, Plan, PlanError
from unpooled.plan.result_files import CLUMPED
from unpooled.plan.schema import Column
from unpooled.protocol import codec

SOUND: dict[str, Any] = {"test": "logistic", "phenotype": "y", "cohorts": 3, "compensator_key": NO_KEY}
KEY_OF_OLD = {"compensator_key": bytes(32)}
OLD: dict[str, Any] = SOUND | KEY_OF_OLD
"""Plan as until version 5, when the compensator's key was one of X25519 alone."""
CHI_SQUARE = SOUND | {"test": "chi-square"}


@pytest.mark.parametrize(
    "field",
    [
        {"phenotype": "x" * 201},
        {"phenotype": "BMI\x1b[2J"},
        {"phenotype": "BMI\nCompensator: somebody else"},
        {"phenotype": "\ud800"},
        {"build": "GRCh38\x00"},
        {"cohorts": 2},
        {"chunk_size": -1},
        {"panel_mode": "list"},
        {"panel_digest": bytes(32)},
        {"variance": float("nan")},
        {"ring_bits": 33},
        {"chromosomes": ("27",)},
        {"chromosomes": ("4-1",)},
        {"chromosomes": ("1-2-3",)},
        {"chromosomes": ("21",), "autosomes": 16},
        {"chromosomes": ("1",), "panel_mode": "list", "panel_digest": bytes(32)},
        {"by_place": True, "panel_mode": "list", "panel_digest": bytes(32)},
    ],
)
def test_a_plan_that_cannot_be_names_its_field(field: dict[str, Any]) -> None:
    """A text that would paint on a cohort's terminal is none of a plan either."""
    with pytest.raises(PlanError) as caught:
        Plan(**(CHI_SQUARE | field))
    assert set(caught.value.problems) & {*field, "panel_digest"}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("elements", [1.5], "up to 100 different whole numbers other than 0, not [1.5]"),
        ("elements", 1, "up to 100 different whole numbers other than 0, not 1"),
        ("cohorts", 2.5, "a whole number, not 2.5"),
        ("maf", "little", 'a number from 0 to 0.5, not "little"'),
        ("beta", "yes", 'true or false, not "yes"'),
        ("quantiles", ["half"], 'up to 100 different numbers from 0 to 1, not ["half"]'),
        ("chromosomes", [1], "a list of texts, not [1]"),
        ("covariates", "age", 'a list of covariates, not "age"'),
        ("schema", {}, "a list of columns, not {}"),
        ("compensator_key", "key", 'hexadecimal digits, two for each byte, not "key"'),
    ],
)
def test_what_a_field_takes_is_said_in_words(field: str, value: object, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.from_json({**CHI_SQUARE, "compensator_key": NO_KEY.hex(), field: value})
    assert caught.value.problems == {field: said}


def test_every_field_can_say_what_it_takes() -> None:
    for field in dataclasses.fields(Plan):
        with pytest.raises(PlanError) as caught:
            Plan.from_json({field.name: None})
        said = caught.value.problems[field.name]
        assert said.endswith(", not null") or field.name == "options"


def test_chromosomes_are_named_as_for_plink() -> None:
    assert chromosome_codes(["1-3", "X", "chr22", "26"]) == {1, 2, 3, 22, 23, 26}
    assert chromosome_codes(["Y-MT"], 19) == {21, 22, 23}


def test_conditions_are_columns_before_covariates() -> None:
    diet = Covariate("diet", ("chow", "fat", "sugar"))
    plan = Plan("linear", "weight", 3, NO_KEY, trait="quantitative", condition=("rs1",), covariates=(diet,))
    assert plan.covariate_columns == ("rs1", "diet=fat", "diet=sugar")
    assert plan.dummies == ((1, 2),)
    assert (plan.field_of("rs1"), plan.field_of("diet")) == ("condition", "covariates")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (("rs1", "rs1"), "different words"),
        (("rs 1",), "different words"),
        (("rs2", "age"), "a covariate is called age, too"),
        (tuple(f"rs{k}" for k in range(60)), "at most 60 columns, those of covariates counted, not 61"),
    ],
)
def test_conditions_that_cannot_be(condition: tuple[str, ...], said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan("linear", "weight", 3, NO_KEY, condition=condition, covariates=(Covariate("age"),))
    assert said in caught.value.problems["condition"]


PLANS = json.loads((Path(__file__).parent / "plans-of-version-1.json").read_text("utf-8"))
"""Plans of a release before options were declared, with their hashes."""


@pytest.mark.parametrize("stored", PLANS, ids=lambda stored: stored["plan"]["test"])
def test_a_plan_of_version_1_opens_and_has_the_hash_that_it_had(stored: dict[str, Any]) -> None:
    plan = Plan.from_json(stored["plan"])
    check(plan)
    assert plan.hash().hex() == stored["hash"]
    assert codec.decode(codec.encode(plan), (Plan, Covariate, Column)) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.to_json().items() <= (stored["plan"] | {"file_stem": "", "trust": "compensator"}).items()


def test_a_plan_of_version_2_encodes_the_options_of_its_test_by_name() -> None:
    plan = Plan(**OLD, version=2, maf=0.01)
    names = [name for name, _ in plan.record_fields()]
    own = {option.name for option in ALGORITHMS["logistic"].options if not option.came_later}
    assert set(names) == {field.name for field in dataclasses.fields(Plan)} - {"options"} | own
    assert codec.decode(codec.encode(plan), (Plan, Covariate)) == plan
    assert plan.hash() != dataclasses.replace(plan, tolerance=1e-4).hash() != Plan(**SOUND, maf=0.01).hash()
    assert Plan(**OLD, version=2, maf=0.01, geno=1).hash() == plan.hash()
    with pytest.raises(UnpooledError, match="everything"):
        dataclasses.replace(plan, test="everything").hash()


@pytest.mark.parametrize("version", [1, 2])
def test_bytes_that_no_plan_is_encoded_as_are_none(version: int) -> None:
    whole = codec.encode(Plan(**OLD, version=version))
    for found, put in (
        (b"tolerance", b"tolerants"),
        (b"tolerance", b"elements "),
        (b"phenotype", b"phenotypf"),
    ):
        with pytest.raises(CodecError):
            codec.decode(whole.replace(found, put), (Plan, Covariate))


def test_a_plan_holds_what_is_not_at_its_default() -> None:
    plan = Plan(**SOUND, maf=0, geno=0.1, beta=False, covariates=(Covariate("age"),))
    assert dict(plan.options) == {"geno": 0.1, "covariates": (Covariate("age"),)}
    assert (MAF.of(plan), GENO.of(plan), MAX_ITERATIONS.of(plan), ELEMENTS.of(plan)) == (0.0, 0.1, 25, ())
    assert dataclasses.replace(plan, geno=1.0) == Plan(**SOUND, covariates=(Covariate("age"),))
    assert not hasattr(plan, "colour")
    with pytest.raises(TypeError, match="colour"):
        Plan(**SOUND, colour="red")


def test_a_plan_says_what_its_test_has_and_no_other_option() -> None:
    assert "tolerance" in Plan(**SOUND).to_json()
    assert "tolerance" not in Plan(**CHI_SQUARE).to_json()
    with pytest.raises(PlanError, match="does not have this"):
        check(Plan(**CHI_SQUARE, tolerance=1e-4))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("maf", 0.6, "a number from 0 to 0.5, not 0.6"),
        ("maf", float("nan"), "a number from 0 to 0.5, not NaN"),
        ("hwe", 1, "a number from 0 to below 1, not 1"),
        ("ci", 0.001, "0, or a number from 0.01 to below 1, not 0.001"),
        ("max_iterations", 0, "a whole number from 1 to 100, not 0"),
        ("tolerance", -1.0, "a number from 0 to 1, not -1"),
        ("tolerance", float("nan"), "a number from 0 to 1, not NaN"),
        ("max_iterations", 2.5, "a whole number from 1 to 100, not 2.5"),
        ("missing", "none", 'mean or exact, not "none"'),
        ("quantiles", (0.5, 0.5), "up to 100 different numbers from 0 to 1, not [0.5, 0.5]"),
        ("covariates", (Covariate("age"), Covariate("age")), "a covariate is listed twice"),
        ("glm_cols", ("p",), "test can only be left out with hide_covar"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_words(name: str, value: object, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan(**SOUND, **{name: value})
    assert caught.value.problems == {name: said}


def test_a_name_is_of_one_option() -> None:
    options.remember([common_options.BETA])
    with pytest.raises(ValueError, match="beta"):
        options.remember([Switch(name="beta", label="Another")])


def test_facts_say_what_is_asked() -> None:
    plan = Plan(
        **SOUND, maf=0.01, covariates=(Covariate("age"), Covariate("diet", ("a", "b"))), tolerance=1e-4
    )
    found = dict(plan_facts(plan).all)
    assert found["Covariates"] == "age, diet (a, b)"
    assert found["Sums over one cohort"].startswith("refused")
    assert found["Most iterations of a fit"] == "25"
    assert found["Least frequency of the rarer allele (--maf)"].startswith("0.01")
    assert found["Tolerance of a fit"].endswith("by at most 0.0001")
    assert "Log odds ratios" not in found and "Least Hardy-Weinberg P (--hwe)" not in found
    assert "Sums over one cohort" not in dict(plan_facts(Plan(**SOUND)).all)


def test_columns_are_added_and_left_out_as_by_plink2() -> None:
    assert chosen("p,chrom") == ("chrom", "p")
    assert chosen("+a1freq,-err") == (*USUAL[:4], "a1freq", *USUAL[4:-1])
    for wrong in ("+a1freq,p", "", "pos,p_value", "gcountcc"):
        with pytest.raises(ValueError, match=r"set of columns|every set"):
            chosen(wrong)


@pytest.mark.parametrize("wrong", [("beta", "se", "ci"), ("se", "test"), ("p_value", "test")])
def test_columns_that_cannot_be_are_no_plan(wrong: tuple[str, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        Plan("linear", "trait", 3, NO_KEY, trait="quantitative", glm_cols=wrong)
    assert set(caught.value.problems) == {"glm_cols"}


PLAN = Plan("linear", "BMI", 3, NO_KEY, trait="quantitative", files=("assoc",))
TABLE = Plan(
    "z-score", "", 3, NO_KEY, trait="none", panel_mode="none", files=("parameters",),
    schema=(Column("age"), Column("weight", unit="kg")),
)  # fmt: skip


LABELS = {option.name: option.name_and_flag for test in ALGORITHMS.values() for option in test.options}


def lines(old: Plan, **other: Any) -> tuple[Change, ...]:
    """Return the changes without the hash, which is the last."""
    *found, last = changes(old, replace(old, **other))
    assert last.label == "Plan hash" and last.before != last.after
    return tuple(found)


def test_equal_plans_differ_in_nothing() -> None:
    assert changes(PLAN, replace(PLAN)) == ()


def test_a_field_and_an_option_are_said_as_in_the_plan() -> None:
    floor = Change("Each cohort has at least", "50 people", "20 people")
    assert lines(PLAN, min_samples=20) == (floor,)
    [maf] = lines(PLAN, maf=0.05)
    assert (maf.label, maf.before) == (LABELS["maf"], NOT_SAID) and "0.05" in maf.after
    [gone] = lines(replace(PLAN, maf=0.05), maf=0.0)
    assert (gone.before, gone.after) == (maf.after, NOT_SAID)


def test_several_changes_come_in_the_order_of_the_plan() -> None:
    found = lines(PLAN, phenotype="height", cohorts=4, maf=0.05)
    assert [line.label for line in found] == ["Phenotype", "Cohorts", LABELS["maf"]]


def test_columns_of_a_table_are_compared_one_by_one() -> None:
    changed = (Column("age"), Column("weight", unit="lb"), Column("height"))
    assert lines(TABLE, schema=changed) == (
        Change("Column", "weight (number, kg)", "weight (number, lb)"),
        Change("Column", NOT_SAID, "height (number)"),
    )


def test_what_a_test_ignores_shows_in_the_hash_alone() -> None:
    assert lines(PLAN, min_per_class=3) == ()


def other(option: Any) -> Any:
    """Another value than the usual one, if that can be told from the declaration."""
    match option:
        case Switch():
            return not option.default
        case Number():
            return option.least if option.default == option.most else (option.least + 3 * option.most) / 4
        case Whole():
            return option.least if option.default != option.least else option.most
    return None


@pytest.mark.parametrize("option", [o for o in ALGORITHMS["linear"].options if other(o) is not None],
                         ids=lambda option: option.name)  # fmt: skip
def test_every_option_that_is_changed_is_named(option: Any) -> None:
    files = ("glm", *filter(None, [option.file]))
    needed = {"covariates": (Covariate("age"),), "phenotypes": ("height",)}
    if option.needs and isinstance(called(option.needs), Switch):
        needed[option.needs] = True
    if option.needs == INTERACTION.name:
        needed[option.needs] = ("age",)
    before = replace(PLAN, **needed, files=files)
    value = other(option)
    assert option.name_and_flag in [line.label for line in lines(before, **{option.name: value})]


def plan_with_every_file(test: str, phenotype: str, **more: Any) -> Plan:
    """Return a plan with every file."""
    return nothing_said(test, phenotype=phenotype, **{"files": list(ALGORITHMS[test].files)} | more)


def test_a_plan_without_a_file_name_has_the_names_and_the_hash_of_before_there_were_any() -> None:
    """The hash is the one that the release before has; another would end running studies."""
    files = tuple(file for file in ALGORITHMS["chi-square"].files if file != CLUMPED)
    plan = replace(plan_with_every_file("chi-square", "asthma", files=list(files)), **KEY_OF_OLD, version=2)
    assert {"study.assoc", "study.variants.tsv", "study.methods.txt", "manifest.json"} < set(
        result_files(plan)
    )
    assert plan.hash().hex() == "6700717700257fdeae4f2e50565d6c52b8b48235686e0f3e03576293fa7d31d6"
    assert plan == Plan.from_json(plan.to_json()) and plan.to_json()["file_stem"] == ""
    named = plan_with_every_file("chi-square", "asthma", file_stem="asthma")
    assert named.hash() != plan.hash() and codec.decode(codec.encode(named), [Plan]) == named
    assert manifest_name(named) == "asthma.manifest.json" and page_name(named) == "asthma.report.html"


@pytest.mark.parametrize("values", [{"sexes": "males"}, {"condition": ("rs1",)}, {"few_studies": True}])
def test_an_option_that_came_later_is_encoded_only_where_it_is_set(values: dict[str, Any]) -> None:
    """So plans from before it keep their hash."""
    (name,) = values
    usual, other = (
        plan_with_every_file("linear", "height"),
        plan_with_every_file("linear", "height", **values),
    )
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
        plan_with_every_file("linear", "height", file_stem=stem)
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
    plan = plan_with_every_file("logistic", "asthma")
    small, large = {"variants": 10, "list_bytes": 200}, {"variants": 10**6, "list_bytes": 10**7}
    bounds = [most_bytes("study.frq", plan, sizes) for sizes in (small, large, {})]
    assert bounds == sorted(bounds) and bounds[0] < bounds[1] < bounds[2]
    assert most_bytes(methods_name(plan), plan, small) == most_bytes(methods_name(plan), plan, large)
    chunks = [most_bytes(manifest_name(plan), replace(plan, chunk_size=size), large) for size in (1000, 1)]
    assert chunks[0] < chunks[1]
    longer = replace(plan, files=("assoc",))
    assert most_bytes("study.frq", longer, large | {"longest_id": 16_000}) > bounds[1]


@pytest.mark.parametrize("cohorts", [3, 1000])
def test_remarks_about_variants_fill_no_disk(cohorts: int) -> None:
    """The server says how long they are; a cohort looks at what they are only at their end."""
    plan = replace(plan_with_every_file("logistic", "asthma"), cohorts=cohorts)
    assert 10**10 < most_bytes(remarks_name(plan), plan, {}) < 2 * 10**10
