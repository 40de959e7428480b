"""Authorisation: every method of every route, for every kind of principal.

The tables are written by hand from docs/api.md and SECURITY.md. A cell is `+` where the principal is let in,
whatever the answer then says of the form or the study's state, else the status that refuses it. A route or a
method that no table lists fails, and so does a cell that is not so. Who may not read the study never sees its
ID in an answer.

The study that all rows are about is done, has a list and pictures, and one of its cohorts is revoked.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from cohort_client import RAW
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import URLPattern, URLResolver, get_resolver, path
from django.utils import timezone
from federation_fixtures import Federation, variants, work
from platform_fixtures import SECRET, leave_an_example, session_headers
from rest_framework.permissions import AllowAny
from signing_in import PASSWORD, Http

from unpooled.protocol import VERSION
from unpooled_server.cohort_api import admission
from unpooled_server.models import Cohort, Round, Study
from unpooled_server.services import invitations
from unpooled_webapp import accounts, application, tokens
from unpooled_webapp.api import access, methods, people, studies
from unpooled_webapp.demonstration import service
from unpooled_webapp.models import ApiToken, Channel, ChannelKind, Passkey, Scope

API = "/api/v1/"
PAGE = "/<page>"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
BEARERS = ("cohort", "other", "revoked", "caller", "wrong")
"""A token of the study, of another one, a revoked one; the compensator's caller secret; a made-up one."""

TOKENS = ("reads", "changes")
"""API tokens of the owner, one of each scope. They open the addresses that have a row with `reads`."""
DEAD = ("expired", "unknown", "of closed")
"""API tokens that are good for nothing: they are to fare as nobody does."""

ROLES = {
    "norole": "",  # signed in, and no more: may watch what somebody lets them watch
    "elsewhere": accounts.COORDINATOR,  # of another study
    "observer": accounts.OBSERVER,
    "watcher": accounts.COORDINATOR,  # who observes the study
    "owner": accounts.COORDINATOR,
    "admin": accounts.ADMINISTRATOR,
    "closed": accounts.ADMINISTRATOR,  # whose account was closed while they were signed in
}
FORGED = "forged"  # the owner's cookies, sent by a foreign page that has no CSRF token
PEOPLE = (*ROLES, FORGED)
ALL = ("nobody", *PEOPLE, *BEARERS, *TOKENS, *DEAD)
MAY_READ = {"observer", "watcher", "owner", "admin", FORGED, "cohort", *TOKENS}

# One column stands for several principals that must fare alike.
COLUMNS = {
    "outside": ("nobody", "closed", *BEARERS, *DEAD),
    "people": PEOPLE,
    "tokens": TOKENS,
    "nobody": ("nobody", *TOKENS, *DEAD),
    "anybody": ALL,
}

