"""Requests that wait: one thread looks for all of them, and each is asked again once there is news for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test import RequestFactory
from federation_fixtures import Federation

from tests.patience import PATIENCE, until
from unpooled.protocol import VERSION
from unpooled.protocol.stages import HEADER, Doing
from unpooled_server.cohort_api import looker, views
from unpooled_server.cohort_api.held import HELD, Held, Waits
from unpooled_server.cohort_api.looker import Looker
from unpooled_server.models import Cohort
from unpooled_server.reads import asked as asked_reads
from unpooled_server.services.transitions import touch

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]

Make = Callable[..., Federation]
NEVER = Held(has_place=True, can_be_kept_alive=True)
FULL = Held(has_place=False, can_be_kept_alive=True)


def asked(trial: Federation, client: int, held: Held, wait: float = 300, doing: str = "") -> Any:
    """Look at the study by a web server that keeps requests; wait while it is as it was."""
    version = asked_reads.newest([trial.study.pk])[trial.study.pk][0]
    headers = {
        "Authorization": f"Bearer {trial.clients[client].invitation.token}",
        "Unpooled-Client": trial.clients[client].instance,
        "Unpooled-Protocol": str(VERSION),
        HEADER: doing,
    }
    path = f"/api/v1/cohort/study?wait={wait}&seen={version}"
    return views.study(RequestFactory().get(path, headers=headers, **{HELD: held}))


@pytest.fixture
def woken() -> SimpleQueue[Any]:
    return SimpleQueue()


@pytest.fixture
def looks(woken: SimpleQueue[Any]) -> Iterator[Looker[Any]]:
    made = Looker(woken.put)
    yield made
    for study in made._studies.values():
        study.waiting.clear()
    until(lambda: not made._studies, lambda: "the looker has nothing to look for")


def is_asleep(woken: SimpleQueue[Any]) -> bool:
    with pytest.raises(Empty):
        woken.get(timeout=0.3)
    return True


def test_news_wake_who_waits_for_this_study(
    federation: Make, looks: Looker[Any], woken: SimpleQueue[Any]
) -> None:
    one, other = federation(), federation()
    for name, trial, client in (("a", one, 0), ("b", one, 1), ("c", other, 0)):
        looks.add(name, asked(trial, client, NEVER))
    assert is_asleep(woken)
    touch(one.study.pk)
    assert {woken.get(timeout=PATIENCE), woken.get(timeout=PATIENCE)} == {"a", "b"}
    assert is_asleep(woken)
    one.study.delete()
    other.study.delete()
    assert woken.get(timeout=PATIENCE) == "c"


def test_news_that_came_before_it_was_kept_are_not_lost(
    federation: Make, looks: Looker[Any], woken: SimpleQueue[Any]
) -> None:
    trial = federation()
    found = asked(trial, 0, NEVER)
    touch(trial.study.pk)
    looks.add("a", found)
    assert woken.get(timeout=PATIENCE) == "a"


def test_a_wait_ends(federation: Make, looks: Looker[Any], woken: SimpleQueue[Any]) -> None:
    looks.add("a", asked(federation(), 0, NEVER, wait=0.5))
    assert woken.get(timeout=PATIENCE) == "a"


def test_who_is_gone_is_forgotten(federation: Make, looks: Looker[Any], woken: SimpleQueue[Any]) -> None:
    trial = federation()
    gone, stays = asked(trial, 0, NEVER), asked(trial, 1, NEVER)
    looks.add("gone", gone)
    looks.add("stays", stays)
    looks.remove("gone", gone)
    touch(trial.study.pk)
    assert woken.get(timeout=PATIENCE) == "stays"
    assert is_asleep(woken)


@pytest.mark.parametrize("error", [OperationalError, RuntimeError])
def test_a_look_in_vain_is_followed_by_others(
    federation: Make,
    looks: Looker[Any],
    woken: SimpleQueue[Any],
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
) -> None:
    trial, newest, failed = federation(), asked_reads.newest, list[int]()
    found = asked(trial, 0, NEVER)

    def away(study_ids: Any) -> Any:
        failed.append(1)
        raise error

    monkeypatch.setattr(asked_reads, "newest", away)
    looks.add("a", found)
    until(lambda: len(failed) > 2, lambda: "it has looked in vain")
    monkeypatch.setattr(asked_reads, "newest", newest)
    touch(trial.study.pk)
    assert woken.get(timeout=PATIENCE) == "a"


def test_clients_that_wait_are_heard_meanwhile(
    federation: Make, looks: Looker[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looker, "LONG", 0.1)
    monkeypatch.setattr(looker, "NOTED_EVERY", 0.1)
    monkeypatch.setattr(looker, "HEARD_EVERY", 0.1)
    trial = federation()
    trial.clients[0].instance = os.urandom(16).hex()  # a new client, which nobody has heard of
    looks.add("a", asked(trial, 0, NEVER, doing=Doing.WAITING))
    waits = trial.study.cohorts.get(name=trial.clients[0].seen["cohort"])

    def heard() -> Any:
        return Cohort.objects.values_list("heard_at", "doing", "instance").get(pk=waits.pk)

    until(lambda: heard()[1:] == (Doing.WAITING, trial.clients[0].instance), lambda: f"noted: {heard()}")
    first = heard()[0]
    until(lambda: heard()[0] > first, lambda: "heard once more")


def test_a_lock_on_the_database_holds_up_no_answer(
    federation: Make, looks: Looker[Any], woken: SimpleQueue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looker, "LONG", 0.0)
    monkeypatch.setattr(looker, "NOTED_EVERY", 0.1)
    found = asked(federation(), 0, NEVER, wait=1)
    with transaction.atomic():
        Cohort.objects.update(problem="")  # nobody else can write who waits
        looks.add("a", found)
        assert woken.get(timeout=PATIENCE) == "a"


def test_a_request_that_finds_something_does_not_wait(federation: Make) -> None:
    trial = federation()
    trial.join()
    found = asked(trial, 0, NEVER)
    assert isinstance(found, Waits) and found.is_long and found.until > time.monotonic()
    assert not asked(trial, 0, NEVER, wait=20).is_long
    again = Held(has_place=True, can_be_kept_alive=True, until=0.0)
    for held, wait in ((again, 300), (FULL, 300), (NEVER, 0)):
        answer = asked(trial, 0, held, wait)
        assert not isinstance(answer, Waits) and answer.status_code == 200
        assert answer.headers.get("Retry-After") == ("5" if held is FULL else None)
    connection.close()
