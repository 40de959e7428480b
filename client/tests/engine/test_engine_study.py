"""A study from an invitation to the result files, through the real platform."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from client_trials import Trial

from unpooled import list_form, list_text
from unpooled.panel import Panel
from unpooled.simulate import SimulationReport
from unpooled_client.state import ledger
from unpooled_client.state.events import (
    Accepted,
    Checked,
    Failed,
    Finished,
    Joined,
    PanelAgreed,
    Results,
    ReviewNeeded,
    Sent,
    StepProgress,
)

MakeStudy = Callable[..., Trial]


def test_every_cohort_gets_the_same_results(smooth: Trial) -> None:
    assert [type(member.events[-1]) for member in smooth.members] == [Finished] * 3
    first, *others = [member.results() for member in smooth.members]
    assert {"study.assoc", "study.frq", "study.lmiss", "study.hwe"} <= set(first)
    assert all(other == first for other in others)


def test_the_events_come_in_their_order(smooth: Trial) -> None:
    kinds = [type(event) for event in smooth.members[0].events]
    order = [Joined, ReviewNeeded, Checked, Accepted, PanelAgreed, StepProgress, Results, Finished]
    assert [kinds.index(kind) for kind in order] == sorted(kinds.index(kind) for kind in order)


def test_progress_reaches_every_variant_of_the_panel(smooth: Trial) -> None:
    member = smooth.members[0]
    last = [event for event in member.told(StepProgress) if event.title == "Count genotypes"][-1]
    assert last.done == last.total == member.told(PanelAgreed)[0].variants
    assert last.is_last and last.left == 0


def test_progress_of_a_fit_says_which_iteration_it_is(study: MakeStudy) -> None:
    trial = study(test="logistic", files=["assoc"], max_iterations=12)
    trial.run_all()
    titles = {event.title for event in trial.members[0].told(StepProgress)}
    assert "Fit model: iteration 1 of at most 12" in titles, titles


def test_under_a_list_no_own_variants_are_sent(study: MakeStudy, files: SimulationReport) -> None:
    wanted = Panel.of(_variants(files.cohorts[0])[:40])
    trial = study(panel_mode="list", panel_list=list_text.write(wanted))
    trial.run_all()
    member = trial.members[0]
    assert isinstance(member.events[-1], Finished), member.events[-1]
    assert "List of variants" not in {event.quantity for event in member.told(Sent)}
    assert any(event.quantity == "Agree on variants: present" for event in member.told(Sent))
    assert member.told(PanelAgreed)[-1].variants <= 40


def test_a_list_is_sent_in_parts_that_are_bounded(
    study: MakeStudy, pooled: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_form.in_parts, "__defaults__", (700,))
    trial = study()
    trial.run_all()
    parts = [
        event
        for member in trial.members
        for event in member.told(Sent)
        if event.quantity == "List of variants"
    ]
    assert len(parts) > 3 and max(event.bytes for event in parts) == 700
    assert trial.members[1].results() == pooled


def test_all_that_was_sent_is_in_the_ledger(smooth: Trial) -> None:
    member = smooth.members[0]
    entries = list(ledger.read(member.state.ledger))
    assert [(e.quantity, e.bytes, e.form) for e in entries if e.round is None] == [
        (e.quantity, e.bytes, e.form) for e in member.told(Sent) if e.round is None
    ]
    assert sorted((e.round, e.bytes) for e in entries if e.round) == sorted(
        (e.round, e.bytes) for e in member.told(Sent) if e.round
    )


def test_a_study_that_is_done_delivers_its_results_again(study: MakeStudy) -> None:
    trial = study()
    trial.run_all()
    member = trial.members[0]
    before = member.results()
    (member.out / "study.assoc").write_text("spoiled")
    (member.out / "study.frq").unlink()
    assert isinstance(member.run(), Failed)  # what was changed is left alone, and the rest is there again
    assert member.results() == before | {"study.assoc": b"spoiled"}
    (member.out / "study.assoc").unlink()
    assert isinstance(member.run(), Finished)
    assert member.results() == before


def test_events_are_lines_of_json(smooth: Trial) -> None:
    member = smooth.members[0]
    for event in member.events:
        assert json.loads(json.dumps(event.to_json()))["event"]
    logged = [
        json.loads(line.split(" ", 1)[1])["event"] for line in member.state.log.read_text().splitlines()
    ]
    assert logged[-1] == "finished"
    assert len(logged) >= len(member.events) - 2  # there is no folder before the joining


def _variants(prefix: Path) -> list[tuple[int, int, bytes, bytes, bytes]]:
    rows = [line.split() for line in prefix.with_suffix(".bim").read_bytes().splitlines()]
    return [
        (int(row[0]), int(row[3]), row[1], row[4], row[5])
        for row in rows
        if row[0].isdigit() and b"0" not in row[4:6] and int(row[0]) <= 22
    ]
