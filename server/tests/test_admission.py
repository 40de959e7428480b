"""Whom the addresses of cohorts let in; the table of them all is in webapp/tests/test_authorisation.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from importlib.metadata import version
from itertools import product

import pytest
from django.utils import timezone
from federation_fixtures import Federation

from unpooled.protocol import VERSION
from unpooled_server.models import Cohort
from unpooled_server.services import invitations

Make = Callable[..., Federation]

GET = ("study", "panel", "list", "questions", "results/study.assoc")
POST = ("join", "accept", "problem", "timing")
PUT = ("panel/digest", "panel/list", "shares/1")
ADDRESSES = [*product(["GET"], GET), *product(["POST"], POST), *product(["PUT"], PUT)]


def test_without_a_known_token_nothing_is_told(federation: Make) -> None:
    client = federation().clients[0]
    instance = {"Unpooled-Client": client.instance, "Unpooled-Protocol": str(VERSION)}
    words = ("Bearer " + "x" * 43, f"Basic {client.invitation.token}", "Bearer ")
    heads = [instance, *({**instance, "Authorization": word} for word in words)]
    for (method, path), headers in product(ADDRESSES, heads):
        answer = client.http.request(method, f"/api/v1/cohort/{path}", headers=headers)
        assert answer.status_code == 401, (method, path, headers)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    ("spoken", "code"), [*product(["0", "x", "1"], ["client-too-old"]), (str(VERSION + 1), "server-too-old")]
)
def test_a_client_of_another_protocol_is_told_so_before_anything_else(
    federation: Make, spoken: str, code: str
) -> None:
    headers, http = {"Unpooled-Protocol": spoken}, federation().clients[0].http
    for method, path in ADDRESSES:
        answer = http.request(method, f"/api/v1/cohort/{path}", headers=headers)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (426, code), (method, path)
        assert f"protocol {spoken}" in error["message"] or f"the client {spoken}" in error["message"]
        assert f"unpooled-client {version('unpooled-server')}" in error["remedy"]


def test_a_client_that_names_no_protocol_is_of_the_first(federation: Make) -> None:
    answer = federation().clients[0].http.get("/api/v1/cohort/study")
    assert (answer.status_code, answer.json()["error"]["code"]) == (426, "client-too-old")


def test_a_token_issued_anew_replaces_the_former_one_and_what_the_cohort_did_stays(trial: Federation) -> None:
    trial.join()
    client = trial.clients[0]
    text = invitations.reissue(
        trial.study, Cohort.objects.get(name="Graz"), "http://localhost", "coordinator"
    )
    assert client.call("GET", "study").status_code == 401
    client.invitation = type(client.invitation).from_text(text)
    assert client.study()["cohort_state"] == "joined"


def test_another_study_is_not_there(federation: Make) -> None:
    one, other = federation(), federation()
    one.running()
    stranger = other.clients[0]
    assert stranger.put_share(one.clients[0].questions().items[0].round, b"x", "0" * 32).status_code == 404
    assert stranger.questions().items == ()
    assert stranger.study()["study"]["id"] == other.study_id
    one.run_on()
    assert one.clients[0].call("GET", "results/study.assoc").status_code == 200
    assert other.clients[0].call("GET", "results/study.assoc").status_code == 404
    for name in ("../db.sqlite3", "..%2f..%2fsecret-key", "study.nothing"):
        assert one.clients[0].call("GET", f"results/{name}").status_code == 404


def test_a_second_client_is_refused_while_the_first_lives(federation: Make) -> None:
    client = federation().clients[0]
    client.study()
    first, client.instance = client.instance, os.urandom(16).hex()
    refused = client.call("GET", "study")
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "second-client"
    Cohort.objects.filter(name="Graz").update(heard_at=timezone.now() - timedelta(seconds=61))
    client.study()
    client.instance = first
    assert client.call("GET", "study").status_code == 409


@pytest.mark.parametrize("instance", ["", "abc", "A" * 32, "0" * 33])
def test_a_client_names_itself(federation: Make, instance: str) -> None:
    client = federation().clients[0]
    client.instance = instance
    answer = client.call("GET", "study")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "no-client"
