"""A plan that is changed before the first sum: running clients meet it, stopped ones when they start."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from client_trials import Member, Platform, Trial, ended
from test_engine_faults import await_event, kill_after, lines

from tests.patience import PATIENCE
from unpooled.described.facts import Change
from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import (
    Accepted,
    Checked,
    Event,
    Exit,
    Failed,
    Finished,
    ReleaseNeeded,
    ReviewNeeded,
    Waiting,
)

MakeStudy = Callable[..., Trial]


def change(trial: Trial, **plan: object) -> None:
    trial.platform.call("PATCH", f"studies/{trial.id}", json={"plan": plan})


def labels(review: ReviewNeeded) -> list[str]:
    return [line.label for line in review.changes]


def test_a_floor_that_a_cohort_misses_is_mended_by_one_change(
    study: MakeStudy, pooled: dict[str, bytes]
) -> None:
    trial = study(min_samples=90)
    first, *others = trial.members
    threads = [member.beside() for member in others]
    for member in others:
        await_event(member, Waiting)
    refused = first.run()
    assert isinstance(refused, Failed) and (refused.exit, refused.told_server) == (Exit.DATA, "floor")
    for member in others:
        await_event(member, Accepted)
    before = len(first.events)

    change(trial, min_samples=20)
    assert isinstance(first.run(), Finished), first.events[-1]
    ended(*threads)
    assert {type(member.events[-1]) for member in others} == {Finished}
    assert first.results() == others[0].results() == pooled

    for member in others:
        kinds = [type(event) for event in member.told(ReviewNeeded, ReleaseNeeded)]
        assert kinds == [ReviewNeeded, ReleaseNeeded, ReviewNeeded]
        review = member.told(ReviewNeeded)[-1]
        assert review.changed == "the plan"
        assert review.changes[0] == Change(
            "Each cohort has at least", "90 people, 10 cases and controls", "20 people, 10 cases and controls"
        )
        assert labels(review)[1:] == ["Plan hash"]
    asked = [event for event in first.events[before:] if isinstance(event, ReviewNeeded | ReleaseNeeded)]
    assert [type(event) for event in asked] == [ReviewNeeded, ReleaseNeeded]
    assert labels(asked[0]) == ["Each cohort has at least", "Plan hash"]


def until_accepted(trial: Trial) -> Member:
    """All have accepted and wait for the coordinator to start; one client was stopped since."""
    first, *others = trial.members
    for member in others:
        member.beside()
    kill_after(first, "accepted")
    return first


@pytest.mark.parametrize(
    ("changes", "asked", "after"),
    [
        ([{"maf": 0.05}], [ReviewNeeded], "0.05"),  # of the same files the same leaves
        ([{"chromosomes": ["1"]}], [ReviewNeeded, ReleaseNeeded], "1"),
        ([{"maf": 0.05}, {"maf": 0.0}], [], ""),  # changed back, it is what was accepted
    ],
    ids=str,
)
def test_a_client_that_was_stopped_meets_the_change_at_its_next_start(
    trial: Trial, changes: list[dict[str, Any]], asked: list[type[Event]], after: str
) -> None:
    trial.platform.call("PATCH", f"studies/{trial.id}", json={"auto_start": False})
    first = until_accepted(trial)
    for plan in changes:
        change(trial, **plan)
    thread = first.beside()
    await_event(first, Accepted)
    told = first.told(ReviewNeeded, ReleaseNeeded)
    assert [type(event) for event in told] == asked
    assert all(after in event.changes[0].after for event in told if isinstance(event, ReviewNeeded))
    assert first.told(Checked) or ReleaseNeeded not in asked
    trial.abort(thread)


def test_a_change_while_somebody_reads_the_plan_is_shown(trial: Trial) -> None:
    first, *others = trial.members
    threads = [member.beside() for member in others]
    asked: list[Event] = []

    def answer(engine: object, event: ReviewNeeded | ReleaseNeeded) -> None:
        asked.append(event)
        if len(asked) == 1:
            change(trial, maf=0.05)  # and no answer is given
        else:
            engine.accept(event)  # type: ignore[attr-defined]

    last = first.run(first.engine(options=DataOptions(bfile=first.bfile)), answer)
    assert isinstance(last, Finished), last
    assert [type(event) for event in asked] == [ReviewNeeded, ReviewNeeded, ReleaseNeeded]
    ended(*threads)


def test_a_server_that_changes_the_plan_after_a_release_gets_nothing(
    study: MakeStudy, platform: Platform
) -> None:
    trial = study(chunk_size=40)
    first, *others = trial.members
    threads = [member.beside() for member in others]
    kill_after(first, "step-progress")
    for _ in range(2):  # the second kind of question follows from the sums of the first
        for line in lines(first):
            if line["event"] == "step-progress" and line["title"] != "Count people":
                break
    change_in_secret(platform, trial, min_samples=1)
    sent = first.state.ledger.read_bytes()
    last = first.run()
    assert isinstance(last, Failed) and last.exit == Exit.REFUSED, last
    assert "another plan or roster although sums of this study were released" in last.message
    assert not first.told(Accepted)
    assert b"seed" not in first.state.ledger.read_bytes()[len(sent) :]
    trial.abort(*threads)


def change_in_secret(platform: Platform, trial: Trial, **fields: object) -> None:
    """Change the plan as only a dishonest server can: it forgets that it asked for a sum."""
    with contextlib.closing(sqlite3.connect(platform.database, timeout=PATIENCE)) as database:
        row = database.execute("SELECT plan_json FROM unpooled_server_study WHERE id = ?", [trial.id])
        plan = json.dumps(json.loads(row.fetchone()[0]) | fields)
        database.execute(
            "UPDATE unpooled_server_study SET plan_json = ?, state = 'open', enrolled_at = NULL, begun = 0, "
            "panel_digest = '', version = version + 100 WHERE id = ?",
            [plan, trial.id],
        )
        database.execute(
            "UPDATE unpooled_server_cohort SET box_sealed = x'', box_signature = x'' WHERE study_id = ?",
            [trial.id],
        )
        database.commit()
