"""Enrolment: all sealed seeds go to the compensator before the first question, and each cohort gets its
witness.
"""

from __future__ import annotations

import os

import httpx
import pytest
from federation_fixtures import Federation, work
from platform_fixtures import CompensatorProcess
from round_fixtures import Killed, raising

from unpooled.errors import ProtocolError
from unpooled.protocol import codec, witness
from unpooled.protocol.messages import Enrolment, Roster, Witnesses
from unpooled_server import compensator_client
from unpooled_server.compensator_client import CompensatorAway
from unpooled_server.models import Branch, Cohort, Round
from unpooled_server.services import enrolling, studies


def opened(trial: Federation) -> bytes:
    """The witness, which is the same for all cohorts."""
    for client in trial.clients:
        client.questions()
    [found] = {witness.unsealed(client.witness, client.seed, client.purpose) for client in trial.clients}
    return found


def test_each_cohort_opens_its_own_witness_and_no_other(trial: Federation) -> None:
    trial.running()
    graz, oslo, tartu = trial.clients
    seeds = [client.seed for client in sorted(trial.clients, key=lambda client: client.name)]
    purpose = graz.purpose
    assert opened(trial) == witness.make(seeds, purpose.study, purpose.plan_hash, purpose.roster_hash)
    for other in (oslo, tartu):
        with pytest.raises(ProtocolError):
            witness.unsealed(other.witness, graz.seed, purpose)
    kept = b"".join(bytes(cohort.witness) for cohort in Cohort.objects.all())
    assert opened(trial) not in kept
    assert trial.study.enrolled_at is None, "the plan may still change"
    trial.run_on()


def test_a_study_whose_compensator_is_away_at_its_start_waits_and_begins_by_itself(
    trial: Federation, compensator_process: CompensatorProcess
) -> None:
    trial.ready()
    for state in ("open", "ready", "running"):
        assert trial.study.state == state
        if state != "running":
            studies.advance(trial.study_id)
    compensator_process.kill()
    work()
    study = trial.study
    assert (study.state, study.pause_kind) == ("paused", "compensator")
    assert "does not answer" in study.reason
    assert not Round.objects.exists() and not Branch.objects.exists()
    for client in trial.clients:
        asked = client.questions()
        assert asked.items == () and asked.witness == b""
    compensator_process.start()
    work()
    assert trial.study.state == "running"
    assert opened(trial)
    trial.run_on()


def test_a_study_that_is_changed_before_its_first_release_enrols_anew(trial: Federation) -> None:
    trial.running()
    former = opened(trial)
    trial.clients[0].seed = os.urandom(32)
    trial.clients[0].accept()
    for client in trial.clients[1:]:
        client.accept()
    trial.announce()
    work()
    assert opened(trial) != former
    trial.run_on()


def test_a_worker_that_comes_too_late_leaves_the_new_witness(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told that of the boxes before, when all had accepted others."""
    trial.ready()
    keep, late = enrolling._keep, []
    monkeypatch.setattr(enrolling, "_keep", lambda *arguments: bool(late.append(arguments)))
    work()
    monkeypatch.undo()
    trial.clients[0].seed = os.urandom(32)
    for client in trial.clients:
        client.accept()
    trial.announce()
    work()
    found = opened(trial)
    assert not keep(*late[0])
    assert opened(trial) == found
    trial.run_on()


@pytest.mark.parametrize("was_told", [False, True])
def test_the_seeds_of_a_study_that_ends_before_its_first_release_are_forgotten(
    trial: Federation, monkeypatch: pytest.MonkeyPatch, was_told: bool
) -> None:
    """The server knows that the compensator has them, or was killed before it did."""
    trial.ready()
    if not was_told:
        monkeypatch.setattr(enrolling, "_keep", raising(Killed()))
        with pytest.raises(Killed):
            work()
        monkeypatch.undo()
    else:
        work()
    assert trial.study.enrolled is was_told and trial.study.enrolled_at is None
    message = enrolling._enrolment(trial.study)
    assert message
    studies.abort(trial.study, "coordinator")
    work()
    assert trial.study.forgotten
    with pytest.raises(compensator_client.CompensatorRefused, match="over"):
        compensator_client.compensator().enrol(message, lambda sent, received: None)
    assert enrolling._enrolment(trial.study) is None


def answering(content: bytes) -> compensator_client.Compensator:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(201, stream=httpx.ByteStream(content))

    return compensator_client.Compensator(
        httpx.Client(transport=httpx.MockTransport(answer), base_url="http://x")
    )


SEALED = bytes(witness.SEALED_BYTES)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"study": "s", "cohorts": 3}',
        codec.encode(Witnesses((("Graz", SEALED), ("Oslo", SEALED)))),
        codec.encode(Witnesses((("Graz", SEALED), ("Oslo", SEALED), ("Riga", SEALED)))),
        codec.encode(Roster(())),
    ],
)
def test_an_answer_without_all_witnesses_is_none(content: bytes) -> None:
    roster = Roster(tuple((name, os.urandom(32)) for name in ("Graz", "Oslo", "Tartu")))
    message = Enrolment("s", bytes(32), roster, ())
    with pytest.raises(CompensatorAway, match=r"enrolment|more than"):
        answering(content).enrol(message, lambda sent, received: None)
