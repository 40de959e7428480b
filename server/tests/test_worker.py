"""The worker without a broker: finds work by itself, once each, and survives errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from federation_fixtures import Federation

from tests.patience import PATIENCE, until
from unpooled_server import worker as workers
from unpooled_server.bells import warming
from unpooled_server.cohort_api import waiting
from unpooled_server.reads import selectors
from unpooled_server.services import rounds, sweeping
from unpooled_server.worker import Worker

Make = Callable[..., Federation]
pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def worker(platform: Any) -> Iterator[Worker]:
    made = Worker(threads=2)
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.stop.set()
    made.look()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def wait_until(condition: Callable[[], bool]) -> None:
    until(condition, lambda: "the worker does not come to it")


def carried_to_its_end(trial: Federation) -> None:
    trial.ready()
    wait_until(lambda: trial.study.begun)

    def go_on() -> bool:
        trial.answer()
        return trial.study.state != "running"

    wait_until(go_on)
    assert trial.study.state == "done", trial.study.reason


def test_a_study_runs_to_its_end(trial: Federation, worker: Worker) -> None:
    carried_to_its_end(trial)
    wait_until(lambda: trial.study.forgotten)


def test_rings_alone_carry_a_study_to_its_end(
    federation: Make, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("IDLE", "LOOK_ANYWAY"):
        monkeypatch.setattr(workers, name, 10 * PATIENCE)
    trial = federation(chunk_size=3)
    carried_to_its_end(trial)


def test_an_error_of_the_database_stops_nothing(
    federation: Make, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    calls = []

    def failing() -> Any:
        calls.append(1)
        raise OperationalError("the database is away")

    monkeypatch.setattr(workers, "IDLE", 0.01)
    monkeypatch.setattr(selectors, "is_anything_at_work", failing)
    wait_until(lambda: len(calls) > 3)
    monkeypatch.undo()
    trial = federation()
    trial.ready()
    wait_until(lambda: trial.study.begun)


def test_one_thing_is_not_done_twice_at_once(
    federation: Make, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, most, done = [], [], []
    real = rounds.advance

    def watched(round_id: int) -> None:
        at_once.append(round_id)
        most.append(at_once.count(round_id))
        time.sleep(0.1)
        real(round_id)
        at_once.remove(round_id)
        done.append(round_id)

    monkeypatch.setattr(rounds, "advance", watched)
    trial = federation(chunk_size=3)
    trial.ready()
    wait_until(lambda: trial.study.begun)
    trial.answer()
    wait_until(lambda: bool(done) and not selectors.rounds_to_advance())
    assert max(most) == 1
    assert len(done) == len(set(done))


def test_the_sweep_is_done_now_and_then(
    platform: Any, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = []
    monkeypatch.setattr(sweeping, "sweep", lambda: swept.append(1))
    monkeypatch.setattr(sweeping, "INTERVAL", 0.05)
    monkeypatch.setattr(workers, "IDLE", 0.01)
    monkeypatch.setattr(workers, "RETRY", 0.0)
    worker._next_sweep = 0.0
    wait_until(lambda: len(swept) > 2)


def test_long_polls_end_when_there_is_news(
    federation: Make, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection

    trial = federation()
    trial.join()
    trial.accept()
    monkeypatch.setattr(waiting, "QUIET", 3600.0)  # longer than any test: only news ends them
    version = trial.clients[0].study()["version"]
    told: list[Any] = []

    def wait() -> None:
        told.append(
            trial.clients[0].call("GET", f"study?wait={10 * PATIENCE}&seen={version}").json()["version"]
        )
        while not (items := trial.clients[1].questions(wait=10 * PATIENCE).items):
            pass  # the study's state has changed
        told.append(items)
        connection.close()

    thread = threading.Thread(target=wait)
    thread.start()
    assert told == []
    trial.announce()
    thread.join(PATIENCE)
    assert told[0] > version and told[1]


def test_a_long_poll_ends_by_itself(trial: Federation) -> None:
    trial.ready()
    assert trial.clients[0].questions(wait=0.2).items == ()
    for wait in ("x", "-1", "nan"):
        assert trial.clients[0].call("GET", f"questions?wait={wait}&seen=1,x,,9{'9' * 40}").status_code == 200


def test_warming_up_runs_every_test(caplog: pytest.LogCaptureFixture) -> None:
    warming.warm_up()
    assert caplog.records == []
