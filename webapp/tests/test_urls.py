"""What addresses that are meant for anybody tell, and how; who gets in where is in test_authorisation.py."""

from __future__ import annotations

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
        "/health": (200, {"status": "ok", "protocol": VERSION}),
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
