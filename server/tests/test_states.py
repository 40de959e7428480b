"""All transitions of a study, and pauses that begin and end by themselves."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest
from federation_fixtures import Federation, silent_for, work

from unpooled.protocol import SEALING_KEY_BYTES
from unpooled_server import compensator_client
from unpooled_server.bells import doorbell
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import Asked, Cohort, LogEntry, Round, Share, Study
from unpooled_server.names import PauseKind, StudyState
from unpooled_server.reads import selectors
from unpooled_server.services import changing, invitations, pictures, studies, sweeping, transitions
from unpooled_server.services.guarding import MAX_ATTEMPTS
from unpooled_server.storage import store

Make = Callable[..., Federation]

ACTIONS: dict[str, tuple[Callable[[Study], Any], set[str], str]] = {
    "start": (lambda study: studies.start(study, "me"), {"ready"}, "running"),
    "pause": (lambda study: studies.pause_by_request(study, "me"), {"running", "paused"}, "paused"),
    "resume": (lambda study: studies.resume_by_request(study, "me"), {"paused"}, "running"),
    "abort": (
        lambda study: studies.abort(study, "me"),
        {"draft", "open", "ready", "running", "paused"},
        "aborted",
    ),
}


@pytest.mark.parametrize("action", list(ACTIONS))
def test_an_action_is_possible_in_its_states_only(trial: Federation, action: str) -> None:
    act, allowed, after = ACTIONS[action]
    for state in StudyState:
        kind = PauseKind.ASKED if state == StudyState.PAUSED else PauseKind.NONE
        Study.objects.filter(pk=trial.study_id).update(state=state, pause_kind=kind)
        before = trial.study.version
        if state in allowed:
            act(trial.study)
            assert (trial.study.state, trial.study.version > before) == (after, state != after), state
        else:
            with pytest.raises(Conflict):
                act(trial.study)
            assert (trial.study.state, trial.study.version) == (state, before)


def test_only_a_study_that_is_not_over_can_fail(trial: Federation) -> None:
    for state in StudyState:
        Study.objects.filter(pk=trial.study_id).update(state=state, reason="")
        failed = transitions.fail(trial.study_id, "a reason")
        assert failed == (state not in ("done", "aborted", "failed"))
        assert trial.study.state == ("failed" if failed else state)
        assert (trial.study.reason == "a reason") == failed


@pytest.mark.services
def test_of_two_changes_from_one_state_one_wins(trial: Federation) -> None:
    stale = trial.study
    studies.abort(trial.study, "one")
    with pytest.raises(Conflict):
        studies.abort(stale, "other")
    assert LogEntry.objects.filter(study=trial.study_id, what="aborted").count() == 1


def test_a_duplicate_is_a_draft_with_the_same_plan(federation: Make, coordinator: Any) -> None:
    from federation_fixtures import variants

    trial = federation(panel_mode="list", panel_list=variants())
    trial.clients[0].join()
    copy = studies.duplicate(trial.study, coordinator)
    assert (copy.state, copy.repeats, copy.cohorts.count()) == ("draft", None, 0)
    assert copy.plan_json == trial.study.plan_json
    invitations.invite(copy, "Graz", "http://localhost", "coordinator")
    assert store.load_panel(store.coordinator_list_path(copy.pk)).digest == variants().digest


@pytest.mark.services
def test_an_ended_study_is_deleted_with_its_files(trial: Federation) -> None:
    trial.running()
    with pytest.raises(Conflict, match="cannot be deleted"):
        studies.delete(trial.study)
    trial.answer()
    work()
    studies.abort(trial.study, "me")
    work()
    assert not Asked.objects.exists()  # what was asked holds sums
    studies.delete(trial.study)
    assert not Study.objects.filter(pk=trial.study_id).exists()
    assert not store.study_folder(trial.study_id).exists()


def test_a_study_whose_seeds_are_with_the_compensator_is_not_deleted_while_it_is_away(
    trial: Federation, platform: Any
) -> None:
    trial.running()
    trial.answer()
    work()
    studies.abort(trial.study, "me")
    platform.UNPOOLED_COMPENSATOR_URL = "http://127.0.0.1:9"
    work()
    assert not trial.study.forgotten
    with pytest.raises(Unavailable):
        studies.delete(trial.study)
    assert selectors.studies_to_clean() == [trial.study_id]


def test_pictures_that_cannot_be_drawn_keep_no_seed_and_end_some_time(
    federation: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = pictures.draw
    monkeypatch.setattr(pictures, "draw", _full_disk)
    trial = federation()
    trial.run()
    assert trial.study.forgotten and not trial.study.columns
    page = selectors.result_file(trial.study, "study.report.html")
    assert page and b"Who took part" in (written := page.read()) and b"<svg" not in written
    for _ in range(MAX_ATTEMPTS - 1):
        assert selectors.studies_to_clean() == [trial.study_id]
        assert list((store.study_folder(trial.study_id) / "rows").iterdir())
        work()
    assert trial.study.state == "done" and trial.study.result_files.exists()
    work()
    assert selectors.studies_to_clean() == []
    assert "could not be drawn" in trial.study.log.last().what
    assert not (store.study_folder(trial.study_id) / "rows").exists()

    again = federation()
    again.run()
    monkeypatch.setattr(pictures, "draw", drawing)
    work()
    assert "neg_log10_p" in again.study.columns and selectors.studies_to_clean() == []


def _full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_archiving(trial: Federation) -> None:
    with pytest.raises(Conflict):
        studies.archive(trial.study, "me", True)
    studies.abort(trial.study, "me")
    studies.archive(trial.study, "me", True)
    assert trial.study.archived
    studies.archive(trial.study, "me", False)
    assert not trial.study.archived


@pytest.mark.parametrize(
    "plan",
    [
        *({"test": "magic"}, {"cohorts": 2}, {"cohorts": "three"}, {"phenotype": ""}, {"chunk_size": -1}),
        *({"masking": "none"}, {"trait": "quantitative"}, {"colour": "red"}, {"files": ["assoc", "exe"]}),
        *({"version": 99}, {"covariates": [{"name": "age"}]}, {"maf": 0.6}, {"files": ["glm"]}),
        {"test": "linear", "beta": True},
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_the_field(federation: Make, plan: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        federation(**plan)
    assert list(refused.value.fields) == [f"plan.{[*plan][-1]}"]
    assert not Study.objects.exists()


def test_nobody_can_choose_the_compensators_key(federation: Make) -> None:
    key = compensator_client.compensator().key()
    trial = federation(compensator_key="11" * SEALING_KEY_BYTES)
    assert trial.study.plan.compensator_key == key
    changing.change(trial.study, "me", plan={"compensator_key": "11" * SEALING_KEY_BYTES})
    assert trial.study.plan.compensator_key == key


def test_without_a_compensator_no_study_is_created(federation: Make, platform: Any) -> None:
    platform.UNPOOLED_COMPENSATOR_URL = ""
    with pytest.raises(Unavailable, match="no compensator is set up"):
        federation()
    platform.UNPOOLED_COMPENSATOR_URL = "http://127.0.0.1:9"
    with pytest.raises(Unavailable, match="does not answer"):
        federation()


@pytest.mark.services
@pytest.mark.parametrize(
    "name",
    ["", " ", "a\nb", "compensator", "Server", "platform", "x" * 81, "../etc", "<b>", "a\tb", "Ünï\x00"],
)
def test_odd_names_of_cohorts_are_refused(federation: Make, name: str) -> None:
    with pytest.raises(Refused):
        federation(names=("Graz", "Oslo", name))


@pytest.mark.services
def test_no_more_cohorts_than_the_plan_says(trial: Federation) -> None:
    with pytest.raises(Conflict, match="All 3 cohorts are invited"):
        invitations.invite(trial.study, "Bergen", "http://localhost", "me")
    invitations.withdraw(trial.study, Cohort.objects.get(name="Tartu"), "me")
    with pytest.raises(Conflict, match="invited already"):
        invitations.invite(trial.study, "Graz", "http://localhost", "me")
    invitations.invite(trial.study, "Bergen", "http://localhost", "me")


def test_a_cohort_that_joined_is_not_withdrawn(trial: Federation) -> None:
    trial.join()
    with pytest.raises(Conflict, match="has joined"):
        invitations.withdraw(trial.study, Cohort.objects.get(name="Graz"), "me")


def test_tokens_are_stored_hashed(trial: Federation) -> None:
    token = trial.clients[0].invitation.token
    assert len(token) >= 43  # 256 bits
    stored = Cohort.objects.get(name="Graz")
    assert token not in str(stored.__dict__)
    assert stored.token_hash == invitations.token_hash(token)


def test_a_log_is_only_added_to(federation: Make) -> None:
    entry = LogEntry.objects.filter(study=federation().study_id)[0]
    entry.what = "never happened"
    with pytest.raises(ValueError, match="only added to"):
        entry.save()


@pytest.mark.services
def test_a_cohort_that_stays_away_pauses_the_study_until_it_is_heard(trial: Federation) -> None:
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


def test_a_cohort_that_owes_nothing_may_be_silent(trial: Federation) -> None:
    trial.running()
    trial.answer(trial.clients[1])
    silent_for("Oslo", 3600)
    sweeping.sweep()
    assert trial.study.state == "running"


def test_a_pause_by_the_coordinator_ends_by_nobody_else(trial: Federation) -> None:
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


def test_the_coordinator_can_pause_a_study_that_waits(trial: Federation) -> None:
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

    def __call__(self, task: str, argument: Any) -> None:
        (self.rounds if task == doorbell.ROUND else self.studies).append(argument)


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Recording:
    recording = Recording()
    monkeypatch.setattr(doorbell, "_ring", recording)
    return recording


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_the_bell_rings_after_the_commit_and_the_sweep_rings_again(
    trial: Federation, bell: Recording
) -> None:
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
def test_what_is_to_do_is_read_from_the_database_alone(trial: Federation) -> None:
    assert (selectors.rounds_to_advance(), selectors.studies_to_advance()) == ([], [])
    trial.ready()
    assert [pk for pk, _ in selectors.studies_to_advance()] == [trial.study_id]
    work()
    assert (selectors.rounds_to_advance(), selectors.studies_to_advance()) == ([], [])
    trial.answer()
    assert selectors.rounds_to_advance() == [Round.objects.get().pk]
    one = Share.objects.order_by("id")[:1]
    Share.objects.filter(pk__in=one).update(is_whole=False)  # until its cohort helps to read it
    assert selectors.rounds_to_advance() == []


def test_a_study_whose_compensator_is_away_waits_before_its_start(trial: Federation, platform: Any) -> None:
    trial.ready()
    right = platform.UNPOOLED_COMPENSATOR_URL
    platform.UNPOOLED_COMPENSATOR_URL = "http://127.0.0.1:9"
    work()
    assert trial.study.state == "ready"
    assert "does not answer" in trial.study.reason
    platform.UNPOOLED_COMPENSATOR_URL = right
    work()
    assert (trial.study.state, trial.study.reason) == ("running", "")


def test_a_compensator_with_another_key_stops_the_start(trial: Federation) -> None:
    plan = {**trial.study.plan_json, "compensator_key": "11" * SEALING_KEY_BYTES}
    Study.objects.filter(pk=trial.study_id).update(plan_json=plan)
    trial.join()
    Cohort.objects.update(box_signature=b"x", list_digest="00" * 32)
    Study.objects.filter(pk=trial.study_id).update(state="ready", panel_digest="00" * 32)
    work()
    assert trial.study.state == "ready"
    assert "its key is different" in trial.study.reason
