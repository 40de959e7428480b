"""Schemas with columns of words: what a file of one says, and what older plans keep."""

from __future__ import annotations

from pathlib import Path

import pytest
from encoding_studies import plan_of
from normalizing import plan_of as normalization_of

from unpooled.described.facts import plan_facts
from unpooled.errors import CodecError, DataProblem
from unpooled.methods import check
from unpooled.plan.plan import Plan, PlanError
from unpooled.plan.schema import MOST_LEVELS, Column, read_schema, schema_from_file
from unpooled.protocol import codec

HEADER = "name,type,encoding,values\n"


def test_levels_in_place_and_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text(
        "\ufeffI10\thypertension\r\n\r\n E11 \r\nu\u0308ber\n", encoding="utf-8"
    )
    path = tmp_path / "schema.csv"
    path.write_text(
        HEADER + "d,category,one-hot,levels=codes.txt\ns,category,ordinal,never| former\ny,number\n"
    )
    diagnosis, smoking, y = schema_from_file(path)
    assert diagnosis.levels == ("I10", "E11", "über") and smoking.levels == ("never", "former")
    assert (diagnosis.encoding, y) == ("one-hot", Column("y"))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("d,category,one-hot,levels=nowhere.txt", "cannot be read"),
        ("d,category,one-hot,levels=twice.txt", r"twice.txt:3: the value a stands in line 1, too"),
        ("d,category,one-hot,levels=empty.txt", "no values"),
        ("d,category,one-hot,", "needs its values"),
        ("d,category,one-hot,a|a", "the value a appears twice"),
        ("d,category,one-hot,a||b", "1 to 200 characters"),
        ("d,category,one-hot,(rest)|b", "no value may be called so"),
        ("d,category,hash:8,a|b", "takes any words"),
        ("d,category,hash:0,", "want the encoding one-hot"),
        ("d,category,hash,", "want the encoding one-hot"),
        ("d,category,target:,a", "want the encoding one-hot"),
        ("d,category,,a", "want the encoding one-hot"),
        ("d,number,one-hot,", "want the scaling z-score, robust"),
        ("d,text,robust,", "only a category has an encoding"),
        ("d,number,log,a", "only a category has an encoding"),
        ("d,word,one-hot,a", "want the type"),
    ],
)
def test_what_is_wrong_with_a_line(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "twice.txt").write_text("a\nb\na \n")
    (tmp_path / "empty.txt").write_text("\n\n")
    path = tmp_path / "schema.csv"
    path.write_text(HEADER + line + "\n")
    with pytest.raises(DataProblem, match=complaint) as told:
        schema_from_file(path)
    assert str(tmp_path) in str(told.value)


def test_a_header_of_other_fields_is_none(tmp_path: Path) -> None:
    for header in ("name,kind", "type,name", "name,name"):
        with pytest.raises(DataProblem, match="a schema begins with the line name,type,unit"):
            read_schema(f"{header}\nx,y\n", "s.csv")


def test_roles_are_read_and_travel() -> None:
    lines = ("name,type,role,values", "id,text,patient,", "age,number,,", "note,category,ignored,")
    text = "\n".join([*lines, "died,category,outcome,no|yes"])
    patient, age, note, died = schema = read_schema(text, "s.csv")
    assert (patient.is_patient, age.role, died.has_classes, died.levels) == (
        True,
        "feature",
        True,
        ("no", "yes"),
    )
    assert not (note.is_category or note.is_number or died.is_category)
    for column in schema:
        assert Column.from_json(column.to_json()) == column
        assert Column.from_record(dict(column.record_fields())) == column
    assert "role" not in age.to_json() and "role" not in dict(age.record_fields())


def test_limits_are_read_and_travel() -> None:
    text = "name,type,low,high\nage,integer,0,120\nph,number,,14\nz,number,-1.5,\nid,text,,\n"
    schema = read_schema(text, "s.csv")
    assert [column.limits for column in schema] == ["from 0 to 120", "up to 14", "from -1.5 on", ""]
    for column in schema:
        assert Column.from_json(column.to_json()) == column
        assert codec.decode(codec.encode(column), [Column]) == column
    assert "low" not in schema[1].to_json() and b"low" not in codec.encode(schema[3])
    assert Column.from_json({"name": "age", "low": 0, "high": None}) == Column("age", low=0.0)


LIMITS, ROLES = "name,type,low,high", "name,type,role,values"


