"""Sign-in, roles, and how often a password may be tried."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import caches
from signing_in import PASSWORD, Http, signed_in

from tests.ports import Port
from unpooled_server.services import transitions
from unpooled_webapp import accounts
from unpooled_webapp.wsgi import application


@pytest.fixture
def people(platform: Any) -> dict[str, User]:
    return {role: accounts.create(role, PASSWORD, role) for role in accounts.ROLES}


@pytest.mark.parametrize("role", accounts.ROLES)
def test_signing_in_and_out(http: Http, people: dict[str, User], role: str) -> None:
    client = signed_in(http, role)
    assert client.get("/api/v1/session").json() == {"username": role, "display_name": "", "role": role}
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


@pytest.mark.services
def test_too_many_tries_are_refused_even_with_the_right_password(http: Http, people: dict[str, User]) -> None:
    for _ in range(accounts.TRIES_PER_NAME):
        answer = http().post("/api/v1/session", json={"username": "coordinator", "password": "wrong"})
        assert answer.status_code == 401
    for password in ("wrong", PASSWORD):
        answer = http().post("/api/v1/session", json={"username": "Coordinator", "password": password})
        assert answer.status_code == 429
    signed_in(http, "observer")


WRONG = "wrong"


def tried(name: str, address: str, password: str = WRONG) -> int:
    transport = httpx.WSGITransport(app=application, remote_addr=address)
    with httpx.Client(transport=transport, base_url="http://localhost") as client:
        return client.post("/api/v1/session", json={"username": name, "password": password}).status_code


def test_made_up_names_from_one_address_do_not_make_others_forgotten(people: dict[str, User]) -> None:
    for _ in range(accounts.TRIES_PER_NAME):
        tried("coordinator", "192.0.2.1")
    found = [tried(f"nobody{k}", "192.0.2.2") for k in range(350)]
    assert found.index(429) == accounts.TRIES_PER_ADDRESS
    assert tried("coordinator", "192.0.2.1") == 429


@pytest.mark.services
def test_nobody_is_locked_out_from_elsewhere(http: Http, people: dict[str, User]) -> None:
    for _ in range(accounts.TRIES_PER_NAME + 1):
        status = tried("administrator", "192.0.2.1")
    assert status == 429
    assert tried("administrator", "192.0.2.2", PASSWORD) == 200


@pytest.mark.services
def test_a_success_does_not_give_an_address_its_tries_anew(http: Http, people: dict[str, User]) -> None:
    found = []
    for k in range(100):
        found.append(tried(f"nobody{k}", "192.0.2.1"))
        tried("observer", "192.0.2.1", PASSWORD)
    assert found.index(429) == accounts.TRIES_PER_ADDRESS


def test_many_who_know_their_password_may_share_an_address(http: Http, people: dict[str, User]) -> None:
    found = {tried("observer", "192.0.2.1", PASSWORD) for _ in range(accounts.TRIES_PER_ADDRESS + 5)}
    assert found == {200}


def test_a_network_of_ipv6_counts_as_one_address(http: Http, people: dict[str, User]) -> None:
    found = [tried(f"nobody{k}", f"2001:db8::{k:x}") for k in range(accounts.TRIES_PER_ADDRESS + 1)]
    assert found[-1] == 429
    assert tried("nobody", "2001:db8:0:1::1") == 401


def test_without_redis_people_sign_in(http: Http, people: dict[str, User], platform: Any) -> None:
    port = Port()  # of a server that is not there
    redis = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://{port.address}/0",
    }
    platform.CACHES = {**platform.CACHES, "default": redis}
    assert tried("observer", "192.0.2.9", PASSWORD) == 200
    found = [tried("observer", "192.0.2.9") for _ in range(accounts.TRIES_PER_NAME + 1)]
    assert (found[0], found[-1]) == (401, 429)


def test_a_cache_in_memory_has_room_for_the_counts() -> None:
    assert caches["default"]._max_entries >= 100_000 or "redis" in str(settings.CACHES["default"])


@pytest.mark.parametrize("password", [" a long password 1 ", "\ta long password 1"])
def test_blanks_around_a_password_are_part_of_it_everywhere(
    http: Http, people: dict[str, User], password: str
) -> None:
    administrator = signed_in(http, "administrator")
    body = {"username": "newcomer", "password": password, "role": "coordinator"}
    assert administrator.post("/api/v1/people", json=body).status_code == 201
    newcomer = signed_in(http, "newcomer", password)
    change = {"old": password, "new": f" {PASSWORD}"}
    assert newcomer.post("/api/v1/session/password", json=change).status_code == 204
    signed_in(http, "newcomer", f" {PASSWORD}")
    assert administrator.patch("/api/v1/people/newcomer", json={"password": password}).status_code == 200
    signed_in(http, "newcomer", password)
    trimmed = http().post("/api/v1/session", json={"username": "newcomer", "password": PASSWORD})
    assert trimmed.status_code == 401


def test_a_closed_account_cannot_sign_in(http: Http, people: dict[str, User]) -> None:
    administrator = signed_in(http, "administrator")
    assert administrator.patch("/api/v1/people/observer", json={"active": False}).status_code == 200
    assert (
        http().post("/api/v1/session", json={"username": "observer", "password": PASSWORD}).status_code == 401
    )


def test_changes_need_the_csrf_token(http: Http, people: dict[str, User]) -> None:
    client = signed_in(http, "coordinator")
    del client.headers["X-CSRFToken"]
    answer = client.post("/api/v1/studies", json={})
    assert answer.status_code == 403
    assert "CSRF" in answer.json()["error"]["message"]


@pytest.mark.services
def test_an_administrator_makes_accounts(http: Http, people: dict[str, User]) -> None:
    client = signed_in(http, "administrator")
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


def test_a_display_name_is_shown_and_the_user_name_signs_in(http: Http, people: dict[str, User]) -> None:
    client = signed_in(http, "coordinator")
    assert (
        client.patch("/api/v1/session", json={"display_name": " Ada L. "}).json()["display_name"] == "Ada L."
    )
    plan = {"test": "chi-square", "phenotype": "asthma", "cohorts": 3}
    study = client.post("/api/v1/studies", json={"name": "Named", "plan": plan}).json()
    (row,) = client.get("/api/v1/studies").json()
    assert (row["owner"], row["owner_name"]) == ("coordinator", "Ada L.")
    client.patch(f"/api/v1/studies/{study['id']}", json={"observers": ["observer"]}).raise_for_status()
    signed_in(http, "observer").patch("/api/v1/session", json={"display_name": "Grace"}).raise_for_status()
    found = client.get(f"/api/v1/studies/{study['id']}").json()
    assert (found["observers"], found["names"]) == (["observer"], {"observer": "Grace"})
    (line,) = client.get(f"/api/v1/studies/{study['id']}/log").json()[:1]
    assert (line["who"], line["who_name"]) == ("coordinator", "Ada L.")
    assert signed_in(http, "coordinator").get("/api/v1/session").json()["username"] == "coordinator"
    assert client.patch("/api/v1/session", json={"display_name": ""}).json()["display_name"] == ""
    assert client.get("/api/v1/studies").json()[0]["owner_name"] == "coordinator"


def test_a_cohort_that_has_a_persons_user_name_keeps_its_own(http: Http, people: dict[str, User]) -> None:
    client = signed_in(http, "coordinator")
    signed_in(http, "observer").patch("/api/v1/session", json={"display_name": "Grace"}).raise_for_status()
    plan = {"test": "chi-square", "phenotype": "asthma", "cohorts": 3}
    study = client.post("/api/v1/studies", json={"name": "Named", "plan": plan}).json()["id"]
    client.post(f"/api/v1/studies/{study}/invitations", json={"cohort": "observer"}).raise_for_status()
    transitions.note(study, "observer", "joined")
    line = client.get(f"/api/v1/studies/{study}/log").json()[-1]
    assert (line["who_name"], line["what"]) == ("observer", "joined")


@pytest.mark.services
@pytest.mark.parametrize("name", ["Observer", "grace", "Platform", "two\nlines", "hid\u202eden", "x" * 81])
def test_nobody_is_called_as_another_or_by_what_cannot_be_seen(
    http: Http, people: dict[str, User], name: str
) -> None:
    signed_in(http, "observer").patch("/api/v1/session", json={"display_name": "Grace"}).raise_for_status()
    client, administrator = signed_in(http, "coordinator"), signed_in(http, "administrator")
    body = {"username": "newcomer", "password": PASSWORD, "role": "observer", "display_name": name}
    answers = [
        client.patch("/api/v1/session", json={"display_name": name}),
        administrator.patch("/api/v1/people/coordinator", json={"display_name": name}),
        administrator.post("/api/v1/people", json=body),
    ]
    for answer in answers:
        assert answer.status_code in (400, 409), answer.text
        assert list(answer.json()["error"]["fields"]) == ["display_name"]
    assert not User.objects.filter(username="newcomer").exists()
    assert User.objects.get(username="coordinator").first_name == ""
