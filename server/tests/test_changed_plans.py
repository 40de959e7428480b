"""A plan that is changed: by nobody else than its coordinator, until a sum over the cohorts is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from federation_fixtures import Federation, variants, work
from round_fixtures import beside
from trial_stages import UNTIL, complete

from unpooled_server.errors import Conflict, Refused
from unpooled_server.models import Branch, Cohort, LogEntry, Round, Share
from unpooled_server.services import changing, panels, rounds
from unpooled_server.storage import store

Make = Callable[..., Federation]
FLOOR = {"min_samples": 2}


def change(trial: Federation, **fields: Any) -> None:
    changing.change(trial.study, "coordinator", **fields)


def log(trial: Federation) -> list[str]:
    return list(LogEntry.objects.filter(study=trial.study_id).values_list("what", flat=True))


def all_ready(trial: Federation) -> bool:
    return all(cohort.ready for cohort in Cohort.objects.filter(study=trial.study_id))


@pytest.mark.parametrize("until", UNTIL)
def test_until_a_sum_is_asked_for_the_plan_may_be_changed(trial: Federation, until: str) -> None:
    UNTIL[until](trial)
    old = trial.study.plan
    change(trial, plan=FLOOR)
    assert trial.study.state == "open"
    assert trial.study.plan.min_samples == 2 and trial.study.plan.hash() != old.hash()
    assert (trial.study.panel_digest, trial.study.begun, trial.study.reason) == ("", False, "")
    for kind in (Round, Branch, Share):
        assert not kind.objects.filter(study=trial.study_id).exists()
    cohorts = Cohort.objects.filter(study=trial.study_id)
    assert not any(cohort.accepted or cohort.list_digest or cohort.problem for cohort in cohorts)
    trial.extra.clear()
    trial.run()


def test_the_log_says_what_was_changed(trial: Federation) -> None:
    trial.ready()
    change(trial, plan=FLOOR)
    said = "\n".join(log(trial))
    assert "the plan was changed; all cohorts accept again" in said
    assert "changed the plan. Each cohort has at least: 1 people" in said
    assert "2 people" in said and "Plan hash: " in said


def test_where_nobody_has_accepted_nobody_is_said_to_accept_again(trial: Federation) -> None:
    trial.join()
    change(trial, plan=FLOOR)
    assert "accept again" not in "\n".join(log(trial))


def test_what_changes_nothing_for_the_cohorts_leaves_what_they_accepted(federation: Make) -> None:
    trial = federation(auto_start=False)
    trial.ready()
    work()
    lines = len(log(trial))
    change(trial, plan={"phenotype": "T2D", "min_samples": 1}, name="Trial")
    assert len(log(trial)) == lines
    change(trial, name="Another name", description="More words.", auto_start=True)
    assert log(trial)[-1] == "changed name, description, auto_start"
    assert trial.study.state == "ready" and trial.study.name == "Another name"
    assert all_ready(trial)


def test_after_a_sum_was_asked_for_the_plan_is_final(trial: Federation) -> None:
    complete(trial)
    work()
    old = trial.study.plan
    with pytest.raises(Conflict, match="can no longer be changed") as caught:
        change(trial, plan=FLOOR)
    assert "Change and repeat" in caught.value.remedy and "Abort" in caught.value.remedy
    change(trial, name="Another name")
    assert trial.study.plan == old and trial.study.state == "running"


def test_a_wrong_plan_changes_nothing(trial: Federation) -> None:
    trial.ready()
    with pytest.raises(Refused, match="not valid"):
        change(trial, plan={"min_samples": 0})
    with pytest.raises(Conflict, match="has not been uploaded yet"):
        change(trial, plan={"panel_mode": "list"})
    assert all_ready(trial) and trial.study.plan.min_samples == 1


def test_one_more_cohort_can_take_part(federation: Make) -> None:
    from unpooled_server.services import invitations

    trial = federation()
    trial.ready()
    change(trial, plan={"cohorts": 4})
    invitations.invite(trial.study, "Riga", "http://localhost", "coordinator")
    assert trial.clients[0].study()["roster"] is None


def test_a_list_that_was_sent_is_not_sent_again(federation: Make) -> None:
    trial = federation(lists=[variants(12), variants(11), variants(11)])
    trial.ready()
    change(trial, plan=FLOOR)
    trial.accept()
    for client in trial.clients:
        answer = client.ok("PUT", "panel/digest", json={"digest": client.own.digest.hex()})
        assert answer == {"list_wanted": False}
    assert all_ready(trial)


def test_lists_of_an_earlier_plan_do_not_stay(federation: Make) -> None:
    trial = federation(lists=[variants(12), variants(11), variants(10)])
    trial.ready()
    change(trial, plan=FLOOR)
    for client in trial.clients:
        client.own = variants(9)
    trial.accept()
    trial.announce()
    assert all_ready(trial)
    kept = [path.stem for path in (store.study_folder(trial.study_id) / "lists").iterdir()]
    assert kept == [variants(9).digest.hex()]


def test_a_list_made_under_the_earlier_plan_is_not_taken(trial: Federation) -> None:
    trial.join()
    trial.accept()
    change(trial, plan=FLOOR)
    client = trial.clients[0]
    answer = client.call("PUT", "panel/digest", json={"digest": client.own.digest.hex()})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not-accepted")


def test_a_worker_that_comes_too_late_asks_for_no_sum(trial: Federation) -> None:
    complete(trial)
    stale = Round.objects.select_related("study", "branch").get()
    change(trial, plan=FLOOR)
    rounds._advance(stale, stale.study)
    assert trial.study.enrolled_at is None


def test_questions_made_by_the_earlier_plan_are_not_asked(federation: Make) -> None:
    from unpooled_server.services import studies

    trial = federation()
    trial.ready()
    for _ in range(2):  # agree on variants, start
        studies.advance(trial.study_id)
    stale = trial.study
    assert (stale.state, stale.begun) == ("running", False)
    change(trial, plan=FLOOR)
    trial.accept()
    trial.announce()
    for _ in range(2):
        studies.advance(trial.study_id)
    assert trial.study.state == "running" and trial.study.panel_digest == stale.panel_digest
    studies._begin(stale)
    assert not trial.study.begun


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", range(4))
def test_of_a_change_and_the_first_sum_one_wins(trial: Federation, turn: int) -> None:
    complete(trial)
    old, number = trial.study.plan, Round.objects.get().pk
    refused: list[Exception] = []

    def yielding() -> None:
        try:
            change(trial, plan=FLOOR)
        except Conflict as error:
            refused.append(error)

    both = [yielding, lambda: rounds.advance(number)]
    beside(*(both if turn % 2 else both[::-1]))
    if refused:
        assert trial.study.plan == old and trial.study.enrolled
    else:
        assert trial.study.plan != old and trial.study.enrolled_at is None
        assert not Round.objects.exists()


def test_a_list_on_its_way_when_the_plan_is_changed_does_not_count(trial: Federation) -> None:
    trial.join()
    trial.accept()
    client = trial.clients[0]
    client.ok("PUT", "panel/digest", json={"digest": client.own.digest.hex()})
    stale = Cohort.objects.get(name="Graz")

    def blocks() -> Any:
        change(trial, plan=FLOOR)
        yield client.own.canonical

    with pytest.raises(Conflict, match="announced in the meantime"):
        panels.receive_list(stale, 0, client.own.canonical_bytes, blocks())
    assert not Cohort.objects.get(name="Graz").list_stored
