"""Authorisation: every method of every route, for everybody who might come by.

The table is written by hand from compensator/README.md: without the caller's secret nobody is told more than
whether the service runs. A cell is `+` where the principal is let in, else the status that refuses. A route
or method that the table does not list fails, and so does a cell that is not so.
"""

from __future__ import annotations

import itertools
import re
import secrets
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from unpooled.protocol import codec, oprf, two_party
from unpooled_compensator import app

from .conftest import HEADERS, SECRET, Caller, Federation

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
POINT = oprf.point(b"a word")
TOKEN = secrets.token_urlsafe(32)  # what a cohort's invitation holds, or another compensator's caller has

ODD = (
    *("", "Bearer", "Bearer ", "Bearer wrong", SECRET, "Bearer \xff", f"Bearer {SECRET[:-1]}"),
    *(f"Bearer {SECRET}0", f"Bearer {SECRET} {SECRET}"),
)
"""Nearly what the caller says."""

# As a cohort, a person, and the server itself would come: only the last has the secret.
PRINCIPALS: dict[str, dict[str, str]] = {
    "nobody": {},
    "cohort": {"authorization": f"Bearer {TOKEN}", "unpooled-client": "0" * 32},
    "person": {"cookie": f"sessionid={SECRET}; csrftoken={SECRET}", "x-csrftoken": SECRET},
    "wrong": {"authorization": f"Bearer {SECRET[:-1]}0"},
    "basic": {"authorization": f"Basic {SECRET}"},
    **{word: {"authorization": word} for word in ODD},
    "caller": {"authorization": f"Bearer {SECRET}"},
}

TABLE = """
others caller
+      +       GET /
+      +       HEAD /
+      +       GET /health
+      +       HEAD /health
+      +       GET /live
+      +       HEAD /live
+      +       GET /ready
+      +       HEAD /ready
401    401     GET /metrics
401    401     HEAD /metrics
401    +       PUT /v1/studies/{study}/boxes
401    +       POST /v1/studies/{study}/releases
401    +       POST /v1/studies/{study}/codes
401    +       POST /v1/studies/{study}/comparisons
401    +       POST /v1/studies/{study}/comparisons/{round:nth}/turns/{number:nth}
401    +       DELETE /v1/studies/{study}
"""


def rows() -> dict[tuple[str, str], dict[str, str]]:
    _, *lines = TABLE.strip().splitlines()
    found = {}
    for line in lines:
        others, caller, method, route = line.split()
        found[method, route] = dict.fromkeys(PRINCIPALS, others) | {"caller": caller}
    return found


ROWS = rows()


def routes(caller: Caller) -> set[str]:
    """The addresses of the application, below what only writes its log."""
    inner: Any = caller.client.app._app  # type: ignore[attr-defined]
    assert isinstance(inner, Starlette)
    assert all(isinstance(route, Route) for route in inner.routes)
    return {route.path for route in inner.routes}  # type: ignore[attr-defined]


def outcome(caller: Caller, study: Federation, principal: str, method: str, route: str) -> str:
    """Return the answer to a principal who knows all but the secret: the right body, the right study."""
    record = {
        "boxes": study.enrolment,
        "releases": study.request,
        "codes": lambda: study.codes(study.names[0], POINT),
    }.get(route.rpartition("/")[2], study.request)()
    body = codec.encode(record)
    if route.endswith("comparisons"):
        opening = codec.encode(request := study.opening())
        size = two_party.lengths(request.scheme, request.circuit, request.words).server[0]
        body = len(opening).to_bytes(4, "little") + opening + bytes(size)
    headers: Any = {"content-type": HEADERS["content-type"]}
    headers |= {name: said.encode("latin-1") for name, said in PRINCIPALS[principal].items()}
    address = re.sub("{([a-z]+):nth}", "1", route).format(study=study.study)
    answer = caller.client.request(method, address, content=body, headers=headers, follow_redirects=False)
    let_in = answer.is_success or answer.status_code in (409, 410)  # another use of the round; the end
    return "+" if let_in else str(answer.status_code)


def surprises(caller: Caller, study: Federation) -> list[str]:
    """Return what differs from the table. The caller's own cells come last, in the order of a study."""
    return [
        f"{principal}: {method} {route}: got {got}; want {expected[principal]}"
        for principal, ((method, route), expected) in itertools.product(PRINCIPALS, ROWS.items())
        if (got := outcome(caller, study, principal, method, route)) != expected[principal]
    ]


def test_every_route_is_in_the_table(caller: Caller) -> None:
    assert routes(caller) == {route for _, route in ROWS}


def test_every_method_is_in_the_table(caller: Caller, enrolled: Federation) -> None:
    for route, method in itertools.product(sorted(routes(caller)), METHODS):
        if (method, route) not in ROWS:
            got = {who: outcome(caller, enrolled, who, method, route) for who in PRINCIPALS}
            assert set(got.values()) == {"405"}, (method, route, got)


def test_everybody_gets_in_where_the_table_says_and_nowhere_else(
    caller: Caller, enrolled: Federation
) -> None:
    assert surprises(caller, enrolled) == []


def test_a_service_that_checks_no_secret_is_noticed(
    caller: Caller, enrolled: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app._Routes, "_check_caller", lambda self, request: None)
    found = surprises(caller, enrolled)
    assert {line.partition(":")[0] for line in found} == set(PRINCIPALS) - {"caller"}
    assert "nobody: POST /v1/studies/{study}/releases: got +; want 401" in found


def test_a_route_that_is_not_in_the_table_is_noticed(caller: Caller) -> None:
    inner: Any = caller.client.app._app  # type: ignore[attr-defined]
    inner.router.routes.append(Route("/v1/masks", lambda request: None))
    assert routes(caller) - {route for _, route in ROWS} == {"/v1/masks"}
