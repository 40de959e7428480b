"""A study that is repeated: its cohorts' clients are admitted by the token of the one that ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from cohort_client import Client
from federation_fixtures import Federation, variants, work

from unpooled.protocol.sealing import SealingKey
from unpooled_server.errors import Conflict, Missing
from unpooled_server.models import Cohort, LogEntry, Study
from unpooled_server.services import invitations, repeating, studies

Make = Callable[..., Federation]


def plan_of(trial: Federation, **changes: Any) -> dict[str, Any]:
    own = ("compensator_key", "version", "panel_digest")
    fields = trial.study.plan_json
    return {name: value for name, value in fields.items() if name not in own} | changes


def repeat(trial: Federation, name: str = "Trial", **changes: Any) -> Study:
    return repeating.repeat(
        trial.study,
        trial.study.owner,
        name=name,
        description="",
        plan=plan_of(trial, **changes),
        auto_start=True,
        one_operator=True,
    )


@pytest.fixture
def ended(federation: Make) -> Callable[..., Federation]:
    def make(**changes: Any) -> Federation:
        trial = federation(**changes)
        trial.join()
        studies.abort(trial.study, "coordinator")
        return trial

    return make


def moved(client: Client) -> Client:
    """The client in the repetition."""
    told = client.ok("POST", "repetition")
    invitation = replace(client.invitation, study=told["study"], token=told["token"])
    return replace(client, invitation=invitation)


@pytest.mark.services
def test_a_study_is_repeated_with_its_cohorts_by_the_changed_plan(ended: Make) -> None:
    trial = ended()
    assert trial.clients[0].study()["is_repeated"] is False
    again = repeat(trial, min_samples=2)
    assert (again.name, again.state, again.repeats) == ("Trial (2)", "open", trial.study)
    assert again.plan.min_samples == 2
    assert [cohort.name for cohort in again.members()] == ["Graz", "Oslo", "Tartu"]
    assert trial.clients[0].study()["is_repeated"] is True
    repetition = Federation(again.pk, [moved(client) for client in trial.clients], trial.data)
    repetition.run()


def without(trial: Federation, *left: str) -> Study:
    return repeating.repeat_without(trial.study, trial.study.owner, left, one_operator=True)


@pytest.mark.services
@pytest.mark.parametrize("is_revoked", [False, True])
def test_a_study_is_repeated_in_one_step_without_a_cohort_that_left(
    federation: Make, is_revoked: bool
) -> None:
    trial = federation(names=("Graz", "Munich", "Oslo", "Tartu"))
    trial.running()
    trial.answer()
    work()  # a sum over all four is released
    if is_revoked:
        invitations.revoke(trial.study, trial.study.cohorts.get(name="Oslo"), "coordinator")
    again = without(trial, "Oslo")
    assert trial.study.state == "aborted" and again.repeats == trial.study
    assert (again.name, again.state, again.plan.cohorts) == ("Trial (2)", "open", 3)
    assert [cohort.name for cohort in again.members()] == ["Graz", "Munich", "Tartu"]
    graz, munich, oslo, tartu = trial.clients
    assert oslo.call("POST", "repetition").status_code == 401
    stay = [trial.data[place] for place in (0, 1, 3)]
    Federation(again.pk, [moved(client) for client in (graz, munich, tartu)], stay).run()


def test_who_is_left_must_be_three(trial: Federation) -> None:
    trial.running()
    with pytest.raises(Conflict, match="Without Oslo 2 cohorts remain"):
        without(trial, "Oslo")
    assert trial.study.state == "running"
    with pytest.raises(Missing, match="Nowhere is no cohort"):
        without(trial, "Nowhere")


def test_before_the_start_a_cohort_is_replaced_instead(trial: Federation) -> None:
    trial.join()
    with pytest.raises(Conflict, match="has not started"):
        without(trial, "Oslo")
    assert [cohort.name for cohort in trial.study.members()] == ["Graz", "Oslo", "Tartu"]


def test_a_study_that_has_not_ended_is_not_repeated(federation: Make) -> None:
    with pytest.raises(Conflict, match="has not ended"):
        repeat(federation())


def test_a_study_is_repeated_once_and_its_repetition_again(ended: Make) -> None:
    trial = ended()
    again = repeat(trial)
    with pytest.raises(Conflict, match="repeated already"):
        repeat(trial)
    studies.abort(again, "coordinator")
    assert trial.clients[0].study()["is_repeated"] is False
    last = repeat(Federation(again.pk, [], []))
    assert last.name == "Trial (3)"
    assert trial.clients[0].ok("POST", "repetition")["study"] == last.pk


@pytest.mark.services
def test_a_repetition_that_was_deleted_can_be_made_anew(ended: Make) -> None:
    trial = ended()
    studies.delete(repeat(trial))
    assert trial.clients[0].study()["is_repeated"] is False
    assert repeat(trial).repeats == trial.study


def test_names_are_numbered_only_where_they_are_taken(ended: Make) -> None:
    assert repeat(ended(), name="Another").name == "Another"


def test_the_token_is_given_anew_until_the_cohort_has_joined(ended: Make) -> None:
    trial = ended()
    again = repeat(trial)
    lost, client = moved(trial.clients[0]), moved(trial.clients[0])
    assert lost.call("GET", "study").status_code == 401
    client.join()
    answer = trial.clients[0].call("POST", "repetition")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "has-joined")
    assert client.study()["cohort_state"] == "joined"
    assert again.cohorts.get(name="Graz").public_key == client.key.public.hex()


def test_the_token_is_secret(ended: Make) -> None:
    trial = ended()
    again = repeat(trial)
    answer = trial.clients[0].call("POST", "repetition")
    token = answer.json()["token"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert not LogEntry.objects.filter(what__contains=token).exists()
    hashes = set(Cohort.objects.filter(study=again).values_list("token_hash", flat=True))
    assert token not in hashes and invitations.token_hash(token) in hashes


def test_only_the_holder_of_the_old_token_is_admitted(ended: Make, http: Callable[[], httpx.Client]) -> None:
    trial = ended()
    repeat(trial)
    stranger = replace(trial.clients[0], invitation=replace(trial.clients[0].invitation, token="x" * 43))
    assert stranger.call("POST", "repetition").status_code == 401
    assert moved(trial.clients[1]).study()["cohort"] == "Oslo"
    assert trial.clients[0].call("GET", "repetition").status_code == 405


@pytest.mark.parametrize("where", ["old", "old-before", "new"])
def test_a_revoked_cohort_is_not_admitted(ended: Make, where: str) -> None:
    trial = ended()
    if where == "old-before":
        invitations.revoke(trial.study, Cohort.objects.get(name="Oslo"), "coordinator")
    again = repeat(trial)
    if where == "old":
        invitations.revoke(trial.study, trial.study.cohorts.get(name="Oslo"), "coordinator")
    if where == "new":
        invitations.revoke(again, again.cohorts.get(name="Oslo"), "coordinator")
        assert trial.clients[1].study()["is_repeated"] is False
    assert again.members().filter(name="Oslo").exists() == (where == "old")
    assert trial.clients[1].call("POST", "repetition").status_code == (404 if where == "new" else 401)
    assert trial.clients[0].call("POST", "repetition").status_code == 200


def test_nobody_is_admitted_to_a_study_that_is_not_repeated(ended: Make) -> None:
    answer = ended().clients[0].call("POST", "repetition")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not-repeated")


def test_more_cohorts_than_the_plan_asks_for_are_refused(federation: Make) -> None:
    trial = federation(names=("Graz", "Oslo", "Riga", "Tartu"))
    studies.abort(trial.study, "coordinator")
    with pytest.raises(Conflict, match="has 4 cohorts") as caught:
        repeat(trial, cohorts=3)
    assert "revoke" in caught.value.remedy
    assert Study.objects.count() == 1
    invitations.revoke(trial.study, Cohort.objects.get(name="Riga"), "coordinator")
    assert [cohort.name for cohort in repeat(trial, cohorts=3).members()] == ["Graz", "Oslo", "Tartu"]


def test_the_list_is_that_of_the_old_study(ended: Make) -> None:
    trial = ended(panel_mode="list", panel_list=variants(9))
    again = repeat(trial)
    assert again.list_ready and again.plan.panel_digest == variants(9).digest
    client = moved(trial.clients[0])
    assert client.call("GET", "list").content == variants(9).canonical


def test_a_list_that_is_to_come_is_refused(ended: Make) -> None:
    with pytest.raises(Conflict, match="has not been uploaded yet"):
        repeat(ended(), panel_mode="list")


def test_under_another_compensator_a_study_is_not_repeated(ended: Make) -> None:
    trial = ended()
    Study.objects.filter(pk=trial.study_id).update(
        plan_json=trial.study.plan_json | {"compensator_key": SealingKey.generate().public.hex()}
    )
    with pytest.raises(Conflict, match="another key"):
        repeat(trial)


def test_a_repetition_that_ended_too_admits_nobody(ended: Make) -> None:
    trial = ended()
    again = repeat(trial)
    studies.abort(again, "coordinator")
    assert trial.clients[0].call("POST", "repetition").status_code == 404
    work()
