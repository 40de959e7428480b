"""Whatever stands in a file or a message that somebody made: it is read, or refused as such things are."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from asking import study_of
from hypothesis import example, given
from hypothesis import strategies as st
from normalizing import evenly, fit

from unpooled.asking import question as questions
from unpooled.asking.driver import Running
from unpooled.errors import CodecError, DataProblem, UnpooledError
from unpooled.fitted.scaler import Scaler
from unpooled.methods import ALGORITHMS, algorithm, check
from unpooled.methods.presence import Presence
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.plan.schema import Column, read_schema
from unpooled.protocol import codec
from unpooled.protocol.invitation import PREFIX, Invitation, InvitationError
from unpooled.protocol.sealing import fingerprint

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """A JSON value in which something stands in place of one of its parts, or a part is gone."""
    if draw(st.integers(0, 3)) == 0 or not isinstance(value, dict | list) or not value:
        return draw(anything)
    made: Any = dict(value) if isinstance(value, dict) else list(value)
    at = draw(st.sampled_from(sorted(value)) if isinstance(value, dict) else st.integers(0, len(value) - 1))
    if draw(st.integers(0, 5)) == 0:
        del made[at]
    else:
        made[at] = draw(changed(value[at]))
    return made


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes of which some are others, missing, or too many."""
    made = bytearray(whole)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(made)))
        made[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    return bytes(made)


KEY = NO_KEY[1:] + b"1"
PLANS = [
    Plan.from_json(fields | {"compensator_key": KEY.hex(), "cohorts": 3})
    for fields in (
        {
            "test": "logistic",
            "phenotype": "T2D",
            "covariates": [{"name": "site", "levels": ["a", "b"]}, "age"],
            "files": ["assoc", "glm"],
        },
        {
            "test": "quantiles",
            "phenotype": "",
            "trait": "none",
            "panel_mode": "none",
            "files": ["parameters"],
            "schema": [{"name": "age", "type": "integer", "unit": "years"}, "glucose"],
            "quantiles": [0, 0.5],
            "elements": [1, -1],
        },
    )
]


@given(st.sampled_from([plan.to_json() for plan in PLANS]).flatmap(changed))
def test_a_plan_is_one_or_names_its_fields(values: Any) -> None:
    if not isinstance(values, dict):
        return
    try:
        plan = Plan.from_json(values)
        check(plan)
    except UnpooledError as error:
        assert str(error).isprintable()
        return
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert codec.decode(codec.encode(plan), (Plan, Covariate, Column)) == plan


SCALERS = {
    method: fit(method, evenly(np.random.default_rng(1).lognormal(1, 0.5, (90, 2)), 3))
    for method in ("z-score", "min-max", "robust", "yeo-johnson")
}


def scaler_of(content: bytes) -> Scaler | None:
    """Read a scaler from bytes; return None if the file is refused as files are."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study.parameters.json"
        path.write_bytes(content)
        try:
            return Scaler.from_file(path)
        except DataProblem as error:
            assert error.remedy
            return None


@given(
    st.sampled_from(list(SCALERS.values())).flatmap(changed).map(json.dumps).map(str.encode)
    | st.sampled_from([json.dumps(scaler).encode() for scaler in SCALERS.values()]).flatmap(damaged)
    | st.binary(max_size=60)
)
@example(b"[" * 100_000)
def test_a_file_of_parameters_is_one_or_refused(content: bytes) -> None:
    scaler = scaler_of(content)
    if scaler is not None:
        table = np.array([[1.5] * scaler.n_features_in_])
        with np.errstate(all="ignore"):
            assert scaler.transform(table).shape == table.shape
        assert all(isinstance(name, str) for name in scaler.get_feature_names_out())


TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(
        ["name", "type", "unit", "age", "number", "text", ",", "\n", '"', "\r", "\0", "\ufeff", "ü"]
    )
).map("".join)


@given(TEXTS, st.booleans())
@example("a" * 200_000, True)
def test_a_schema_is_one_or_refused(text: str, headed: bool) -> None:
    try:
        columns = read_schema("name,type,unit\n" + text if headed else text, "schema.csv")
    except DataProblem as error:
        assert error.remedy and error.line
        return
    assert not any(column.problem() for column in columns)


def packed(text: str) -> str:
    return PREFIX + base64.urlsafe_b64encode(text.encode()).decode()


INVITATION = Invitation("https://x.example.org:8443/unpooled", "s1", "tok_en-43", fingerprint(KEY))


@given(
    damaged(INVITATION.to_text().encode()).map(lambda text: text.decode("latin-1"))
    | changed(vars(INVITATION)).map(json.dumps).map(packed)
)
def test_what_is_near_an_invitation_is_one_or_refused(text: str) -> None:
    try:
        found = Invitation.from_text(text)
    except InvitationError:
        return
    assert Invitation.from_text(found.to_text()) == found


PANEL = Panel.of([(1, 1000, b"rs1", b"A", b"G"), (2, 5, b"rs2", b"C", b"T")])
KINDS = tuple({kind for known in ALGORITHMS.values() for kind in known.asks} | {Presence})


def first_question(plan: Plan) -> bytes:
    test = algorithm(plan.test)
    begun = Running(test.procedure(study_of(plan, PANEL)), test.asks).go_on()
    return codec.encode(begun.waits_for)


QUESTIONS = [first_question(plan) for plan in PLANS]


@given(st.sampled_from(QUESTIONS).flatmap(damaged))
def test_a_question_is_one_or_refused(data: bytes) -> None:
    try:
        asked = questions.decode(data, KINDS)
    except CodecError:
        return
    assert codec.encode(asked) == data
