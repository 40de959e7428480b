"""Sign-in, roles, and how often a password may be tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from unpooled_webapp import accounts

Http = Callable[[], httpx.Client]
PASSWORD = "a long password 1"


@pytest.fixture
def people(platform: Any) -> dict[str, User]:
    return {role: accounts.create(role, PASSWORD, role) for role in accounts.ROLES}


def sign_in(http: Http, name: str, password: str = PASSWORD) -> httpx.Client:
    client = http()
    answer = client.post("/api/v1/session", json={"username": name, "password": password})
    assert answer.status_code == 200, answer.text
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
    return client


@pytest.mark.parametrize("role", accounts.ROLES)
def test_signing_in_and_out(http: Http, people: dict[str, User], role: str) -> None:
    client = sign_in(http, role)
    assert client.get("/api/v1/session").json() == {"username": role, "role": role}
    assert client.delete("/api/v1/session").status_code == 204
    assert client.get("/api/v1/session").status_code == 401
    assert client.get("/api/v1/studies").status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        {"username": "coordinator", "password": "wrong"},
        {"username": "nobody", "password": PASSWORD},
    ],
)
def test_a_wrong_password_and_an_unknown_name_look_the_same(
    http: Http, people: dict[str, User], body: dict[str, str]
) -> None:
    answer = http().post("/api/v1/session", json=body)
    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "User name or password is wrong."


@pytest.mark.parametrize("body", [{}, {"username": "x"}, {"username": [], "password": {}}, []])
def test_a_bad_form_names_its_fields(http: Http, people: dict[str, User], body: Any) -> None:
    answer = http().post("/api/v1/session", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid"


def test_too_many_tries_are_refused_even_with_the_right_password(http: Http, people: dict[str, User]) -> None:
    for _ in range(accounts.TRIES_PER_NAME):
        answer = http().post("/api/v1/session", json={"username": "coordinator", "password": "wrong"})
        assert answer.status_code == 401
    for password in ("wrong", PASSWORD):
        answer = http().post("/api/v1/session", json={"username": "Coordinator", "password": password})
        assert answer.status_code == 429
    sign_in(http, "observer")


def test_a_closed_account_cannot_sign_in(http: Http, people: dict[str, User]) -> None:
    administrator = sign_in(http, "administrator")
    assert administrator.patch("/api/v1/people/observer", json={"active": False}).status_code == 200
    assert (
        http().post("/api/v1/session", json={"username": "observer", "password": PASSWORD}).status_code == 401
    )


def test_changes_need_the_csrf_token(http: Http, people: dict[str, User]) -> None:
    client = sign_in(http, "coordinator")
    del client.headers["X-CSRFToken"]
    answer = client.post("/api/v1/studies", json={})
    assert answer.status_code == 403
    assert "CSRF" in answer.json()["error"]["message"]


@pytest.mark.parametrize("role", ["coordinator", "observer"])
def test_only_administrators_see_and_make_accounts(http: Http, people: dict[str, User], role: str) -> None:
    client = sign_in(http, role)
    assert client.get("/api/v1/people").status_code == 403
    body = {"username": "x", "password": PASSWORD, "role": "administrator"}
    assert client.post("/api/v1/people", json=body).status_code == 403
    assert client.patch(f"/api/v1/people/{role}", json={"role": "administrator"}).status_code == 403
    assert not User.objects.filter(username="x").exists()


def test_an_administrator_makes_accounts(http: Http, people: dict[str, User]) -> None:
    client = sign_in(http, "administrator")
    body = {"username": "newcomer", "password": PASSWORD, "role": "coordinator"}
    assert client.post("/api/v1/people", json=body).status_code == 201
    assert client.post("/api/v1/people", json={**body, "username": "NewComer"}).status_code == 409
    assert client.post("/api/v1/people", json={**body, "username": "a b"}).status_code == 400
    weak = client.post("/api/v1/people", json={**body, "username": "weak", "password": "password"})
    assert (weak.status_code, weak.json()["error"]["code"]) == (400, "weak-password")
    assert client.patch("/api/v1/people/newcomer", json={"role": "observer"}).json()["role"] == "observer"
    assert client.patch("/api/v1/people/nobody", json={}).status_code == 404
    assert client.patch("/api/v1/people/administrator", json={"role": "observer"}).status_code == 409
    names = [person["username"] for person in client.get("/api/v1/people").json()]
    assert names == ["administrator", "coordinator", "newcomer", "observer"]


def test_passwords_are_kept_with_argon2(settings: Any) -> None:
    from unpooled_webapp import settings as ours

    assert ours.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
