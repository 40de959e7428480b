"""The first administrator, and changing a password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from signing_in import PASSWORD, Http, Person, signed_in

from unpooled_webapp import accounts, first_run


def form(**changes: str) -> dict[str, str]:
    return {"token": first_run.token(), "username": "first", "password": PASSWORD, **changes}


def test_the_first_person_with_the_token_becomes_the_administrator(http: Http, platform: Any) -> None:
    client = http()
    assert client.get("/api/v1/first-run").json() == {"needed": True}
    answer = client.post("/api/v1/first-run", json=form())
    made = {"username": "first", "display_name": "", "role": "administrator"}
    assert (answer.status_code, answer.json()) == (200, made)
    assert client.get("/api/v1/session").json()["username"] == "first"
    assert client.get("/api/v1/first-run").json() == {"needed": False}
    assert not (Path(platform.UNPOOLED_HOME) / "first-run-token").exists()


def test_the_token_is_for_its_owner_only(platform: Any) -> None:
    assert first_run.token() == first_run.token()
    assert (Path(platform.UNPOOLED_HOME) / "first-run-token").stat().st_mode & 0o077 == 0


def test_blanks_around_the_first_password_are_part_of_it(http: Http, platform: Any) -> None:
    http().post("/api/v1/first-run", json=form(password=f" {PASSWORD} ")).raise_for_status()
    body = {"username": "first", "password": f" {PASSWORD} "}
    assert http().post("/api/v1/session", json=body).status_code == 200


@pytest.mark.parametrize("made", [True, False], ids=["printed", "never-printed"])
def test_a_wrong_token_admits_nobody(http: Http, platform: Any, made: bool) -> None:
    if made:
        first_run.token()
    answer = http().post("/api/v1/first-run", json={**form(token="guess"), "token": "guess"})
    assert answer.status_code == 403
    assert "unpooled up" in answer.json()["error"]["remedy"]
    assert not accounts.has_administrator()


@pytest.mark.services
def test_once_there_is_an_administrator_the_token_admits_nobody(http: Http, platform: Any) -> None:
    fields = form()
    accounts.create("administrator", PASSWORD, accounts.ADMINISTRATOR)
    assert http().post("/api/v1/first-run", json=fields).status_code == 409


def test_a_bad_form_leaves_the_token_as_it_was(http: Http, platform: Any) -> None:
    for field, value in {"password": "password", "username": "a b"}.items():
        answer = http().post("/api/v1/first-run", json=form(**{field: value}))
        assert answer.status_code == 400
        assert field in answer.json()["error"]["fields"]
    assert http().post("/api/v1/first-run", json=form()).status_code == 200


@pytest.mark.services
def test_guesses_are_counted(http: Http, platform: Any) -> None:
    first_run.token()
    body = {"token": "guess", "username": "guesser", "password": PASSWORD}
    statuses = [
        http().post("/api/v1/first-run", json=body).status_code for _ in range(accounts.TRIES_PER_ADDRESS + 1)
    ]
    assert statuses[0] == 403 and statuses[-1] == 429


@pytest.fixture
def observer(person: Person) -> httpx.Client:
    return person("observer", accounts.OBSERVER)


def test_changing_ones_password_ends_the_other_sessions(http: Http, observer: httpx.Client) -> None:
    other = signed_in(http, "observer")
    body = {"old": PASSWORD, "new": "another long one 2"}
    assert observer.post("/api/v1/session/password", json=body).status_code == 204
    assert observer.get("/api/v1/session").status_code == 200
    assert other.get("/api/v1/session").status_code == 401
    signed_in(http, "observer", "another long one 2")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"old": "wrong", "new": "another long one 2"}, "old"),
        ({"old": PASSWORD, "new": "password"}, "new"),
        ({"old": PASSWORD, "new": "observer"}, "new"),
        ({"old": PASSWORD}, "new"),
    ],
)
def test_a_password_that_cannot_be_changed(observer: httpx.Client, body: dict[str, str], field: str) -> None:
    answer = observer.post("/api/v1/session/password", json=body)
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]


def test_guesses_at_the_old_password_are_counted(observer: httpx.Client) -> None:
    body = {"old": "wrong", "new": "another long one 2"}
    statuses = [
        observer.post("/api/v1/session/password", json=body).status_code
        for _ in range(accounts.TRIES_PER_NAME + 1)
    ]
    assert statuses[0] == 400 and statuses[-1] == 429