@pytest.mark.parametrize(
    ("header", "line", "complaint"),
    [
        (LIMITS, "age,number,120,0", "want numbers, the lowest value first, not 120 to 0"),
        (LIMITS, "age,number,nan,", "want numbers"),
        (LIMITS, "age,number,0,inf", "want numbers"),
        (LIMITS, "age,number,none,", "none under low: want a number, or nothing"),
        (LIMITS, "age,text,0,", "only numbers have a lowest and a highest value"),
        (ROLES, "d,text,outcome,", "an outcome is a number, or a category"),
        (ROLES, "d,category,outcome,", "an outcome of classes needs its 2 to 20 values"),
        (ROLES, "d,category,outcome,yes", "an outcome of classes needs its 2 to 20 values"),
        (ROLES, "d,category,outcome,12", "an outcome has no encoding: want its values only"),
        (ROLES, "d,number,target,", "want the role feature, outcome, patient, ignored"),
    ],
)
def test_what_is_wrong_with_a_limit_or_a_role(header: str, line: str, complaint: str) -> None:
    with pytest.raises(DataProblem, match=complaint) as told:
        read_schema(f"{header}\n{line}\n", "s.csv")
    assert "s.csv:2" in str(told.value)


@pytest.mark.parametrize(
    ("method", "columns", "complaint"),
    [
        ("ridge", [Column("x"), Column("y")], "give it the role outcome"),
        (
            "ridge",
            [Column("x", role="outcome"), Column("y", role="outcome")],
            "want one column with the role outcome",
        ),
        ("ridge", [Column("y", role="outcome")], "want at least one feature beside the outcome"),
        (
            "linear-model",
            [Column("x"), Column("y", "category", levels=("a", "b"), role="outcome")],
            "not classes",
        ),
        ("fedheonn", [Column("x"), Column("y", role="outcome")], "want an outcome of classes"),
        ("z-score", [Column("x"), Column("y", role="outcome")], "give an outcome the role ignored"),
    ],
)
def test_plans_whose_roles_do_not_fit(method: str, columns: list[Column], complaint: str) -> None:
    with pytest.raises(PlanError, match=complaint):
        check(normalization_of(method, 0, schema=tuple(columns)))


def test_an_ignored_column_is_no_feature_of_any_study() -> None:
    plan = normalization_of("z-score", 0, schema=(Column("x"), Column("y", role="ignored")))
    assert [column.title for column in plan.features] == ["x"]
    assert "y (number: neither read nor changed)" in str(plan_facts(plan).question)


def words(**more: object) -> Column:
    return Column(**{"title": "w", "type": "category", "encoding": "one-hot", "levels": ("a", "A"), **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "more", "field", "complaint"),
    [
        ((Column("y"),), {}, "schema", "about columns of type category"),
        ((words(encoding="target:z"), Column("y")), {}, "schema", "its target z is no column of numbers"),
        ((words(levels=tuple(map(str, range(MOST_LEVELS + 1)))),), {}, "schema", "at most 20,000 values"),
        ((words(),), {"ignore_case": True}, "schema", "a and A are one word"),
        ((words(),), {"masking": "gaussian"}, "masking", "modular only"),
        ((words(),), {"people": 9}, "people", "from 10"),
        ((words(),), {"holders": 4}, "holders", "at most as many as there are cohorts"),
        ((words(),), {"folds": 1}, "folds", "no row is left"),
        ((words(),), {"smooth": "-1"}, "smooth", "auto, or a number"),
    ],
)
def test_plans_that_cannot_be(
    columns: tuple[Column, ...], more: dict[str, object], field: str, complaint: str
) -> None:
    with pytest.raises(PlanError) as told:
        plan_of(columns, 3, **more)
    assert complaint in told.value.problems[field]


def test_a_normalization_leaves_words_alone() -> None:
    plan = normalization_of("z-score", 1, schema=(words(), Column("y")))
    check(plan)
    assert ("Column", "w (category: neither read nor changed)") in plan_facts(plan).question
    with pytest.raises(PlanError, match="about columns of type number"):
        check(normalization_of("z-score", 1, schema=(words(),)))


def test_people_read_a_short_list_and_the_digest_of_a_long_one() -> None:
    said = [
        fact
        for _, fact in plan_facts(
            plan_of((words(), words(title="v", levels=tuple("abcdefghijklmnopqrstuvwxyz"))), 3)
        ).question
    ]
    assert said[0] == "w (one-hot, of a, A)" and said[1].startswith("v (one-hot, of 26 values with SHA-256 ")


def test_a_plan_with_words_travels_and_one_without_is_encoded_as_before() -> None:
    plan = plan_of((words(), Column("y", "integer", "years")), 3, folds=5)
    assert codec.decode(codec.encode(plan), [Plan, Column]) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert b"levels" not in codec.encode(Column("y", "integer", "years"))
    for forged, last in ((Column("y", "number", "", "one-hot", ("a",)), "levels"), (words(), "encoding")):
        fields = [(name, getattr(forged, name)) for name in ("title", "type", "unit", last)]
        record = type(
            "Record",
            (),
            {"name": Column.name, "record_fields": lambda self, f=fields: f, "__dataclass_fields__": {}},
        )()
        with pytest.raises(CodecError):
            codec.decode(codec.encode(record), [Column])
