"""A platform that holds studies in every state, and what strangers may neither see nor change there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import Model, QuerySet
from federation_fixtures import Federation, variants, work
from platform_fixtures import SECRET, leave_an_example, session_headers
from werkzeug.test import Client, TestResponse

from tests import list_text
from unpooled.asking.cohort import ArrayTable
from unpooled_server import models
from unpooled_server.models import Cohort, Study
from unpooled_server.services import invitations, panels, studies, transitions
from unpooled_webapp import accounts
from unpooled_webapp.demonstration import service
from unpooled_webapp.wsgi import application

from ..longer import LENGTH, Length

PASSWORD = "a long password 1"
ROLES = {
    "owner": accounts.COORDINATOR,
    "elsewhere": accounts.COORDINATOR,
    "observer": accounts.OBSERVER,
    "administrator": accounts.ADMINISTRATOR,
}
PEOPLE = ("nobody", *ROLES)
PLAN = {"test": "chi-square", "phenotype": "T2D", "cohorts": 3}
TABLES = {
    "test": "z-score",
    "phenotype": "",
    "trait": "none",
    "panel_mode": "none",
    "schema": [{"name": "glucose"}],
}

STATES = ("open", "ready", "running", "paused", "done", "tables", "aborted", "failed", "demo", "revoked")
"""States of studies that have cohorts; drafts there are always."""

Federate = Callable[..., Federation]

OF_A_STUDY: tuple[type[Model], ...] = (
    models.Cohort,
    models.Round,
    models.Share,
    models.RowFile,
    models.ResultFile,
    models.Traffic,
    models.LogEntry,
)
"""Models whose rows belong to a study."""


@dataclass
class World:
    client: Client
    home: Path
    studies: dict[str, str]
    """ID of the study in each state, by the name of the state."""
    people: dict[str, dict[str, str]]
    """Headers of each person."""
    cohorts: dict[str, dict[str, str]]
    """Headers of a cohort of each study, by the name of the state."""
    secrets: tuple[str, ...]
    """Secrets that no answer may hold."""
    requests: int = 0
    wrote: bool = False
    """True if the last request made an SQL statement other than a query."""

    def send(self, method: str, address: str, look: Callable[[TestResponse], None], **content: Any) -> None:
        """Make a request, and have a look at what came of it; then all is as before."""
        self.requests += 1
        cache.clear()  # of sign-ins that failed
        self.wrote = False
        with transaction.atomic():
            with connection.execute_wrapper(self._note):
                answer = self.client.open(address, method=method, **content)
            try:
                look(answer)
            finally:
                transaction.set_rollback(True)
                if self.wrote:
                    self._restore_files()

    def _note(self, execute: Any, sql: str, *rest: Any) -> Any:
        self.wrote |= not sql.startswith(("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK"))
        return execute(sql, *rest)

    def keep_files(self) -> None:
        shutil.copytree(self.home / "studies", self.home / "kept")

    def _restore_files(self) -> None:
        shutil.rmtree(self.home / "studies", ignore_errors=True)
        shutil.copytree(self.home / "kept", self.home / "studies")

    def assert_no_secret(self, answer: TestResponse) -> None:
        assert not [secret for secret in self.secrets if secret in told(answer)]


def told(answer: TestResponse) -> str:
    """All that an answer says, bytes too."""
    return answer.data.decode("latin-1") + str(answer.headers)


def rows_of_others(studies: QuerySet[Study], person: User | None) -> dict[str, list[Any]]:
    """All rows of some studies, and of all people but one."""
    ids = list(studies.order_by("pk").values_list("pk", flat=True))
    found = {"Study": list(Study.objects.filter(pk__in=ids).order_by("pk").values_list())}
    for model in OF_A_STUDY:
        found[model.__name__] = list(model.objects.filter(study__in=ids).order_by("pk").values_list())  # type: ignore[attr-defined]
    found["observers"] = list(Study.observers.through.objects.filter(study__in=ids).values_list())
    others = User.objects.exclude(pk=person.pk) if person else User.objects.all()
    found["User"] = list(
        others.order_by("pk").values_list("pk", "username", "password", "is_active", "is_superuser")
    )
    found["roles"] = list(User.groups.through.objects.order_by("pk").values_list())
    return found


@pytest.fixture
def length(request: pytest.FixtureRequest) -> Length:
    """Number of inputs; a few, unless `make fuzz` says otherwise."""
    return request.config.stash.get(LENGTH, Length())


@pytest.fixture
def world(
    request: pytest.FixtureRequest,
    http: Callable[[], httpx.Client],
    platform: Any,
    federation: Federate,
    coordinator: User,
) -> Iterator[World]:
    """A platform with studies in all states, or in those that a test has as its parameter."""
    home = Path(platform.UNPOOLED_HOME)
    made: dict[str, Federation | Study] = {
        **_drafts(coordinator),
        **{state: _study(federation, state) for state in getattr(request, "param", STATES)},
    }
    people: dict[str, dict[str, str]] = {"nobody": {}}
    for name, role in ROLES.items():
        accounts.create(name, PASSWORD, role)
        people[name] = session_headers(http(), name, PASSWORD)
    Study.objects.update(owner=User.objects.get(username="owner"))
    for study in Study.objects.all():
        study.observers.add(User.objects.get(username="observer"))
    studies.create(
        User.objects.get(username="elsewhere"), "Theirs", "", PLAN, auto_start=True, one_operator=True
    )
    platform.UNPOOLED_DEMO_ADDRESS = "http://localhost"
    leave_an_example(home)
    ids = {name: found.pk if isinstance(found, Study) else found.study_id for name, found in made.items()}
    clients = {name: found.clients[0] for name, found in made.items() if isinstance(found, Federation)}
    cohorts = {
        name: {"Authorization": f"Bearer {client.invitation.token}", "Unpooled-Client": client.instance}
        for name, client in clients.items()
    }
    with service._lock():  # whoever may run a demo sees that one runs
        found = World(
            Client(application, use_cookies=False), home, ids, people, cohorts, _secrets(made, platform)
        )
        found.keep_files()
        yield found


def _drafts(coordinator: User) -> dict[str, Study]:
    def draft(name: str, **plan: str) -> Study:
        return studies.create(coordinator, name, "", PLAN | plan, auto_start=True, one_operator=True)

    found = {
        "draft": draft("Draft"),
        "list": draft("With a list", panel_mode="list"),
        "archived": draft("Old"),
    }
    panels.set_list(found["list"], list_text.write(variants()), "coordinator")
    studies.archive(found["archived"], "coordinator", True)
    return found


def _study(federation: Federate, state: str) -> Federation:
    """A study with cohorts in this state."""
    if state == "tables":
        return _tables(federation)
    made = federation(auto_start=state != "ready")
    if state == "open":
        made.clients[0].join()
    elif state == "ready":
        made.ready()
    elif state in ("running", "paused"):
        made.running()
    elif state == "done":
        made.run()
        work()  # draws the pictures
    else:
        made.join()
    study = made.study
    if state == "paused":
        studies.pause_by_request(study, "coordinator")
    elif state == "aborted":
        studies.abort(study, "coordinator")
    elif state == "failed":
        transitions.fail(study.pk, "Nothing was left.")
    elif state == "demo":
        Study.objects.filter(pk=study.pk).update(is_demo=True)
    elif state == "revoked":
        invitations.revoke(study, Cohort.objects.get(study=study, name="Graz"), "coordinator")
    return made


def _tables(federation: Federate) -> Federation:
    """A study of tables that is done."""
    made = federation(**TABLES)
    for seed, client in enumerate(made.clients):
        values = np.random.default_rng(seed).normal(size=(60, 1))
        made.extra[client.invitation.token, b""] = ArrayTable(values)
        client.own = SimpleNamespace(digest=made.study.plan.hash())  # type: ignore[assignment]
    made.run()
    assert made.study.state == "done", made.study.reason
    return made


def _secrets(made: Mapping[str, Federation | Study], platform: Any) -> tuple[str, ...]:
    """Tokens and their digests, sealed seeds, passwords as stored, and what the platform itself keeps."""
    clients = [client for found in made.values() if isinstance(found, Federation) for client in found.clients]
    rows = Cohort.objects.values_list("token_hash", "box_sealed")
    return (
        SECRET,
        PASSWORD,
        platform.SECRET_KEY,
        *(client.invitation.token for client in clients),
        *(client.seed.hex() for client in clients),
        *(token for token, _ in rows),
        *(bytes(box).hex() for _, box in rows if box),
        *User.objects.values_list("password", flat=True),
    )
