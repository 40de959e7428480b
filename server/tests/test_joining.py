"""Joining, the roster, acceptance, another key, and fingerprints compared by telephone."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from federation_fixtures import Federation, work
from trial_stages import UNTIL

from unpooled.protocol import sealing
from unpooled.protocol.sealing import SealingKey, SigningKey, seal_seed
from unpooled_server.errors import Conflict
from unpooled_server.models import Cohort, LogEntry, Round
from unpooled_server.reads import selectors
from unpooled_server.services import by_telephone, invitations

Make = Callable[..., Federation]


def acceptance(trial: Federation, number: int = 0, **changes: Any) -> dict[str, str]:
    """A right acceptance, with some parts replaced."""
    client = trial.clients[number]
    seen = client.study()
    purpose = replace(client.purpose, **{name: value for name, value in changes.items() if name != "signer"})
    box = seal_seed(client.seed, purpose, changes.get("signer", client.key))
    return {
        "plan_hash": seen["plan_hash"],
        "roster_hash": seen["roster_hash"],
        "box": box.sealed.hex(),
        "signature": box.signature.hex(),
    }


def test_the_roster_is_shown_once_all_have_joined(trial: Federation) -> None:
    for client in trial.clients[:2]:
        client.join()
    seen = trial.clients[0].study()
    assert seen["roster"] is None and seen["roster_hash"] is None
    assert seen["waiting_for"] == ["Tartu"]  # without whom the others can do nothing
    assert [(wait["who"], wait["to"]) for wait in seen["waits"]] == [(["Tartu"], "join")]
    trial.clients[2].join()
    seen = trial.clients[0].study()
    assert [member["name"] for member in seen["roster"]] == ["Graz", "Oslo", "Tartu"]
    assert seen["roster"][0]["key"] == trial.clients[0].key.public.hex()


def test_nobody_accepts_before_the_roster_is_there(trial: Federation) -> None:
    trial.clients[0].join()
    values = {"plan_hash": "00" * 32, "roster_hash": "00" * 32, "box": "00", "signature": "00" * 64}
    answer = trial.clients[0].call("POST", "accept", json=values)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "roster-incomplete")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"plan_hash": "00" * 32}, 409, "plan-changed"),
        ({"roster_hash": "00" * 32}, 409, "roster-changed"),
        ({"box": "00" * 80}, 400, "bad-box"),
        ({"signature": "00" * 64}, 400, "bad-box"),
        ({"signature": "00" * 63}, 400, "bad-field"),
        ({"box": "00" * 5000}, 400, "bad-field"),
    ],
)
def test_a_wrong_acceptance_is_refused(
    trial: Federation, change: dict[str, str], status: int, code: str
) -> None:
    trial.join()
    answer = trial.clients[0].call("POST", "accept", json={**acceptance(trial), **change})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert trial.clients[0].study()["cohort_state"] == "joined"


@pytest.mark.parametrize(
    "change",
    [
        {"study": "another"},
        {"plan_hash": bytes(32)},
        {"roster_hash": bytes(32)},
        {"cohort": "Oslo"},
        {"compensator_key": SealingKey.generate().public},
        {"signer": SigningKey.generate()},
    ],
)
def test_a_box_for_something_else_is_refused(trial: Federation, change: dict[str, Any]) -> None:
    trial.join()
    values = acceptance(trial)
    forged = acceptance(trial, **change)
    answer = trial.clients[0].call(
        "POST", "accept", json={**values, **{k: forged[k] for k in ("box", "signature")}}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad-box")


def test_joining_and_accepting_again_is_fine(trial: Federation) -> None:
    trial.join()
    trial.join()
    values = acceptance(trial)
    for _ in range(2):
        assert trial.clients[0].call("POST", "accept", json=values).status_code == 200


@pytest.mark.services
def test_two_cohorts_cannot_have_one_key(trial: Federation) -> None:
    trial.clients[0].join()
    trial.clients[1].key = trial.clients[0].key
    answer = trial.clients[1].call("POST", "join", json={"key": trial.clients[0].key.public.hex()})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "key-taken")


@pytest.mark.parametrize("until", ["joined", "accepted", "ready", "running", "half"])
def test_a_cohort_that_lost_its_state_before_the_first_release_joins_anew(
    trial: Federation, until: str
) -> None:
    UNTIL[until](trial)
    old_roster = trial.clients[0].study()["roster_hash"]
    lost = trial.clients[1]
    lost.key, lost.seed = SigningKey.generate(), os.urandom(32)
    lost.join()
    assert trial.study.state == "open"
    assert not Round.objects.filter(study=trial.study_id).exists()
    seen = trial.clients[0].study()
    assert seen["roster_hash"] != old_roster
    assert seen["cohort_state"] == "joined"
    trial.accept()
    trial.announce()
    work()
    trial.extra.clear()
    trial.run_on()


def test_after_the_first_release_another_seed_is_refused(trial: Federation) -> None:
    trial.running()
    trial.answer()
    work()
    trial.clients[0].seed = os.urandom(32)
    answer = trial.clients[0].call("POST", "accept", json=acceptance(trial))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "already-enrolled")


def test_another_seed_before_the_first_release_voids_the_shares_under_the_former(trial: Federation) -> None:
    trial.running()
    client = trial.clients[0]
    trial.answer(client)
    client.seed = os.urandom(32)
    client.accept()
    assert trial.study.state == "open" and not Round.objects.filter(study=trial.study_id).exists()
    trial.accept()
    trial.announce()
    work()
    trial.run_on()


@pytest.mark.services
def test_a_revoked_cohort_is_replaced_by_another(trial: Federation) -> None:
    trial.join()
    trial.accept()
    invitations.revoke(trial.study, Cohort.objects.get(name="Oslo"), "coordinator")
    assert trial.clients[0].study()["roster"] is None
    text = invitations.invite(trial.study, "Bergen", "http://localhost", "coordinator")
    client = trial.clients[1]
    client.invitation = type(client.invitation).from_text(text)
    client.key = SigningKey.generate()
    client.join()
    trial.accept()
    trial.announce()
    work()
    trial.run_on()


def test_problems_come_from_a_fixed_list_and_show(trial: Federation) -> None:
    trial.running()
    client = trial.clients[0]
    assert client.call("POST", "problem", json={"code": "rs123 of Mrs X is odd"}).status_code == 400
    client.ok("POST", "problem", json={"code": "bound", "name": "genotypes"})
    study = trial.study
    assert (study.state, study.pause_kind) == ("paused", "problem")
    assert study.reason.startswith("Graz: A quantity is beyond the bound")
    trial.answer()
    assert trial.study.state == "running"


def test_a_problem_before_the_start_is_shown_and_goes_with_the_next_acceptance(trial: Federation) -> None:
    trial.join()
    trial.clients[0].ok("POST", "problem", json={"code": "declined"})
    assert Cohort.objects.get(name="Graz").problem == "declined"
    assert trial.study.state == "open"
    trial.accept()
    assert Cohort.objects.get(name="Graz").problem == ""


def test_a_worker_that_comes_too_late_does_not_fix_a_roster_that_was_made_anew(federation: Make) -> None:
    from unpooled_server.services import rounds

    trial = federation()
    trial.running()
    trial.answer()
    stale = Round.objects.select_related("study").get()
    trial.clients[0].key = SigningKey.generate()
    trial.clients[0].join()
    assert not rounds._mark_released(stale, stale.study)
    assert trial.study.enrolled_at is None


def graz() -> Cohort:
    return Cohort.objects.get(name="Graz")


def test_who_compared_it_and_when_is_kept_and_in_the_log(trial: Federation) -> None:
    trial.join()
    shown = sealing.fingerprint(trial.clients[0].key.public)
    by_telephone.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=True)
    assert graz().compared_by == "coordinator" and graz().compared_at is not None
    said = f"compared the fingerprint of Graz by telephone: {shown}"
    assert LogEntry.objects.filter(study=trial.study_id, who="coordinator", what=said).exists()
    by_telephone.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=False)
    assert (graz().compared_by, graz().compared_at) == ("", None)


def test_a_cohort_that_joins_again_with_another_key_loses_its_tick(trial: Federation) -> None:
    trial.join()
    client = trial.clients[0]
    shown = sealing.fingerprint(client.key.public)
    by_telephone.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=True)
    client.join()  # the same key
    assert graz().compared_at is not None
    roster = selectors.roster_fingerprint(trial.study)
    client.key = type(client.key).generate()
    client.join()
    assert graz().compared_at is None
    assert selectors.roster_fingerprint(trial.study) != roster
    with pytest.raises(Conflict, match="another key"):
        by_telephone.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=True)
    assert graz().compared_at is None


def test_the_compensators_key_too(trial: Federation) -> None:
    shown = sealing.fingerprint(trial.study.plan.compensator_key)
    by_telephone.compensator_compared(trial.study, "coordinator", shown, is_same=True)
    assert (trial.study.compared_by, trial.study.compared_at is not None) == ("coordinator", True)
    with pytest.raises(Conflict):
        by_telephone.compensator_compared(trial.study, "coordinator", "0000 " * 7 + "0000", is_same=True)


def test_nobody_is_compared_before_there_is_a_key(trial: Federation) -> None:
    with pytest.raises(Conflict):
        by_telephone.cohort_compared(trial.study, graz(), "coordinator", "", is_same=True)