# Last comes what deletes the study's files: rows are rolled back, files are not.
TABLES = (
    """
anybody
+        GET /health
+        GET /<page>
""",
    # With a session only.
    """
outside norole elsewhere observer watcher owner forged admin tokens
401     +      +         +        +       +     +      +     401    GET schema
401     +      +         +        +       +     +      +     401    GET session
+       +      +         +        +       +     403    +     +      POST session
+       +      +         +        +       +     403    +     +      DELETE session
401     +      +         +        +       +     403    +     401    POST session/password
+       +      +         +        +       +     +      +     +      GET session/provider
404     404    404       404      404     404   403    404   404    POST session/provider
+       +      +         +        +       +     +      +     +      GET session/provider/back
+       +      +         +        +       +     +      +     +      GET first-run
+       +      +         +        +       +     403    +     +      POST first-run
401     +      +         +        +       +     +      +     401    GET demo
401     403    +         403      +       +     403    +     401    POST demo
401     403    +         403      +       +     +      +     401    GET example
401     403    +         403      +       +     403    +     401    POST foreseen
401     403    403       403      403     403   403    +     401    GET people
401     403    403       403      403     403   403    +     401    POST people
401     403    403       403      403     403   403    +     401    PATCH people/<username>
401     403    403       403      403     403   403    +     401    GET platform
401     403    403       403      403     403   403    +     401    POST platform/sweep
401     +      +         +        +       +     403    +     401    PATCH session
+       +      +         +        +       +     403    +     +      POST session/passkey
+       +      +         +        +       +     403    +     +      PUT session/passkey
401     +      +         +        +       +     +      +     401    GET account/passkeys
401     +      +         +        +       +     403    +     401    POST account/passkeys
401     +      +         +        +       +     403    +     401    PUT account/passkeys
401     404    404       404      404     +     403    404   401    DELETE account/passkeys/<passkey>
401     +      +         +        +       +     403    +     401    POST account/second-factor
401     +      +         +        +       +     403    +     401    PUT account/second-factor
401     +      +         +        +       +     403    +     401    POST account/second-factor/off
401     +      +         +        +       +     +      +     401    GET account/tokens
401     +      +         +        +       +     403    +     401    POST account/tokens
401     404    404       404      404     +     403    404   401    DELETE account/tokens/<token>
401     +      +         +        +       +     +      +     401    GET account/channels
401     +      +         +        +       +     403    +     401    POST account/channels
401     404    404       404      404     +     403    404   401    PATCH account/channels/<channel>
401     404    404       404      404     +     403    404   401    DELETE account/channels/<channel>
401     404    404       404      404     +     403    404   401    POST account/channels/<channel>/trial
401     +      +         +        +       +     +      +     401    GET account/deliveries
401     404    404       +        +       +     403    +     401    PUT studies/<study>/following
401     404    404       +        +       +     403    +     401    DELETE studies/<study>/following
401     404    404       403      403     +     403    +     401    PUT studies/<study>/cohorts/<cohort>/compared
401     404    404       403      403     +     403    +     401    PUT studies/<study>/compensator/compared
""",  # noqa: E501
    # With a session, or an API token of its scope.
    """
outside norole elsewhere observer watcher owner forged admin reads changes
401     +      +         +        +       +     +      +     +     +       GET methods
401     +      +         +        +       +     +      +     +     +       GET studies
401     403    +         403      +       +     403    +     403   +       POST studies
401     404    404       +        +       +     +      +     +     +       GET studies/<study>
401     404    404       403      403     +     403    +     403   +       PATCH studies/<study>
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/start
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/overlap
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/pause
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/resume
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/abort
401     404    404       403      +       +     403    +     403   +       POST studies/<study>/duplicate
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/repeat
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/repeat-without
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/archive
401     404    404       403      403     +     403    +     403   +       DELETE studies/<study>/archive
401     404    404       403      403     +     403    +     403   +       PUT studies/<study>/list
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/invitations
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/invitations
401     404    404       403      403     +     403    +     403   +       DELETE studies/<study>/invitations/<cohort>
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/invitations/<cohort>/revoke
401     404    404       403      403     +     403    +     403   +       POST studies/<study>/invitations/<cohort>/reissue
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/progress
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/traffic
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/leaving
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/parties
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/log
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/table
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/manhattan
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/region
401    404    404       +        +       +     +      +     +     +       GET studies/<study>/surroundings
401    404    404       +        +       +     +      +     +     +       GET studies/<study>/places
401    404    404       +        +       +     +      +     +     +       GET studies/<study>/compared/<other>
401    404    404       +        +       +     +      +     +     +       GET studies/<study>/results.zip
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/qq
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/variants
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/loci.csv
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/results
401     404    404       +        +       +     +      +     +     +       GET studies/<study>/results/<name>
""",  # noqa: E501
    # A cohort of another study is let in to that: it has no panel, no list, no results, and not this round.
    # Neither study is repeated; and of one that has ended no sums are told any more.
    """
nobody people caller wrong revoked other cohort
401    401    401    401   401     +     +      GET cohort/study
401    401    401    401   401     +     +      POST cohort/join
401    401    401    401   401     404   404    POST cohort/repetition
401    401    401    401   401     +     +      POST cohort/accept
401    401    401    401   401     +     +      PUT cohort/sealed
401    401    401    401   401     +     +      GET cohort/keys
401    401    401    401   401     +     +      GET cohort/boxes
401    401    401    401   401     +     +      POST cohort/problem
401    401    401    401   401     +     +      POST cohort/timing
401    401    401    401   401     +     +      GET cohort/traffic
401    401    401    401   401     +     +      PUT cohort/panel/digest
401    401    401    401   401     +     +      PUT cohort/panel/list
401    401    401    401   401     404   +      GET cohort/panel
401    401    401    401   401     404   +      GET cohort/list
401    401    401    401   401     +     +      GET cohort/questions
401    401    401    401   401     404   404    GET cohort/told/<place>
401    401    401    401   401     404   404    GET cohort/shown/<place>
401    401    401    401   401     404   +      PUT cohort/shares/<round_id>
401    401    401    401   401     404   +      PUT cohort/dealings/<round_id>
401    401    401    401   401     404   404    GET cohort/shares/<round_id>/all
401    401    401    401   401     404   404    PUT cohort/helps/<round_id>
401    401    401    401   401     404   404    PUT cohort/codes/<column>
401    401    401    401   401     404   +      GET cohort/results/<name>
""",
    """
outside norole elsewhere observer watcher owner forged admin reads changes
401     404    404       403      403     +     403    +     403   +       DELETE studies/<study>
""",
)


