"""The stage of a cohort, and for whom a study waits: by what was sent, told, and not heard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cohort_client import Client
from django.utils import timezone
from federation_fixtures import Federation, silent_for, work

from unpooled.protocol.problems import Problem
from unpooled.protocol.stages import HEADER, Doing
from unpooled_server.models import Cohort, Study
from unpooled_server.reads import selectors
from unpooled_server.reads.stages import stopped
from unpooled_server.services import invitations, studies, sweeping

pytestmark = pytest.mark.services

Make = Callable[..., Federation]


def stages(trial: Federation) -> dict[str, str]:
    return {name: standing.stage.value for name, standing in selectors.standings(trial.study).items()}


def waits(trial: Federation) -> list[str]:
    return [f"{', '.join(wait['who'])} to {wait['to']}" for wait in selectors.waiting(trial.study)["waits"]]


def tells(client: Client, doing: str) -> None:
    assert client.call("GET", "study", headers={HEADER: doing}).status_code == 200


def test_from_the_invitation_to_the_start(trial: Federation) -> None:
    graz, oslo, tartu = trial.clients
    assert set(stages(trial).values()) == {"invited"}
    graz.join()
    oslo.join()
    assert stages(trial) == {"Graz": "joined", "Oslo": "joined", "Tartu": "invited"}
    assert waits(trial) == ["Tartu to join"]  # nobody can accept before
    assert studies.why_not_startable(trial.study) == "Waiting for Tartu to join."
    tartu.join()
    assert waits(trial) == ["Graz, Oslo, Tartu to accept the plan and the cohorts"]
    tells(graz, Doing.CHOOSING)
    tells(oslo, Doing.CHECKING)
    assert stages(trial) == {"Graz": "choosing", "Oslo": "checking", "Tartu": "joined"}
    graz.accept()
    assert stages(trial)["Graz"] == "choosing"
    tells(graz, Doing.WAITING)
    assert stages(trial)["Graz"] == "accepted"
    tells(graz, Doing.SENDING)
    assert stages(trial)["Graz"] == "sending"
    graz.announce()
    assert stages(trial)["Graz"] == "ready"
    assert waits(trial) == ["Oslo to check data", "Tartu to accept the plan and the cohorts"]


def test_who_computes_sends_and_waits(trial: Federation) -> None:
    trial.running()
    graz, oslo, _ = trial.clients
    assert set(stages(trial).values()) == {"computing"}
    assert waits(trial) == []  # all compute: nobody is waited for
    tells(oslo, Doing.SENDING)
    trial.answer(graz)
    assert stages(trial) == {"Graz": "waiting", "Oslo": "sending", "Tartu": "computing"}
    assert waits(trial) == ["Oslo, Tartu to answer"]
    assert selectors.progress(trial.study)["cohorts"][1]["since"] is not None
    trial.run_on()
    assert set(stages(trial).values()) == {"done"}
    assert waits(trial) == []


def test_a_cohort_that_is_not_heard_is_offline_in_every_state(federation: Make) -> None:
    trial = federation(auto_start=False)
    trial.join()
    silent_for("Oslo", 61)
    assert stages(trial)["Oslo"] == "offline"
    assert waits(trial)[-1] == "Oslo to come back"
    trial.accept()
    trial.announce()
    work()
    silent_for("Oslo", 61)  # ready, and gone before the start
    assert stages(trial) == {"Graz": "ready", "Oslo": "offline", "Tartu": "ready"}
    assert waits(trial) == ["the coordinator to start it", "Oslo to come back"]
    studies.start(trial.study, "coordinator")
    work()
    silent_for("Oslo", 130)
    assert waits(trial) == ["Oslo to come back"]  # the others compute, as all would
    progress = selectors.progress(trial.study)
    (oslo,) = (row for row in progress["cohorts"] if row["name"] == "Oslo")
    assert (oslo["stage"], oslo["questions_open"]) == ("offline", 1)
    assert 129 < (timezone.now() - oslo["since"]).total_seconds() < 140
    assert progress["seconds_left"] is None


def test_whoever_looks_is_not_there(trial: Federation) -> None:
    """Nor is a client beside another one that looks with a state of its own."""
    trial.running()
    silent_for("Oslo", 130)
    sweeping.sweep()
    before = Cohort.objects.filter(name="Oslo").values().get()
    tells(trial.clients[1], Doing.LOOKING)
    assert Cohort.objects.filter(name="Oslo").values().get() == before
    assert stages(trial)["Oslo"] == "offline" and Study.objects.get().state == "paused"
    tells(trial.clients[1], Doing.WAITING)
    assert stages(trial)["Oslo"] == "computing" and Study.objects.get().state == "running"


def test_a_cohort_whose_list_stands_apart_is_to_give_other_files(trial: Federation) -> None:
    trial.join()
    trial.accept()
    tells(trial.clients[0], Doing.SENDING)
    Cohort.objects.filter(name="Graz").update(list_apart=True)
    silent_for("Graz", 61)
    assert stages(trial)["Graz"] == "stopped"
    assert "Graz to give other files" in waits(trial)


def test_choosing_data_needs_no_client(trial: Federation) -> None:
    trial.join()
    tells(trial.clients[0], Doing.CHOOSING)
    silent_for("Graz", 3600)
    assert stages(trial)["Graz"] == "choosing"
    trial.accept()
    silent_for("Graz", 3600)
    assert stages(trial)["Graz"] == "offline"


def test_a_cohort_with_a_problem_is_stopped_until_it_does_something(trial: Federation) -> None:
    trial.join()
    graz = trial.clients[0]
    graz.ok("POST", "problem", json={"code": Problem.DATA.value}, headers={HEADER: Doing.STOPPED})
    silent_for("Graz", 3600)
    assert stages(trial)["Graz"] == "stopped" and stopped(trial.study) == 1
    assert "Graz to solve a problem" in waits(trial)
    tells(graz, Doing.CHECKING)
    assert stages(trial)["Graz"] == "checking"


def test_a_pause_by_the_coordinator_is_theirs_to_end(trial: Federation) -> None:
    trial.running()
    studies.pause_by_request(trial.study, "coordinator")
    assert waits(trial) == ["the coordinator to resume it"]
    silent_for("Tartu", 61)
    assert waits(trial) == ["the coordinator to resume it", "Tartu to come back"]


def test_who_is_to_invite(trial: Federation) -> None:
    oslo = Cohort.objects.get(name="Oslo")
    invitations.revoke(trial.study, oslo, "coordinator")
    assert waits(trial) == ["the coordinator to invite 1 cohort", "Graz, Tartu to join"]
    assert stages(trial)["Oslo"] == "revoked"


@pytest.mark.parametrize("told", ["", "dancing", "computing" * 9])
def test_an_unknown_word_tells_nothing(trial: Federation, told: str) -> None:
    tells(trial.clients[0], Doing.CHECKING)
    tells(trial.clients[0], told)
    assert Cohort.objects.get(name="Graz").doing == Doing.CHECKING
