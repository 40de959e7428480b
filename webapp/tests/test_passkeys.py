"""Passkeys: how one is added and signs somebody in, and everything about an answer that can be wrong."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pyotp
import pytest
from authenticator import PRESENT, Authenticator
from click.testing import CliRunner
from django.contrib.auth.models import User
from signing_in import PASSWORD, Http, Person, signed_in
from test_second_factor import AT as FACTOR

from unpooled_webapp import accounts, audit, passkeys
from unpooled_webapp.commands.administrator import administrator
from unpooled_webapp.models import Passkey

AT, SIGN_IN = "/api/v1/account/passkeys", "/api/v1/session/passkey"


def options_to_add(client: httpx.Client, **more: str) -> dict[str, Any]:
    answer = client.post(AT, json={"password": PASSWORD, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["options"])


def add(client: httpx.Client, device: Authenticator, **more: str) -> httpx.Response:
    made = device.make(options_to_add(client, **more))
    return client.put(AT, json={"name": "Laptop", "credential": made})


def options_to_sign_in(client: httpx.Client) -> dict[str, Any]:
    return dict(client.post(SIGN_IN).json()["options"])


def sign_in(http: Http, device: Authenticator) -> tuple[int, str]:
    client = http()
    return outcome(client.put(SIGN_IN, json={"credential": device.sign(options_to_sign_in(client))}))


def outcome(answer: httpx.Response) -> tuple[int, str]:
    """The status, and the refusal's code or who is signed in."""
    body = answer.json()
    return answer.status_code, body["error"]["code"] if "error" in body else body.get("username", "")


@pytest.fixture
def device(me: httpx.Client) -> Authenticator:
    """The device of somebody who has added its passkey."""
    device = Authenticator()
    answer = add(me, device)
    assert (answer.status_code, answer.json()["used_at"]) == (201, None), answer.text
    return device


@pytest.mark.services
def test_a_passkey_signs_in_by_itself_is_listed_audited_and_removed(
    me: httpx.Client, device: Authenticator, http: Http
) -> None:
    client = http()
    options = options_to_sign_in(client)
    assert (options["rpId"], options["userVerification"]) == ("localhost", "required")
    assert outcome(client.put(SIGN_IN, json={"credential": device.sign(options)})) == (200, "me")
    assert client.get("/api/v1/session").json()["username"] == "me"
    (row,) = me.get(AT).json()
    assert row["name"] == "Laptop" and row["used_at"]
    assert me.delete(f"{AT}/{row['id']}").status_code == 204 and me.get(AT).json() == []
    assert sign_in(http, device) == (401, "unknown-passkey")
    noted = [(line["who"], line["what"], line["status"]) for line in audit.lines()]
    assert [(who, what) for who, what, status in noted if status in (200, 201, 204)][-4:] == [
        ("me", f"POST {AT.removeprefix('/api/v1/')}"),
        ("me", f"PUT {AT.removeprefix('/api/v1/')}"),
        ("me", "PUT session/passkey"),
        ("me", "DELETE account/passkeys/<passkey>"),
    ]


def test_a_device_is_asked_for_a_passkey_that_names_the_person_and_for_no_second_one(
    me: httpx.Client, device: Authenticator
) -> None:
    options = options_to_add(me)
    assert options["rp"] == {"id": "localhost", "name": "Unpooled"} and options["user"]["name"] == "me"
    assert options["attestation"] == "none"
    chosen = options["authenticatorSelection"]
    assert (chosen["residentKey"], chosen["userVerification"]) == ("required", "required")
    made = device.make(options)
    assert [known["id"] for known in options["excludeCredentials"]] == [made["id"]]
    assert outcome(me.put(AT, json={"name": "Again", "credential": made})) == (409, "passkey-known")


def test_adding_one_takes_the_password_and_the_code_of_a_second_factor(me: httpx.Client, http: Http) -> None:
    assert outcome(me.post(AT, json={"password": "another one 123"})) == (401, "wrong-password")
    app = pyotp.TOTP(me.post(FACTOR).json()["secret"])
    codes = me.put(FACTOR, json={"code": app.now()}).json()["codes"]
    assert outcome(me.post(AT, json={"password": PASSWORD})) == (401, "code-wanted")
    device = Authenticator()
    assert add(me, device, code=codes[0]).status_code == 201
    assert sign_in(http, device) == (200, "me")