@dataclass(frozen=True)
class Row:
    method: str
    route: str
    expected: dict[str, str] = field(hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


def rows_of(table: str) -> Iterator[Row]:
    head, *lines = table.strip().splitlines()
    columns = head.split()
    for line in lines:
        *cells, method, route = line.split()
        expected: dict[str, str] = {}
        for column, cell in zip(columns, cells, strict=True):
            expected |= dict.fromkeys(COLUMNS.get(column, (column,)), cell)
        yield Row(method, route if route.startswith("/") else API + route, expected)


ROWS = [row for table in TABLES for row in rows_of(table)]


def routes(patterns: list[Any], prefix: str = "/") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, prefix + str(pattern.pattern))
        elif pattern.callback is application.page:
            yield PAGE
        elif isinstance(pattern, URLPattern):
            yield re.sub(r"<\w+:(\w+)>", r"<\1>", prefix + str(pattern.pattern))


def is_of_cohorts(route: str) -> bool:
    return route.startswith(API + "cohort/")


def all_routes() -> list[Any]:
    return list(get_resolver("unpooled_webapp.urls").url_patterns)


@dataclass
class World:
    http: Http
    study: str
    places: dict[str, str]
    headers: dict[str, dict[str, str]]

    def ask(self, principal: str, method: str, route: str) -> httpx.Response:
        """The answer to a request with an empty form. What it changes in the database is taken back."""
        address = re.sub(r"<(\w+)>", lambda found: self.places[found[1]], route)
        headers = {"Unpooled-Protocol": str(VERSION)} | self.headers[principal]
        content: dict[str, Any] = {"json": {}}
        if any(part in route for part in ("/shares/", "/dealings/", "/codes/", "/helps/")):
            content, headers = {"content": b""}, headers | RAW
        with transaction.atomic():
            answer = self.http().request(method, address, headers=headers, **content)
            transaction.set_rollback(True)
        return answer

    def surprises(self, rows: list[Row], ask: Callable[[Row], Iterable[str]] = lambda row: ALL) -> list[str]:
        """Return the outcomes that differ from the rows, for the principals that ask."""
        return [
            f"{principal}: {row}: got {got}; want {row.expected[principal]}"
            for row in rows
            for principal in ask(row)
            if (got := self.outcome(principal, row)) != row.expected[principal]
        ]

    def outcome(self, principal: str, row: Row) -> str:
        answer = self.ask(principal, row.method, row.route)
        if principal not in MAY_READ and self.study in answer.text:
            return "the study's ID"
        failed = answer.status_code >= 500 and row.route != PAGE  # which may not be built
        return str(answer.status_code) if failed or answer.status_code in (401, 403, 404, 405) else "+"


