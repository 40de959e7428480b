"""Sign-in, roles and tries; the first administrator; and API tokens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import caches
from django.utils import timezone
from federation_fixtures import Federation
from signing_in import PASSWORD, Http, Person, signed_in

from tests.patience import PATIENCE
from tests.ports import Port
from unpooled_server.errors import Refused
from unpooled_server.models import Study
from unpooled_server.services import transitions
from unpooled_webapp import accounts, first_run, tokens, tries
from unpooled_webapp.commands.studies import studies
from unpooled_webapp.http_worker import SMALL_BODY
from unpooled_webapp.models import ApiToken, Scope
from unpooled_webapp.wsgi import application


@pytest.fixture
def people(platform: Any) -> dict[str, User]:
    return {role: accounts.create(role, PASSWORD, role) for role in accounts.ROLES}


@pytest.mark.parametrize("role", accounts.ROLES)
def test_signing_in_and_out(http: Http, people: dict[str, User], role: str) -> None:
    client = signed_in(http, role)
    me = {
        "username": role,
        "display_name": "",
        "role": role,
        "has_password": True,
        "has_second_factor": False,
        "is_connected": False,
    }
    assert client.get("/api/v1/session").json() == me
    assert client.delete("/api/v1/session").status_code == 204
    assert client.get("/api/v1/session").status_code == 401
    assert client.get("/api/v1/studies").status_code == 401


@pytest.mark.parametrize(
    "body", [{"username": "coordinator", "password": "wrong"}, {"username": "nobody", "password": PASSWORD}]
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


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that tries wait, for which nobody waits here."""
    found: list[float] = []
    monkeypatch.setattr(tries, "sleep", found.append)
    return found


def test_from_many_addresses_one_name_is_tried_slower_and_slower(
    http: Http, people: dict[str, User], waits: list[float]
) -> None:
    assert tried("observer", "198.51.100.1", PASSWORD) == 200
    found = {tried("Observer", f"192.0.2.{k}") for k in range(100)}
    assert found == {401}
    assert len(waits) == 100 - tries.AT_ONCE
    assert waits == sorted(waits) and (waits[0], waits[-1]) == (tries.STEP, tries.LONGEST)
    waits.clear()
    assert tried("coordinator", "192.0.2.1") == 401  # another name
    assert tried("observer", "198.51.100.1", PASSWORD) == 200  # from where they signed in before
    assert waits == []
    assert tried("observer", "198.51.100.2", PASSWORD) == 200  # nobody is locked out elsewhere
    assert waits == [tries.LONGEST]


def test_few_wait_at_once(platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[float] = []

    def sleep(seconds: float) -> None:  # while one waits, another comes
        waiting.append(seconds)
        tries.slow_down("a name")

    for _ in range(tries.AT_ONCE):
        tries.slow_down("a name")
    monkeypatch.setattr(tries, "sleep", sleep)
    for _ in range(2):
        with pytest.raises(Refused, match="Many are trying"):
            tries.slow_down("a name")
        assert len(waiting) == settings.UNPOOLED_THREADS // 8
        waiting.clear()


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


def form(**changes: str) -> dict[str, str]:
    return {"token": first_run.token(), "username": "first", "password": PASSWORD, **changes}


def test_the_first_person_with_the_token_becomes_the_administrator(http: Http, platform: Any) -> None:
    client = http()
    assert client.get("/api/v1/first-run").json() == {"needed": True}
    answer = client.post("/api/v1/first-run", json=form())
    made = {
        "username": "first",
        "display_name": "",
        "role": "administrator",
        "has_password": True,
        "has_second_factor": False,
        "is_connected": False,
    }
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


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def owner(platform: Any) -> User:
    return accounts.create("owner", PASSWORD, accounts.COORDINATOR)


def create(client: httpx.Client, scope: str, days: int = 30) -> dict[str, Any]:
    answer = client.post("/api/v1/account/tokens", json={"name": "nightly", "scope": scope, "days": days})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def program(http: Http, token: str) -> httpx.Client:
    client = http()
    client.headers["Authorization"] = f"Bearer {token}"
    return client


@pytest.mark.services
def test_a_token_is_told_once_and_stored_hashed(http: Http, owner: User) -> None:
    client = signed_in(http)
    made = create(client, "read")
    (row,) = client.get("/api/v1/account/tokens").json()
    assert row == {name: value for name, value in made.items() if name != "token"}
    stored = ApiToken.objects.values().get()
    assert made["token"] not in str(stored)
    assert made["token"].removeprefix(tokens.PREFIX) not in str(stored)


def test_a_token_acts_as_its_person_until_it_is_revoked(http: Http, owner: User) -> None:
    client = signed_in(http)
    made = create(client, "change")
    caller = program(http, made["token"])
    plan = {"test": "chi-square", "phenotype": "asthma", "cohorts": 3}
    created = caller.post("/api/v1/studies", json={"name": "By a program", "plan": plan})
    assert (created.status_code, created.json()["owner"]) == (201, "owner")
    (row,) = client.get("/api/v1/account/tokens").json()
    assert row["used_at"] is not None
    assert client.delete(f"/api/v1/account/tokens/{made['id']}").status_code == 204
    refused = caller.get("/api/v1/studies")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "bad-token")


