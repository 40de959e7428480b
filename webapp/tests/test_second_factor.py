"""A second factor: the codes of an app, each good once, recovery codes, and how it is turned off."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pyotp
import pytest
from click.testing import CliRunner
from django.contrib.auth.models import User
from signing_in import PASSWORD, Http, Person, signed_in

from unpooled_webapp import accounts, second_factor
from unpooled_webapp.commands.administrator import administrator

AT = "/api/v1/account/second-factor"


class Clock:
    now = time.time()

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(second_factor, "time", clock)
    return clock


def wrong_codes(app: pyotp.TOTP, clock: Clock) -> list[str]:
    """Codes that the app shows at none of the times that count."""
    right = {app.at(clock.now + k * app.interval) for k in (-1, 0, 1)}
    return sorted({f"{k:06}" for k in range(10)} - right)


def sign_in(http: Http, **content: str) -> tuple[int, str]:
    answer = http().post("/api/v1/session", json={"username": "me", "password": PASSWORD, **content})
    body = answer.json()
    return answer.status_code, body.get("error", body).get("code", "")


@pytest.fixture
def on(me: httpx.Client, clock: Clock) -> tuple[pyotp.TOTP, list[str]]:
    """The app of somebody who has turned it on, and the recovery codes."""
    made = me.post(AT).json()
    app = pyotp.TOTP(made["secret"])
    assert {len(row) for row in made["picture"]} == {len(made["picture"])} and len(made["picture"]) > 20
    assert me.put(AT, json={"code": wrong_codes(app, clock)[0]}).json()["error"]["code"] == "wrong-code"
    answer = me.put(AT, json={"code": app.at(clock.now)})
    clock.now += app.interval
    return app, answer.json()["codes"]


def test_who_has_one_signs_in_with_password_and_code_and_each_code_is_good_once(
    on: tuple[pyotp.TOTP, list[str]], clock: Clock, http: Http, me: httpx.Client
) -> None:
    app, recovery = on
    assert me.get("/api/v1/session").json()["has_second_factor"] is True
    assert sign_in(http) == (401, "code-wanted")
    assert sign_in(http, password="another one 123", code=app.at(clock.now)) == (401, "wrong-password")
    assert sign_in(http, code=app.at(clock.now)) == (200, "")
    assert sign_in(http, code=app.at(clock.now)) == (401, "wrong-code")
    assert sign_in(http, code=app.at(clock.now - app.interval)) == (401, "wrong-code")  # older than that one
    assert sign_in(http, code=app.at(clock.now + app.interval)) == (200, "")
    assert sign_in(http, code=wrong_codes(app, clock)[0]) == (401, "wrong-code")
    assert sign_in(http, code=recovery[0].upper()) == (200, "")
    assert sign_in(http, code=recovery[0]) == (401, "wrong-code")
    assert len(set(recovery)) == second_factor.RECOVERY_CODES
    stored = str(User.objects.get(username="me").second_factor.__dict__)
    assert app.secret not in stored and not any(code in stored for code in recovery)


def test_codes_cannot_be_tried_one_after_the_other(
    on: tuple[pyotp.TOTP, list[str]], clock: Clock, http: Http
) -> None:
    app, recovery = on
    wrong = wrong_codes(app, clock)[: second_factor.TRIES]
    assert {sign_in(http, code=code) for code in wrong} == {(401, "wrong-code")}
    assert sign_in(http, code=recovery[0]) == (429, "too-many-tries")


def test_it_is_turned_off_with_a_code_or_by_an_administrator_or_on_the_platforms_machine(
    on: tuple[pyotp.TOTP, list[str]], clock: Clock, me: httpx.Client, http: Http, person: Person
) -> None:
    app, recovery = on
    assert me.post(AT).json()["error"]["code"] == "second-factor-on"
    assert me.post(f"{AT}/off", json={"code": wrong_codes(app, clock)[0]}).status_code == 401
    assert me.post(f"{AT}/off", json={"code": recovery[0]}).status_code == 204
    assert sign_in(http) == (200, "")
    boss = person("boss", accounts.ADMINISTRATOR)
    for turn_off in (
        lambda: boss.patch("/api/v1/people/me", json={"drop_second_factor": True}),
        lambda: CliRunner().invoke(administrator, ["me"], env={"UNPOOLED_ADMIN_PASSWORD": PASSWORD}),
    ):
        again = signed_in(http, "me")
        app = pyotp.TOTP(again.post(AT).json()["secret"])
        assert again.put(AT, json={"code": app.at(clock.now)}).status_code == 200
        assert sign_in(http) == (401, "code-wanted")
        turn_off()
        assert sign_in(http) == (200, "")


def test_nothing_is_confirmed_that_was_not_begun(me: httpx.Client) -> None:
    answer: Any = me.put(AT, json={"code": "123456"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no-second-factor")
