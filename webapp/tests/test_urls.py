"""Answers of addresses that are meant for anybody; who gets in where is in test_authorisation.py."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from signing_in import Http

from unpooled.protocol import VERSION
from unpooled_webapp import application

PAGE = "/studies/abc"  # one of the addresses that the browser application answers
OPEN = {"/health", PAGE, "/api/v1/session", "/api/v1/first-run"}
SIGN_IN_FIRST = {"error": {"code": "not-signed-in", "message": "Sign in first.", "remedy": ""}}


def test_what_anybody_may_ask_tells_nothing_but_this(http: Http) -> None:
    said = {address: http().get(address) for address in OPEN - {PAGE}}
    assert {address: (answer.status_code, answer.json()) for address, answer in said.items()} == {
        "/health": (200, {"status": "ok", "protocol": VERSION, "release": version("unpooled-webapp")}),
        "/api/v1/session": (401, SIGN_IN_FIRST),
        "/api/v1/first-run": (200, {"needed": True}),
    }


def test_the_page_is_the_same_for_everybody_at_every_address(http: Http) -> None:
    page = http().get(PAGE)
    built = application.PAGE.exists()
    told = application.PAGE.read_bytes() if built else application.NOT_BUILT.encode()
    assert (page.status_code, page.content) == (200 if built else 503, told)


@pytest.mark.parametrize("address", [PAGE, "/static/rest_framework/css/default.css"])
def test_headers_keep_browsers_in(http: Http, address: str) -> None:
    """The page can be had as a file, too."""
    answer = http().get(address)
    assert answer.status_code != 404
    headers = answer.headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"


def test_another_host_is_refused(http: Http) -> None:
    assert http().get(PAGE, headers={"Host": "evil.example"}).status_code == 400


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File of the built page."""
    page = tmp_path / "index.html"
    page.write_text("<!doctype html><title>Unpooled</title>")
    monkeypatch.setattr(application, "PAGE", page)
    return page


@pytest.mark.parametrize("address", ["/", "/sign-in", "/studies/abc/cohorts", "/first-run"])
def test_every_address_that_is_not_the_apis_gives_the_page(http: Http, built: Path, address: str) -> None:
    answer = http().get(address)
    assert (answer.status_code, answer.text) == (200, built.read_text())
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.headers["Cache-Control"] == "no-cache"


def test_the_page_may_run_its_own_scripts_and_nothing_else(http: Http, built: Path) -> None:
    rules = {
        name: words
        for name, *words in (
            part.split() for part in http().get("/").headers["Content-Security-Policy"].split(";")
        )
    }
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == ["'none'"]
    for name in ("script-src", "style-src", "connect-src", "font-src", "form-action"):
        assert rules[name] == ["'self'"]


@pytest.mark.parametrize("address", ["/api/v1/nothing", "/api/nothing", "/static/app/nothing.js"])
def test_what_is_not_there_is_not_there(http: Http, built: Path, address: str) -> None:
    assert http().get(address).status_code == 404


def test_a_page_takes_nothing(http: Http, built: Path) -> None:
    assert http().post("/sign-in").status_code in (403, 405)


def test_a_checkout_without_the_application_says_what_to_do(http: Http, built: Path) -> None:
    built.unlink()
    answer = http().get("/")
    assert answer.status_code == 503
    assert "scripts/build-frontend" in answer.text and "Node.js" in answer.text


def test_answers_of_the_api_are_asked_for_again(http: Http) -> None:
    assert http().get("/api/v1/session").headers["Cache-Control"] == "private, no-cache"