def test_a_token_that_reads_says_why_it_does_not_change(http: Http, owner: User) -> None:
    caller = program(http, create(signed_in(http), "read")["token"])
    assert caller.get("/api/v1/studies").json() == []
    refused = caller.post("/api/v1/studies", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "token-reads-only")


def test_a_token_ends_with_its_day_with_its_account_and_with_a_reset_password(
    http: Http, owner: User
) -> None:
    accounts.create("admin", PASSWORD, accounts.ADMINISTRATOR)
    administrator = signed_in(http, "admin")
    token, text = tokens.issue(owner, "short", Scope.READ, 1)
    caller = program(http, text)
    assert caller.get("/api/v1/studies").status_code == 200
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert caller.get("/api/v1/studies").status_code == 401
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    administrator.patch("/api/v1/people/owner", json={"active": False}).raise_for_status()
    assert caller.get("/api/v1/studies").status_code == 401
    administrator.patch("/api/v1/people/owner", json={"active": True}).raise_for_status()
    assert caller.get("/api/v1/studies").status_code == 200
    administrator.patch("/api/v1/people/owner", json={"password": PASSWORD + "2"}).raise_for_status()
    assert not ApiToken.objects.filter(pk=token.pk).exists()


@pytest.mark.parametrize(
    "wrong", [{"days": 0}, {"days": 366}, {"scope": "all"}, {"name": ""}, {"name": "x" * 81}]
)
def test_a_bad_form_names_its_field(http: Http, owner: User, wrong: dict[str, Any]) -> None:
    body = {"name": "nightly", "scope": "read", "days": 30} | wrong
    answer = signed_in(http).post("/api/v1/account/tokens", json=body)
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, list(wrong))


def test_nobody_sees_or_revokes_the_tokens_of_others(http: Http, owner: User) -> None:
    accounts.create("other", PASSWORD, accounts.ADMINISTRATOR)
    made = create(signed_in(http), "read")
    other = signed_in(http, "other")
    assert other.get("/api/v1/account/tokens").json() == []
    for name in (str(made["id"]), "0", "-1", "x", "9" * 5000):
        assert other.delete(f"/api/v1/account/tokens/{name}").status_code == 404
    assert ApiToken.objects.count() == 1


def test_a_large_list_may_come_with_a_token(
    http: Http, platform: Any, federation: Callable[..., Federation]
) -> None:
    """Strangers may not send as much; with a token it comes as far as the study, which is not for lists."""
    study = federation().study
    text = tokens.issue(study.owner, "lists", Scope.CHANGE, 1)[1]
    large = b"1 1000 rs0 A G\n" * (SMALL_BODY // 10)
    headers = {"Content-Type": "text/plain"}
    address = f"/api/v1/studies/{study.pk}/list"
    assert program(http, text).put(address, content=large, headers=headers).status_code == 409
    assert program(http, text + "x").put(address, content=large, headers=headers).status_code == 401


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_the_examples_of_the_docs_run_as_they_are(owner: User, live_server: Any, tmp_path: Path) -> None:
    (tmp_path / "unpooled-token").write_text(tokens.issue(owner, "examples", Scope.CHANGE, 1)[1] + "\n")
    environment = os.environ | {"UNPOOLED": live_server.url}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = run(sys.executable, str(EXAMPLES / "with_token.py"))
    assert said == "open waiting for Graz, Munich, Tartu\n"
    assert (tmp_path / "Graz.txt").read_text() != (tmp_path / "Tartu.txt").read_text()
    assert '"name":"Asthma, three sites"' in run("sh", str(EXAMPLES / "with_token.sh"))


@pytest.mark.django_db(transaction=True)
def test_a_study_is_created_from_a_plans_file(owner: User, live_server: Any, tmp_path: Path) -> None:
    (token := tmp_path / "token").write_text(tokens.issue(owner, "plans", Scope.CHANGE, 1)[1] + "\n")
    (plan := tmp_path / "asthma.json").write_text(
        '{"test": "chi-square", "phenotype": "asthma", "cohorts": 3}'
    )
    words = ["create", str(plan), "--token", str(token), "--at"]
    done = CliRunner().invoke(studies, [*words, live_server.url, "--cohort", "Graz"])
    address, invitation = done.output.splitlines()
    study = Study.objects.get()
    assert address == f"{live_server.url}/studies/{study.pk}" and invitation.startswith("Graz\t")
    assert (study.name, study.plan.phenotype, study.cohorts.get().name) == ("asthma", "asthma", "Graz")
    plan.write_text('{"test": "chi-square"}')
    refused = CliRunner().invoke(studies, [*words, live_server.url]).exception
    assert "phenotype" in str(refused)
    nowhere = CliRunner().invoke(studies, [*words, "http://127.0.0.1:1"]).exception
    assert "127.0.0.1:1 cannot be reached" in str(nowhere)