def test_a_challenge_is_good_once_for_five_minutes_in_its_session_and_for_its_purpose(
    me: httpx.Client, device: Authenticator, http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, other = http(), http()
    signed = {"credential": device.sign(options_to_sign_in(client))}
    assert outcome(other.put(SIGN_IN, json=signed)) == (401, "no-challenge")
    assert outcome(client.put(SIGN_IN, json=signed)) == (200, "me")
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
    assert outcome(client.put(SIGN_IN, json=signed)) == (401, "no-challenge")
    options_to_sign_in(client)
    assert outcome(client.put(SIGN_IN, json=signed)) == (401, "wrong-passkey")
    # Signing in asks for no password: its challenge must not let whoever holds a session add a passkey.
    options = options_to_sign_in(me) | {"user": {"id": "MQ"}}
    made = {"name": "x", "credential": Authenticator().make(options)}
    assert outcome(me.put(AT, json=made)) == (401, "no-challenge")
    late = {"credential": device.sign(options_to_sign_in(client))}
    now = time.time()
    monkeypatch.setattr(passkeys.time, "time", lambda: now + passkeys.SECONDS + 1)
    assert outcome(client.put(SIGN_IN, json=late)) == (401, "no-challenge")


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "https://localhost"},
        {"host": "example.org"},
        {"flags": PRESENT},
        {"user": b"0"},
        {"key": Authenticator().key},
    ],
)
def test_an_answer_of_another_site_person_or_key_is_refused(
    device: Authenticator, http: Http, change: dict[str, Any]
) -> None:
    right = {name: getattr(device, name) for name in change}
    vars(device).update(change)
    assert sign_in(http, device) == (401, "wrong-passkey")
    vars(device).update(right)
    assert sign_in(http, device) == (200, "me")


@pytest.mark.parametrize(
    "change", [{"origin": "https://localhost"}, {"host": "example.org"}, {"flags": PRESENT}]
)
def test_a_passkey_of_another_site_or_without_the_persons_proof_is_not_added(
    me: httpx.Client, change: dict[str, Any]
) -> None:
    assert outcome(add(me, Authenticator(**change))) == (401, "wrong-passkey")
    assert not Passkey.objects.exists()


def test_a_passkey_signs_nobody_else_in(device: Authenticator, http: Http, person: Person) -> None:
    other = person("other", accounts.OBSERVER)
    theirs = Authenticator()
    assert add(other, theirs).status_code == 201
    taken = Authenticator(credential=device.credential)
    assert outcome(add(other, taken)) == (409, "passkey-known")
    theirs.credential = device.credential
    assert sign_in(http, theirs) == (401, "wrong-passkey")
    theirs.user = device.user
    assert sign_in(http, theirs) == (401, "wrong-passkey")
    (row,) = other.get(AT).json()
    assert signed_in(http, "me").delete(f"{AT}/{row['id']}").status_code == 404


def test_a_count_that_goes_back_tells_of_a_copy(device: Authenticator, http: Http) -> None:
    device.count = 6
    assert sign_in(http, device) == (200, "me")
    for back in (6, 2):
        device.count = back
        assert sign_in(http, device) == (401, "wrong-passkey")
    assert Passkey.objects.get().sign_count == 7


@pytest.mark.parametrize(
    "damage", [{"id": "\0"}, {"response": {}}, {"response": {"authenticatorData": "AA"}}]
)
def test_an_answer_that_is_none_is_refused(
    me: httpx.Client, device: Authenticator, http: Http, damage: dict[str, Any]
) -> None:
    client = http()
    signed = device.sign(options_to_sign_in(client)) | damage
    assert outcome(client.put(SIGN_IN, json={"credential": signed})) == (401, "wrong-passkey")
    made = device.make(options_to_add(me)) | damage
    assert outcome(me.put(AT, json={"name": "x", "credential": made})) == (401, "wrong-passkey")


def test_passkeys_go_with_a_closed_account_and_with_a_password_that_somebody_else_sets(
    device: Authenticator, me: httpx.Client, http: Http, person: Person
) -> None:
    User.objects.filter(username="me").update(is_active=False)
    assert sign_in(http, device) == (401, "unknown-passkey")
    User.objects.filter(username="me").update(is_active=True)
    boss = person("boss", accounts.ADMINISTRATOR)
    for reset in (
        lambda: boss.patch("/api/v1/people/me", json={"password": PASSWORD}),
        lambda: CliRunner().invoke(administrator, ["me"], env={"UNPOOLED_ADMIN_PASSWORD": PASSWORD}),
    ):
        assert sign_in(http, device) == (200, "me")
        reset()
        assert sign_in(http, device) == (401, "unknown-passkey")
        assert add(signed_in(http, "me"), device).status_code == 201


def test_passkeys_are_for_the_public_address_and_not_for_plain_http(
    me: httpx.Client, http: Http, platform: Any
) -> None:
    platform.UNPOOLED_PUBLIC_URL = "https://studies.example.org"
    device = Authenticator(origin="https://studies.example.org", host="studies.example.org")
    assert add(me, device).status_code == 201
    assert sign_in(http, device) == (200, "me")
    platform.UNPOOLED_PUBLIC_URL = "http://studies.example.org"
    assert outcome(http().post(SIGN_IN)) == (400, "not-https")
    assert outcome(me.post(AT, json={"password": PASSWORD})) == (400, "not-https")


def test_one_address_cannot_try_without_end_and_its_own_sign_ins_count_for_nothing(
    device: Authenticator, http: Http
) -> None:
    for _ in range(accounts.TRIES_PER_ADDRESS + 1):
        assert sign_in(http, device) == (200, "me")
    begun = [http().post(SIGN_IN).status_code for _ in range(accounts.TRIES_PER_ADDRESS + 1)]
    assert begun == [200] * accounts.TRIES_PER_ADDRESS + [429]
