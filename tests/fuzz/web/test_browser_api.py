"""Schemathesis against the coordinator's API, as anybody who might ask, on a platform full of studies.

Every operation of the description gets requests that it allows, and others. No answer is an error of the
server, is otherwise than described, or holds a secret; and nobody changes what is another's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.db.models import QuerySet
from hypothesis import strategies as st
from requests import Request
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.generation.hypothesis import setup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from werkzeug.test import TestResponse

from unpooled_server.models import Study
from unpooled_webapp.api import access, studies
from unpooled_webapp.api.serializers import LogLine

from ..longer import Length
from .world import PASSWORD, PEOPLE, PLAN, TABLES, World, rows_of_others, told

setup._is_patched = True  # type: ignore[attr-defined]
"""It would have hypothesis print no input of any test that fails."""

SCHEMA = schemathesis.openapi.from_path(Path(__file__).parents[3] / "webapp" / "openapi.yaml")
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
USUAL = 4
ADDRESS = "http://localhost"

# Bodies that are taken; what Schemathesis makes takes the place of some of their fields.
_PERSON = {"username": "newcomer", "password": PASSWORD + "2", "role": "observer"}
BODIES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("POST", "studies"): [{"name": "New", "plan": PLAN}, {"name": "New", "plan": TABLES | {"cohorts": 3}}],
    ("PATCH", "studies/{study}"): [{"name": "Other", "plan": {"maf": 0.1}, "observers": ["observer"]}],
    ("POST", "studies/{study}/invitations"): [{"cohort": "Kraków"}],
    ("POST", "session"): [{"username": "owner", "password": PASSWORD}],
    ("POST", "session/password"): [{"old": PASSWORD, "new": PASSWORD + "2"}],
    ("PATCH", "session"): [{"display_name": "Ada"}],
    ("POST", "account/tokens"): [{"name": "nightly", "scope": "read", "days": 30}],
    ("POST", "account/channels"): [
        {"kind": "webhook", "address": "https://example.org/", "events": ["done"], "all_own": True},
        {"kind": "mail", "address": "a@example.org", "events": ["failed"], "all_own": False},
    ],
    ("POST", "people"): [_PERSON],
    ("PATCH", "people/{username}"): [{"role": "coordinator"}, {"active": False}],
}
LISTS = [b"1 1000 rs0 A G\n", b"1\trs0\t0\t1000\tA\tG\n"]
QUERIES = {
    "chromosome": ["1", "X", "unplaced"],
    "search": ["rs1", "1:1000", "1:1-99999"],
    "archived": ["1", "true", ""],
    "start": ["0", "5", str(2**31)],
    "count": ["1", "10000"],
    "from": ["0", "1000"],
    "to": ["1000", "99999999"],
}


def often(usual: st.SearchStrategy[Any], other: Any) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, usual, st.just(other))


@st.composite
def cases(draw: st.DrawFn, operation: Any, world: World) -> Case:
    """A request as the description has it, or one that breaks it; most are about what there is."""
    can_be_broken = bool(operation.body) or any(operation.iter_parameters())
    mode = draw(st.sampled_from(list(GenerationMode) if can_be_broken else [GenerationMode.POSITIVE]))
    case: Case = draw(operation.as_strategy(generation_mode=mode))
    names = {
        "study": list(world.studies.values()),
        "cohort": ["Graz", "Oslo", "Tartu"],
        "username": list(PEOPLE[1:]),
        "name": ["study.assoc", "study.parameters.json", "manifest.json"],
    }
    for place, found in names.items():
        if place in (case.path_parameters or {}):
            case.path_parameters[place] = draw(often(st.sampled_from(found), case.path_parameters[place]))
    for name, found in QUERIES.items():
        if name in (case.query or {}):
            case.query[name] = draw(often(st.sampled_from(found), case.query[name]))
    key = (case.method.upper(), case.path.removeprefix("/api/v1/"))
    if key in BODIES and draw(st.integers(0, 3)):
        case.body = draw(merged(draw(st.sampled_from(BODIES[key])), case.body))
    elif key == ("PUT", "studies/{study}/list"):
        case.body = draw(often(st.sampled_from(LISTS), case.body))
    return case


@st.composite
def merged(draw: st.DrawFn, sound: dict[str, Any], other: Any) -> dict[str, Any]:
    """The sound body, with some fields of another one."""
    if not isinstance(other, dict) or not other:
        return sound
    chosen = draw(st.lists(st.sampled_from(sorted(other)), max_size=2, unique=True))
    made = sound | {name: other[name] for name in chosen}
    if "plan" in sound and "plan" not in chosen:
        made["plan"] = draw(merged(sound["plan"], other.get("plan")))
    return made


def of_others(who: str) -> tuple[QuerySet[Study], User | None]:
    """The studies that somebody may not change, and who it is."""
    person = User.objects.filter(username=who).first()
    if who == "administrator":
        return Study.objects.none(), person
    return Study.objects.exclude(owner=person), person


def ask(world: World, who: str, case: Case, before: dict[str, list[Any]]) -> None:
    """Send a request as somebody, and judge the answer and what is different after it."""
    given = case.as_transport_kwargs(base_url=ADDRESS) | {"cookies": {}, "headers": {}}
    made = Request(**given).prepare()
    kind = {"Content-Type": case.media_type} if case.media_type else {}

    def look(answer: TestResponse) -> None:
        case.validate_response(answer, checks=CHECKS)
        world.assert_no_secret(answer)
        if who in ("nobody", "elsewhere"):
            assert not [study for study in world.studies.values() if study in told(answer)]
        if world.wrote and who != "administrator":
            assert rows_of_others(*of_others(who)) == before

    headers = kind | world.people[who]
    world.send(case.method, made.path_url, look, base_url=ADDRESS, headers=headers, data=made.body or b"")


def failures(world: World, length: Length, operations: list[Any]) -> list[BaseException]:
    before = {who: rows_of_others(*of_others(who)) for who in PEOPLE}
    found: list[BaseException] = []
    for operation in operations:
        requests = st.tuples(st.sampled_from(PEOPLE), cases(operation, world))
        try:
            length.each(USUAL, requests, lambda request: ask(world, *request, before[request[0]]))
        except (Exception, FailureGroup) as error:  # the second is none of the first
            error.add_note(operation.label)
            found.append(error)
    length.inputs["requests of browsers"] += world.requests
    return found


@pytest.mark.services
def test_whoever_asks_whatever_is_answered_as_described(world: World, length: Length) -> None:
    if found := failures(world, length, OPERATIONS):
        raise BaseExceptionGroup("otherwise than described", found)


@pytest.mark.parametrize("world", [("open", "failed")], indirect=True)
def test_what_a_stranger_changes_and_a_secret_that_is_told_are_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = ["DELETE /api/v1/studies/{study}/archive", "GET /api/v1/studies/{study}/log"]
    operations = [found for found in OPERATIONS if found.label in labels]
    monkeypatch.setattr(studies, "own", access.visible)
    monkeypatch.setattr(LogLine, "to_representation", lambda line, entry: {"what": world.secrets[-1]})
    noticed = [error.__notes__[-1] for error in failures(world, Length(40), operations)]
    assert noticed == labels
