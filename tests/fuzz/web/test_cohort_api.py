"""Requests made up for the cohorts' API, with the tokens of cohorts in studies of every state.

Sound requests, of which something is another; and nonsense. No answer is an error of the server, longer than
it may be, or holds a secret. What is refused changes nothing, what is taken nothing of another study.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from django.db.models import QuerySet
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from unpooled.protocol import VERSION
from unpooled.protocol.problems import Problem
from unpooled_server.models import Cohort, Study
from unpooled_server.services import joining

from ..longer import Length
from .world import SECRET, World, rows_of_others

USUAL = 120
LONGEST = 1 << 16
"""Bytes of an answer here: of result files and questions of a dozen variants, and of everything else."""

HEX = {size: st.binary(min_size=size, max_size=size).map(bytes.hex) for size in (16, 32, 64)}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
objects = {
    ("POST", "join"): st.fixed_dictionaries({"key": HEX[32] | anything}),
    ("POST", "accept"): st.fixed_dictionaries(
        {
            "plan_hash": HEX[32] | anything,
            "roster_hash": HEX[32] | anything,
            "box": HEX[64] | anything,
            "signature": HEX[64] | anything,
        }
    ),
    ("POST", "problem"): st.fixed_dictionaries(
        {"code": st.sampled_from(list(Problem)) | anything, "name": st.text(max_size=8) | anything}
    ),
    ("POST", "timing"): st.dictionaries(st.sampled_from(["compute", "wait", ""]), st.floats() | anything),
    ("PUT", "panel/digest"): st.fixed_dictionaries({"digest": HEX[32] | anything}),
}
lists = st.lists(
    st.sampled_from(
        [b"1", b"X", b"1000", b"rs1", b"A", b"G", b"\t", b" ", b"\n", b"\0", b"\xff", b"9" * 5000]
    )
).map(b" ".join)
GETS = ["study", "traffic", "panel", "list", "questions", "results/study.assoc", "results/../secret-key"]
waits = st.sampled_from(["", "?seen=1", "?seen=1,2,x", "?wait=nan", "?wait=-1&seen=" + "9," * 50])


@dataclass(frozen=True)
class Asked:
    method: str
    place: str
    headers: dict[str, str]
    body: bytes


def usual_headers() -> dict[str, str]:
    return {
        "Unpooled-Protocol": str(VERSION),
        "Content-Type": "application/octet-stream",
        "Unpooled-Nonce": os.urandom(16).hex(),
    }


@st.composite
def requests(draw: st.DrawFn, world: World) -> tuple[str, Asked]:
    """Draw whose token a request carries, by the state of the study, and the request."""
    state = draw(st.sampled_from([*world.cohorts, "nobody"]))
    headers = dict(world.cohorts.get(state, {}))
    spoilt = {
        "Authorization": st.sampled_from(["Bearer x", f"Bearer {SECRET}", "Basic eDp5", "Bearer"]) | latin,
        "Unpooled-Client": st.just(os.urandom(16).hex()) | latin,
        "Unpooled-Protocol": st.sampled_from(["0", "1", str(VERSION + 1), "99999999999", "x"]),
        "Content-Encoding": st.sampled_from(["gzip", "br", "identity"]),
        "Unpooled-Nonce": latin,
        "Content-Type": latin,
        "Content-Length": st.sampled_from(["", "-1", "x", "99999999", "0"]),
    }
    method, place, body = draw(sound() | st.tuples(METHODS, nowhere, st.binary(max_size=40)))
    for name in draw(st.sampled_from([(), (), *((name,) for name in spoilt)])):
        headers[name] = draw(spoilt[name])
    return state, Asked(method, place, usual_headers() | headers, body)


latin = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
nowhere = st.sampled_from([*GETS, "shares/1", "dealings/1", "shares/999999999999999999"]) | st.text(
    max_size=20
).map(quote)


@st.composite
def sound(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """A method, a place, and a body that might be taken there."""
    kind = draw(st.sampled_from(["get", "json", "json", "list", "share"]))
    if kind == "get":
        return "GET", draw(st.sampled_from(GETS)) + draw(waits), b""
    if kind == "list":
        return "PUT", "panel/list", draw(lists)
    if kind == "share":
        place = f"{draw(st.sampled_from(['shares', 'dealings']))}/{draw(st.integers(0, 30))}"
        return "PUT", place, bytes(draw(st.sampled_from([0, 4, 400, 1000])))
    (method, place), values = draw(st.sampled_from(list(objects.items())))
    return method, place, json.dumps(draw(values)).encode()


def others(world: World, state: str) -> QuerySet[Study]:
    return Study.objects.exclude(pk=world.studies.get(state, ""))


def settled(world: World, state: str) -> list[Any]:
    """Return what a refused request may not change of a study; times heard and byte counts may change."""
    study = Study.objects.filter(pk=world.studies.get(state, ""))
    fields = [
        field.name for field in Cohort._meta.concrete_fields if field.name not in ("heard_at", "instance")
    ]
    cohorts = Cohort.objects.filter(study__in=study).order_by("pk").values_list(*fields)
    return [*study.values_list(), *cohorts, *study.values_list("log", "shares")]


def ask(world: World, state: str, asked: Asked, before: dict[str, tuple[Any, Any]]) -> None:
    def look(answer: TestResponse) -> None:
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        assert len(answer.data) <= LONGEST
        world.assert_no_secret(answer)
        if answer.status_code >= 400 and asked.method != "HEAD" and answer.mimetype == "application/json":
            assert set(answer.json["error"]) >= {"code", "message", "remedy"}  # type: ignore[index]
        if world.wrote:
            assert rows_of_others(others(world, state), None) == before[state][0]
            assert answer.status_code < 400 or settled(world, state) == before[state][1]

    address = f"/api/v1/cohort/{asked.place}"
    world.send(
        asked.method, address, look, base_url="http://localhost", headers=asked.headers, data=asked.body
    )


def recorded(world: World) -> dict[str, tuple[Any, Any]]:
    """Return the records of the other studies and of this one, by the state of the study."""
    return {
        state: (rows_of_others(others(world, state), None), settled(world, state))
        for state in [*world.cohorts, "nobody"]
    }


def run(world: World, length: Length) -> None:
    before = recorded(world)
    length.each(USUAL, requests(world), lambda request: ask(world, request[0], request[1], before), times=40)


@pytest.mark.services
def test_whatever_is_sent_is_answered_and_nothing_else_recorded(world: World, length: Length) -> None:
    run(world, length)
    length.inputs["requests of cohorts"] += world.requests


@pytest.mark.parametrize("world", [("open", "failed")], indirect=True)
def test_what_is_recorded_of_another_cohort_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_everybody(cohort: Cohort, timing: dict[str, Any]) -> None:
        Cohort.objects.update(timing={"compute": 1})

    monkeypatch.setattr(joining, "report_timing", of_everybody)
    before = recorded(world)
    with pytest.raises(AssertionError):
        for state, headers in world.cohorts.items():
            ask(world, state, Asked("POST", "timing", usual_headers() | headers, b'{"compute": 1}'), before)