@pytest.fixture
def world(http: Http, platform: Any, federation: Callable[..., Federation]) -> Iterator[World]:
    ours = federation(panel_mode="list", panel_list=variants())
    for client in ours.clients:  # each has the whole list, which is what it is asked first
        everything = len(client.own)
        ours.extra[client.invitation.token, b""] = client.data(
            np.arange(everything), np.zeros(everything, bool)
        )
    ours.run()
    work()
    theirs = federation()
    theirs.join()
    assert (ours.study.state, theirs.study.state) == ("done", "open")
    revoked = ours.clients[2]
    invitations.revoke(ours.study, Cohort.objects.get(study=ours.study, name="Tartu"), "coordinator")

    headers: dict[str, dict[str, str]] = {"nobody": {}}
    for name, role in ROLES.items():
        headers[name] = signed_in(http(), name, role)
    headers[FORGED] = {"Cookie": headers["owner"]["Cookie"]}
    Study.objects.filter(pk=ours.study_id).update(owner=User.objects.get(username="owner"))
    Study.objects.filter(pk=theirs.study_id).update(owner=User.objects.get(username="elsewhere"))
    ours.study.observers.set(User.objects.filter(username__in=["observer", "watcher"]))
    User.objects.filter(username="closed").update(is_active=False)

    cohorts = {"cohort": ours.clients[0], "other": theirs.clients[0], "revoked": revoked}
    for name, client in cohorts.items():
        headers[name] = bearer(client.invitation.token, client.instance)
    headers["caller"], headers["wrong"] = bearer(SECRET), bearer("wrong")
    headers |= api_tokens()

    platform.UNPOOLED_DEMO_ADDRESS = "http://localhost"
    leave_an_example(Path(platform.UNPOOLED_HOME))
    places = {
        "page": f"studies/{ours.study_id}",
        "study": ours.study_id,
        "other": ours.study_id,
        "cohort": "Graz",
        "name": "study.assoc",
        "username": "observer",
        "token": str(ApiToken.objects.get(name="reads").pk),
        "channel": str(channel_of("owner").pk),
        "passkey": str(passkey_of("owner").pk),
        "column": "0",
        "place": "0.0",
        "round_id": str(Round.objects.filter(study=ours.study_id)[0].pk),
    }
    with service._lock():  # whoever may run a demo sees that one runs
        yield World(http, ours.study_id, places, headers)


def signed_in(client: httpx.Client, name: str, role: str) -> dict[str, str]:
    user = User.objects.create_user(name, password=PASSWORD)
    if role:
        accounts.set_role(user, role)
    return session_headers(client, name, PASSWORD)


def bearer(token: str, instance: str = "") -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Unpooled-Client": instance or os.urandom(16).hex()}


def api_tokens() -> dict[str, dict[str, str]]:
    """Headers with the owner's tokens, and with tokens that are good for nothing."""
    owner, closed = (User.objects.get(username=name) for name in ("owner", "closed"))
    issued = {
        "reads": tokens.issue(owner, "reads", Scope.READ, 1),
        "changes": tokens.issue(owner, "changes", Scope.CHANGE, 1),
        "expired": tokens.issue(owner, "expired", Scope.CHANGE, 1),
        "of closed": tokens.issue(closed, "of closed", Scope.CHANGE, 1),
    }
    ApiToken.objects.filter(name="expired").update(expires_at=timezone.now())
    texts = {name: text for name, (_, text) in issued.items()} | {"unknown": "unpooled_unknown"}
    return {name: {"Authorization": f"Bearer {text}"} for name, text in texts.items()}


def channel_of(name: str) -> Channel:
    user = User.objects.get(username=name)
    return Channel.objects.create(user=user, kind=ChannelKind.WEBHOOK, address="https://example.org/")


def passkey_of(name: str) -> Passkey:
    user = User.objects.get(username=name)
    return Passkey.objects.create(user=user, credential=b"0", public_key=b"", sign_count=0)


