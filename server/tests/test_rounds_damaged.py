"""Rounds whose shares are lost, damaged, or answers to different questions."""

from __future__ import annotations

import os

import pytest
from federation_fixtures import Federation, work
from round_fixtures import Killed, first_round, raising, to_the_end

from unpooled.algorithms.presence import Presence
from unpooled.errors import BoundError
from unpooled_server import store
from unpooled_server.models import Round, RowFile, Share
from unpooled_server.services import branches, rounds


def test_a_share_lost_on_disk_before_the_release_is_asked_for_again(trial: Federation) -> None:
    lost = Share.objects.get(cohort__name="Oslo")
    store.share_path(trial.study_id, lost.round_id, lost.cohort_id, lost.nonce).unlink()
    work()
    assert first_round(trial).state == "open"
    assert [len(client.questions().items) for client in trial.clients] == [0, 1, 0]
    assert "asks Oslo again" in trial.study.log.last().what
    trial.answer()
    to_the_end(trial)


@pytest.mark.parametrize("damage", ["gone", "shorter"])
def test_a_share_lost_after_the_release_fails_the_study(
    trial: Federation, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(rounds, "_release", raising(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    assert first_round(trial).state == "released"
    lost = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(trial.study_id, lost.round_id, lost.cohort_id, lost.nonce)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])
    work()
    assert trial.study.state == "failed"
    assert "lost after their release" in trial.study.reason


def test_a_damaged_share_never_becomes_a_number(trial: Federation) -> None:
    share = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(trial.study_id, share.round_id, share.cohort_id, share.nonce)
    path.write_bytes(os.urandom(share.size))
    work()
    assert trial.study.state == "failed"
    assert "masks of this round do not cancel" in trial.study.reason
    assert not RowFile.objects.exists()
    assert trial.clients[0].study()["results"] == []


def test_a_release_with_another_nonce_is_refused_and_fails_the_study(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_total", raising(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    share = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(trial.study_id, share.round_id, share.cohort_id, share.nonce)
    Share.objects.filter(pk=share.pk).update(nonce="b" * 32)
    path.rename(path.with_name(path.name.replace(share.nonce, "b" * 32)))
    work()
    assert trial.study.state == "failed"
    assert "compensator refuses" in trial.study.reason


def test_a_question_whose_sum_could_overflow_is_never_asked(trial: Federation) -> None:
    class TooLarge(Presence):
        sends = (type(Presence.sends[0])("present", ("count",), 2**31, "too large", "nothing"),)

    asked = Round.objects.count()
    with pytest.raises(BoundError):
        branches._open_rounds(trial.study, [(first_round(trial).branch, TooLarge(0, 5))])
    assert Round.objects.count() == asked
