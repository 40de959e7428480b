"""Single sign-on, with a provider that runs: who is signed in, as whom, in which role, and who is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from signing_in import Http, Person

from unpooled_webapp import accounts, environment
from unpooled_webapp.models import AuditEntry

AT = "/api/v1/session/provider"


class Provider:
    """The organisation's sign-in, and people who are there."""

    def __init__(self, url: str) -> None:
        self.url = url

    def knows(self, subject: str, **claims: object) -> None:
        assert httpx.put(f"{self.url}/users/{subject}", json=claims).status_code == 204

    def signs_in(self, client: httpx.Client, subject: str, **form: str) -> str:
        """Send a browser to the provider, where this person is, and back. Return why it was refused."""
        url = client.post(AT).json()["url"]
        answer = httpx.post(url, data=form or {"sub": subject})
        back = client.get(answer.headers["Location"])
        assert back.status_code == 302 and back.headers["Location"] in ("/", "/account/profile")
        refusal = client.get(AT).json()["refusal"]
        assert client.get(AT).json()["refusal"] is None  # told once
        return refusal["code"] if refusal else ""


@pytest.fixture
def provider(platform: Any) -> Iterator[Provider]:
    yield from provided(platform)


def provided(settings: Any, **options: Any) -> Iterator[Provider]:
    from oidc_provider_mock import run_server_in_thread  # dear: not at each collection

    with run_server_in_thread(**options) as server:
        settings.UNPOOLED_OIDC_ISSUER = f"http://localhost:{server.server_port}"
        settings.UNPOOLED_OIDC_CLIENT, settings.UNPOOLED_OIDC_SECRET = "unpooled", "a secret"
        settings.UNPOOLED_OIDC_NAME = "MedUni"
        yield Provider(settings.UNPOOLED_OIDC_ISSUER)


def who(client: httpx.Client) -> dict[str, Any]:
    return dict(client.get("/api/v1/session").json())


def test_somebody_new_has_an_account_without_a_password_and_later_the_same_one(
    provider: Provider, http: Http
) -> None:
    provider.knows("4711", preferred_username="ada", email="ada@example.org")
    assert http().get(AT).json() == {"name": "MedUni", "refusal": None}
    first, later = http(), http()
    assert provider.signs_in(first, "4711") == ""
    assert who(first) | {"display_name": ""} == {
        "username": "ada",
        "display_name": "",
        "role": accounts.OBSERVER,
        "has_password": False,
        "has_second_factor": False,
        "is_connected": True,
    }
    provider.knows("4711", preferred_username="married")  # a name is no identity
    assert provider.signs_in(later, "4711") == "" and who(later)["username"] == "ada"
    assert list(AuditEntry.objects.values_list("who", "what")) == 2 * [("ada", "signed in")]
    User.objects.update(is_active=False)
    assert provider.signs_in(http(), "4711") == "closed"


def test_an_account_that_is_there_is_connected_by_its_owner_and_by_nobody_else(
    provider: Provider, http: Http, me: httpx.Client, person: Person
) -> None:
    provider.knows("1", preferred_username="ME")
    assert provider.signs_in(http(), "1") == "name-taken"
    assert not who(me)["is_connected"]
    assert provider.signs_in(me, "1") == "" and who(me)["is_connected"] and who(me)["has_password"]
    again = http()
    assert provider.signs_in(again, "1") == "" and who(again)["username"] == "me"
    assert provider.signs_in(person("other", accounts.OBSERVER), "1") == "connected"


def test_groups_decide_about_roles_where_an_operator_says_what_they_mean(
    provider: Provider, http: Http, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLES", "gwas=coordinator, it=administrator, cn=all,ou=x=observer")
    with pytest.raises(SystemExit, match=r"got 'cn=all'; want NAME=administrator or"):
        environment.pairs("ROLES", accounts.ROLES)
    monkeypatch.setenv("ROLES", "gwas=coordinator, it=administrator")
    platform.UNPOOLED_OIDC_ROLES = environment.pairs("ROLES", accounts.ROLES)
    accounts.create("boss", "a long password 1", accounts.ADMINISTRATOR)

    def role_with(*groups: str) -> str:
        client = http()
        provider.knows("7", preferred_username="ada", groups=groups)
        return provider.signs_in(client, "7") or str(who(client)["role"])

    assert role_with("others") == "no-role" and not User.objects.filter(username="ada").exists()
    assert role_with("others", "gwas") == accounts.COORDINATOR
    assert role_with("gwas", "it") == accounts.ADMINISTRATOR
    assert role_with("gwas") == accounts.COORDINATOR
    assert role_with("it") == accounts.ADMINISTRATOR
    User.objects.filter(username="boss").update(is_active=False)
    assert role_with("gwas") == accounts.ADMINISTRATOR  # the last one
    assert role_with() == "no-role"


def test_nobody_comes_in_whom_the_provider_did_not_send_back_to_this_browser(
    provider: Provider, http: Http, me: httpx.Client
) -> None:
    provider.knows("4711", preferred_username="ada")
    assert provider.signs_in(http(), "4711", action="deny") == "provider"
    sent = httpx.post(http().post(AT).json()["url"], data={"sub": "4711"}).headers["Location"]
    stranger = http()
    stranger.get(sent)  # another browser than the one that began
    assert stranger.get(AT).json()["refusal"]["code"] == "provider"
    assert stranger.get("/api/v1/session").status_code == 401
    me.get(sent)
    assert not who(me)["is_connected"]


def test_a_token_that_is_over_a_name_that_none_has_and_a_provider_that_is_away_are_refused(
    platform: Any, http: Http
) -> None:
    for old in provided(platform, access_token_max_age=timedelta(days=-1)):
        old.knows("4711", preferred_username="ada")
        assert old.signs_in(http(), "4711") == "provider"
    for odd in provided(platform):
        odd.knows("4711", preferred_username="a b")
        assert odd.signs_in(http(), "4711") == "no-name"
    platform.UNPOOLED_OIDC_ISSUER = f"{platform.UNPOOLED_OIDC_ISSUER}/away"
    assert http().post(AT).json()["error"]["code"] == "provider"
    platform.UNPOOLED_OIDC_ISSUER = ""
    assert http().post(AT).status_code == 404
    assert http().get(AT).json()["name"] == ""
    assert not User.objects.exists()


@pytest.mark.parametrize("address", ["http://sso.example.org", "sso.example.org"])
def test_nobody_on_the_way_can_vouch_for_people(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Callable[[str], str] = environment.provider
    monkeypatch.setenv("ISSUER", address)
    with pytest.raises(SystemExit, match="want https"):
        read("ISSUER")
    monkeypatch.setenv("ISSUER", "https://sso.example.org/realms/x/")
    assert read("ISSUER") == "https://sso.example.org/realms/x"
