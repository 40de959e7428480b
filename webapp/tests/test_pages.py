"""The plain pages: sign in, the list of studies, one study and its files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from federation_fixtures import Federation

from unpooled_webapp import accounts

Make = Callable[..., Federation]
PASSWORD = "a long password 1"


@pytest.fixture
def browser(http: Callable[[], httpx.Client], coordinator: Any) -> httpx.Client:
    """Signed in as the coordinator."""
    client = http()
    assert sign_in(client, "coordinator", PASSWORD).headers["Location"] == "/"
    return client


def sign_in(client: httpx.Client, name: str, password: str, target: str = "/") -> httpx.Response:
    page = client.get("/sign-in", params={"next": target})
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token[1], "next": target}
    return client.post("/sign-in", data=form, headers={"Referer": "http://localhost/sign-in"})


def test_pages_send_strangers_to_the_sign_in(http: Callable[[], httpx.Client]) -> None:
    assert http().get("/").headers["Location"] == "/sign-in?next=/"


def test_a_wrong_password_is_said(http: Callable[[], httpx.Client], coordinator: Any) -> None:
    answer = sign_in(http(), "coordinator", "wrong")
    assert answer.status_code == 401
    assert "User name or password is wrong." in answer.text


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_signing_in_leads_nowhere_else(
    http: Callable[[], httpx.Client], coordinator: Any, target: str
) -> None:
    assert sign_in(http(), "coordinator", PASSWORD, target).headers["Location"] == "/"


def test_an_empty_list_says_how_to_go_on(browser: httpx.Client) -> None:
    assert "There is no study yet" in browser.get("/").text


def test_a_study_with_its_progress_and_files(browser: httpx.Client, federation: Make) -> None:
    trial = federation()
    page = browser.get("/").text
    assert f'<a href="/studies/{trial.study_id}">Trial</a>' in page
    assert "0 of 3" in page
    running = browser.get(f"/studies/{trial.study_id}").text
    assert "waiting for Graz, Oslo, Tartu" in running and 'http-equiv="refresh"' in running
    trial.run()
    page = browser.get(f"/studies/{trial.study_id}").text
    assert 'http-equiv="refresh"' not in page
    assert "this study is not blind" in page
    link = f"/studies/{trial.study_id}/results/study.assoc"
    assert link in page
    assert browser.get(link).content.startswith(b" CHR")
    assert browser.get(link + "x").status_code == 404


def test_a_study_of_somebody_else_is_not_there(
    http: Callable[[], httpx.Client], federation: Make, platform: Any
) -> None:
    trial = federation()
    accounts.create("other", PASSWORD, accounts.COORDINATOR)
    stranger = http()
    sign_in(stranger, "other", PASSWORD)
    assert stranger.get(f"/studies/{trial.study_id}").status_code == 404
    assert trial.study_id not in stranger.get("/").text


def test_names_are_shown_as_text(browser: httpx.Client, federation: Make) -> None:
    from unpooled_server.services import studies

    trial = federation()
    studies.change(trial.study, "coordinator", name="<script>alert(1)</script>")
    assert "<script>" not in browser.get("/").text
    assert "<script>" not in browser.get(f"/studies/{trial.study_id}").text


def test_signing_out(browser: httpx.Client) -> None:
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get("/").text)
    assert token
    browser.post("/sign-out", data={"csrfmiddlewaretoken": token[1]})
    assert browser.get("/").status_code == 302


def test_the_style_is_served(browser: httpx.Client) -> None:
    assert "color-scheme: light dark" in browser.get("/static/unpooled/style.css").text


def test_health(http: Callable[[], httpx.Client]) -> None:
    assert http().get("/health").json() == {"status": "ok", "protocol": 1}
