"""Bytes and seconds, per party."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from federation_fixtures import Federation, work

from unpooled_server.models import Cohort, Traffic
from unpooled_server.reads import selectors
from unpooled_server.services import metering, studies

pytestmark = pytest.mark.services

Make = Callable[..., Federation]


def test_every_party_and_phase_is_counted(trial: Federation) -> None:
    trial.run()
    # Writes down what quick rounds have left to a later request.
    body = trial.clients[0].call("GET", "results/study.assoc").content
    before = selectors.traffic(trial.study)
    assert before["delivery_of_results"] > 0  # the compensator was told to forget
    seen = {(link["party"], link["phase"]) for link in before["links"]}
    assert {
        (name, phase) for name in ("Graz", "Oslo", "Tartu") for phase in ("joining", "panel", "rounds")
    } <= seen
    assert ("compensator", "joining") in seen and ("compensator", "rounds") in seen
    trial.clients[0].call("GET", "results/study.assoc")
    after = selectors.traffic(trial.study)
    assert after["total"] == before["total"]
    assert len(body) < after["delivery_of_results"] - before["delivery_of_results"] < len(body) + 1000


def test_shares_count_with_their_bodies_and_what_was_asked_before(federation: Make) -> None:
    trial = federation(chunk_size=1000)
    trial.running()
    client = trial.clients[0]
    asked = client.questions()
    data, nonce = client.share(asked.items[0], trial.cohort(client, asked.panel_digest))
    client.put_share(asked.items[0].round, data, nonce)
    row = Traffic.objects.get(party="Graz", phase="rounds")
    assert (row.requests, row.messages, row.content) == (2, 1, len(data))
    assert len(data) + 400 < row.received < len(data) + 1400


def test_what_was_not_written_down_of_a_study_that_is_deleted_is_left_out(federation: Make) -> None:
    gone, trial = federation(), federation()
    for each in (trial, gone):
        each.running()
    gone.clients[0].questions()
    studies.abort(gone.study, "me")
    studies.delete(gone.study)
    trial.answer()
    assert set(Traffic.objects.values_list("study", flat=True)) == {trial.study_id}


def test_counting_starts_from_nothing(trial: Federation) -> None:
    metering.count(trial.study_id, "x", "rounds", 1, 2)  # type: ignore[arg-type]
    metering.count(trial.study_id, "x", "rounds", 10, 20)  # type: ignore[arg-type]
    row = Traffic.objects.get(party="x")
    assert (row.received, row.sent, row.requests) == (11, 22, 2)


def test_a_cohorts_own_timing_is_kept_within_bounds(trial: Federation) -> None:
    timing = {
        "computing": 1.5,
        "sending": 2,
        "odd": "x",
        "bad": -1,
        "k" * 100: 3,
        **{f"p{i}": i for i in range(99)},
    }
    trial.clients[0].ok("POST", "timing", json=timing)
    kept = Cohort.objects.get(name="Graz").timing
    assert (kept["computing"], kept["sending"]) == (1.5, 2.0)
    assert "odd" not in kept and "bad" not in kept
    assert len(kept) <= 40 and max(map(len, kept)) <= 40


def test_progress_has_no_number_of_a_cohort(trial: Federation) -> None:
    trial.ready()
    while trial.study.state != "running":
        studies.advance(trial.study_id)
    assert selectors.progress(trial.study)["title"] == "Running", "no file is written yet"
    work()
    trial.clients[0].answer_all(wait=0)
    progress = selectors.progress(trial.study)
    assert progress["title"] == "Count people"
    assert (progress["done"], progress["total"]) == (0, 1)
    assert progress["waiting_for"] == ["Oslo", "Tartu"]
    assert [set(row) for row in progress["cohorts"]] == [
        {"name", "state", "stage", "since", "heard_at", "questions_open", "problem"}
    ] * 3


def test_progress_says_which_iteration_a_model_is_at(federation: Make) -> None:
    trial = federation(test="logistic", files=("assoc",), max_iterations=9, covariates=[{"name": "age"}])
    trial.running()
    titles = []
    while trial.study.state == "running" and len(titles) < 30:
        titles.append(selectors.progress(trial.study)["title"])
        trial.answer()
        work()
    assert trial.study.state == "done", trial.study.reason
    covariates = [f"Fit covariates: iteration {k} of at most 9" for k in (1, 2)]
    fits = [f"Fit model: iteration {k} of at most 9" for k in (1, 2)]
    assert [title for title in titles if title in (*covariates, *fits)] == [*covariates, *fits], titles
    assert not any("iteration" in step["title"] for step in selectors.progress(trial.study)["steps"])
