"""API tokens: shown once, good for a while, and for what their scope says.

Where they let a program in is in the tables of test_authorisation.py.
"""

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
from django.contrib.auth.models import User
from django.utils import timezone
from federation_fixtures import Federation
from signing_in import PASSWORD, Http, signed_in

from tests.patience import PATIENCE
from unpooled_webapp import accounts, tokens
from unpooled_webapp.http_worker import SMALL_BODY
from unpooled_webapp.models import ApiToken, Scope

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
