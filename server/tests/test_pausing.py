"""Pauses that begin and end by themselves, and what the sweep finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from federation_fixtures import Federation, silent_for, work

from unpooled_server import doorbell, selectors
from unpooled_server.models import Cohort, Round, Study
from unpooled_server.services import studies, sweeping

Make = Callable[..., Federation]


@pytest.mark.services
def test_a_cohort_that_stays_away_pauses_the_study_until_it_is_heard(federation: Make) -> None:
    trial = federation()
    trial.running()
    silent_for("Oslo", 61)
    sweeping.sweep()
    study = trial.study
    assert (study.state, study.pause_kind) == ("paused", "away")
    assert study.reason.startswith("Waiting for Oslo since ")
    trial.clients[0].questions()
    assert trial.study.state == "paused"
    assert len(trial.clients[0].questions().items) == 1
    trial.clients[1].questions()
    assert trial.study.state == "running"
    assert trial.study.reason == ""


def test_a_cohort_that_owes_nothing_may_be_silent(federation: Make) -> None:
    trial = federation()
    trial.running()
    trial.answer(trial.clients[1])
    silent_for("Oslo", 3600)
    sweeping.sweep()
    assert trial.study.state == "running"


def test_a_pause_by_the_coordinator_ends_by_nobody_else(federation: Make) -> None:
    trial = federation()
    trial.running()
    studies.pause_by_request(trial.study, "coordinator")
    silent_for("Oslo", 3600)
    sweeping.sweep()
    for client in trial.clients:
        assert client.questions().items == ()
        assert client.questions().state == "paused"
    assert trial.study.pause_kind == "asked"
    studies.resume_by_request(trial.study, "coordinator")
    assert trial.study.state == "running"


def test_the_coordinator_can_pause_a_study_that_waits(federation: Make) -> None:
    trial = federation()
    trial.running()
    silent_for("Oslo", 61)
    sweeping.sweep()
    studies.pause_by_request(trial.study, "coordinator")
    trial.clients[1].questions()
    assert (trial.study.state, trial.study.pause_kind) == ("paused", "asked")


class Recording:
    def __init__(self) -> None:
        self.rounds: list[int] = []
        self.studies: list[str] = []

    def round(self, round_id: int) -> None:
        self.rounds.append(round_id)

    def study(self, study_id: str) -> None:
        self.studies.append(study_id)


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Recording:
    recording = Recording()
    monkeypatch.setattr(doorbell, "_doorbell", lambda broker: recording)
    return recording


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_the_bell_rings_after_the_commit_and_the_sweep_rings_again(federation: Make, bell: Recording) -> None:
    trial = federation()
    bell.studies.clear()
    trial.ready()
    assert bell.studies == [trial.study_id]
    work()
    trial.answer()
    asked = Round.objects.get()
    assert bell.rounds == [asked.pk]
    sweeping.sweep()
    assert bell.rounds == [asked.pk] * 2
    studies.abort(trial.study, "coordinator")
    bell.studies.clear()
    sweeping.sweep()
    assert bell.studies == [trial.study_id]  # the end is not told to the compensator yet
    work()
    bell.studies.clear()
    sweeping.sweep()
    assert bell.studies == []


@pytest.mark.services
def test_what_is_to_do_is_read_from_the_database_alone(federation: Make) -> None:
    trial = federation()
    assert (selectors.rounds_to_advance(), selectors.studies_to_advance()) == ([], [])
    trial.ready()
    assert [pk for pk, _ in selectors.studies_to_advance()] == [trial.study_id]
    work()
    assert (selectors.rounds_to_advance(), selectors.studies_to_advance()) == ([], [])
    trial.answer()
    assert selectors.rounds_to_advance() == [Round.objects.get().pk]


def test_a_study_whose_compensator_is_away_waits_before_its_start(federation: Make, platform: Any) -> None:
    trial = federation()
    trial.ready()
    right = platform.UNPOOLED_COMPENSATOR_URL
    platform.UNPOOLED_COMPENSATOR_URL = "http://127.0.0.1:9"
    work()
    assert trial.study.state == "ready"
    assert "does not answer" in trial.study.reason
    platform.UNPOOLED_COMPENSATOR_URL = right
    work()
    assert (trial.study.state, trial.study.reason) == ("running", "")


def test_a_compensator_with_another_key_stops_the_start(federation: Make) -> None:
    trial = federation()
    plan = {**trial.study.plan_json, "compensator_key": "11" * 32}
    Study.objects.filter(pk=trial.study_id).update(plan_json=plan)
    trial.join()
    Cohort.objects.update(box_signature=b"x", list_digest="00" * 32)
    Study.objects.filter(pk=trial.study_id).update(state="ready", panel_digest="00" * 32)
    work()
    assert trial.study.state == "ready"
    assert "its key is different" in trial.study.reason
