"""One measure over the whole study: it never goes back, and the time left comes to what it takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from federation_fixtures import Federation, variants, work

from unpooled_server.models import Cohort, Round, Study
from unpooled_server.reads import remaining, selectors
from unpooled_server.services import studies

Make = Callable[..., Federation]
SIZE = 30  # variants: six chunks

PLANS: dict[str, dict[str, Any]] = {
    "chi-square": {},
    "chi-square by a list": {"panel_mode": "list"},
    "linear": {"test": "linear", "trait": "quantitative", "covariates": [{"name": "age"}]},
    "logistic": {"test": "logistic", "covariates": [{"name": "age"}]},
}


@pytest.mark.parametrize("name", PLANS)
def test_the_whole_study_only_grows(federation: Make, name: str) -> None:
    plan = dict(PLANS[name])
    if name.endswith("list"):
        plan["panel_list"] = variants(SIZE)
    trial = federation([variants(SIZE)] * 3, **plan)
    for client in trial.clients:
        trial.extra[client.invitation.token, b""] = client.data(np.arange(SIZE), np.zeros(SIZE, bool))
    assert remaining.share_done(trial.study) == 0
    trial.running()
    seen = [0.0]
    while trial.study.state == "running" and len(seen) < 200:
        trial.answer()
        work()
        seen.append(selectors.progress(trial.study)["share_done"])
    assert trial.study.state == "done", trial.study.reason
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert len(set(seen)) >= min(len(seen), 4), seen  # it moves
    assert all(share < 1 for share in seen[:-1])


@pytest.mark.services
def test_the_time_left_is_known_once_it_can_be_told(federation: Make) -> None:
    trial = federation([variants(60)] * 3)
    trial.running()
    pace: list[float] = []
    while trial.study.state == "running":
        share = remaining.share_done(trial.study)
        began = Round.objects.filter(study=trial.study_id).earliest("opened_at").opened_at
        # A study whose rounds are as slow as their bytes: an hour in all.
        now = began + timedelta(hours=share)
        left = remaining.seconds_left(trial.study, share, now)
        summed = Round.objects.filter(study=trial.study_id, state="aggregated").count()
        if 0 < share < 1 and summed >= 3:
            assert left is not None
            pace.append(left + 3600 * share)
        trial.answer()
        work()
    assert pace == pytest.approx([3600] * len(pace), abs=1)
    assert len(pace) >= 1


def test_a_pause_is_no_pace(trial: Federation) -> None:
    trial.running()
    studies.pause_by_request(trial.study, "coordinator")
    Study.objects.update(paused_at=timezone.now() - timedelta(hours=2))
    assert remaining.seconds_left(trial.study, 0.5, timezone.now()) is None
    studies.resume_by_request(trial.study, "coordinator")
    assert trial.study.paused_seconds == pytest.approx(7200, abs=10)


def test_a_roster_that_is_fixed_anew_begins_anew(trial: Federation) -> None:
    trial.running()
    assert trial.study.foreseen
    client = trial.clients[0]
    client.key = type(client.key).generate()
    client.join()
    assert (trial.study.foreseen, remaining.share_done(trial.study)) == ({}, 0)
    assert Cohort.objects.get(name="Graz").public_key == client.key.public.hex()