def unlisted(patterns: list[Any], rows: list[Row]) -> set[str]:
    return set(routes(patterns)) ^ {row.route for row in rows}


def test_every_route_is_in_the_matrix_once() -> None:
    assert unlisted(all_routes(), ROWS) == set()
    assert len(set(ROWS)) == len(ROWS)
    assert all(set(row.expected) == set(ALL) for row in ROWS)


def test_a_route_that_is_not_in_the_matrix_is_noticed() -> None:
    new = path("api/v1/studies/<str:study>/shares", studies.StudyView.as_view())
    assert unlisted([*all_routes(), new], ROWS) == {"/api/v1/studies/<study>/shares"}


def test_every_method_is_in_the_matrix(world: World) -> None:
    """Every other one is refused as no method, to an administrator and to a cohort."""
    listed = {(row.method, row.route) for row in ROWS}
    for route, method in itertools.product(sorted(set(routes(all_routes()))), METHODS):
        principal = "cohort" if is_of_cohorts(route) else "admin"
        if (method, route) not in listed:
            assert world.ask(principal, method, route).status_code == 405, (method, route)
            assert world.ask("nobody", method, route).status_code in (401, 403, 405), (method, route)


def test_everybody_gets_in_where_the_matrix_says_and_nowhere_else(world: World) -> None:
    assert world.surprises(ROWS) == []


def one_of_each(row: Row) -> Iterable[str]:
    """Choose one principal for each answer that a row has."""
    return {expected: principal for principal, expected in row.expected.items()}.values()


def test_head_and_options_are_no_way_round(world: World) -> None:
    heads = [
        Row("HEAD", row.route, dict.fromkeys(ALL, "405") if is_of_cohorts(row.route) else row.expected)
        for row in ROWS
        if row.method == "GET"
    ]
    assert world.surprises(heads, one_of_each) == []
    for route in {row.route for row in ROWS} - {row.route for row in ROWS if row.expected["nobody"] == "+"}:
        refused = "405" if is_of_cohorts(route) else "401"
        assert world.outcome("nobody", Row("OPTIONS", route, {})) == refused, route


def test_a_study_of_somebody_else_is_as_one_that_is_not_there(world: World) -> None:
    hidden = [row for row in ROWS if "<study>" in row.route and row.expected["elsewhere"] == "404"]

    def told() -> list[dict[str, Any]]:
        return [world.ask("elsewhere", row.method, row.route).json() for row in hidden]

    of_somebody_else = told()
    world.places["study"] = "0" * 16
    assert of_somebody_else == told() != []


def surprised(world: World, *routes: str) -> set[str]:
    """The principals that fare otherwise than these rows say."""
    found = world.surprises([row for row in ROWS if str(row) in routes])
    return {line.partition(":")[0] for line in found}


def test_whatever_lets_too_many_in_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as views:
        views.setattr(people.PeopleView, "permission_classes", (AllowAny,))
        assert surprised(world, "GET /api/v1/people") == set(ALL) - {"admin"}
        views.setattr(methods.MethodsView, "permission_classes", (AllowAny,))
        assert surprised(world, "GET /api/v1/methods") == {"nobody", "closed", *BEARERS}
    with monkeypatch.context() as choice:
        choice.setattr(studies, "visible", lambda request, study: Study.objects.get(pk=study))
        assert surprised(world, "GET /api/v1/studies/<study>/log") == {"norole", "elsewhere"}
        choice.setattr(studies, "own", access.visible)
        assert surprised(world, "POST /api/v1/studies/<study>/start") == {"observer", "watcher"}
    with monkeypatch.context() as door:  # it asks for no token
        graz = Cohort.objects.get(study=world.study, name="Graz").token_hash
        door.setattr(admission, "_admitted", lambda request: Cohort.objects.get(token_hash=graz))
        door.setattr(admission, "_instance", lambda request: "0" * 32)
        assert surprised(world, "GET /api/v1/cohort/panel") == set(ALL) - {"cohort"}
    Cohort.objects.update(revoked=False)
    assert surprised(world, "GET /api/v1/cohort/list") == {"revoked"}
