"""Lists of variants are compared as they come in: one wrong file is one cohort's to mend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cohort_client import Client
from federation_fixtures import Data, Federation, variants, work

from unpooled.panel.overlap import Cause, Overlap
from unpooled.panel.panel import Panel
from unpooled.protocol.problems import Problem
from unpooled_server.errors import Conflict
from unpooled_server.models import Cohort, LogEntry, Share
from unpooled_server.services import panels
from unpooled_server.storage import files, store

Make = Callable[..., Federation]

SHIFTED = Panel.of([(1 + i % 3, 900_000 + 10 * i, b"rs%d" % i, b"A", b"G") for i in range(12)])


@pytest.fixture(autouse=True)
def no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list need not have been here for five seconds before it is compared with some of the others."""
    monkeypatch.setattr(panels, "QUIET", panels.QUIET * 0)


def wrong_at_graz(federation: Make, **plan: Any) -> Federation:
    trial = federation(lists=[SHIFTED, variants(), variants()], **plan)
    trial.ready()
    work()
    return trial


def give_other_files(trial: Federation, number: int, own: Panel) -> None:
    data = Data.make(number, own)
    client = trial.clients[number]
    client.own, client.data = own, data.aligned
    client.announce()


def state_of(trial: Federation, number: int) -> Any:
    return trial.clients[number].study()


@pytest.mark.services
def test_one_wrong_list_is_that_cohorts_alone(federation: Make) -> None:
    trial = wrong_at_graz(federation)
    study = trial.study
    assert (study.state, study.panel_digest, study.lists_share) == ("open", "", 0)
    assert study.lists_said == [
        "Graz: It has 0 of the 12 variants that Oslo and Tartu share, among 12 of its own. "
        + Cause.BUILD.message
    ]
    graz, oslo = state_of(trial, 0), state_of(trial, 1)
    assert (graz["cohort_state"], oslo["cohort_state"]) == ("accepted", "ready")
    assert Overlap.from_json(graz["list_apart"]) == Overlap(12, 12, 0, Cause.BUILD)
    assert oslo["list_apart"] is None
    assert oslo["waiting_for"] == ["Graz"]
    assert Cohort.objects.get(name="Graz").problem == Problem.OVERLAP.value


def test_the_others_are_not_told_what_is_wrong(federation: Make) -> None:
    trial = wrong_at_graz(federation)
    assert "genome build" not in str(state_of(trial, 1))
    log = " ".join(LogEntry.objects.filter(study=trial.study_id).values_list("what", flat=True))
    assert "Graz has to give other files" in log
    assert "genome build" not in log


def test_with_other_files_the_study_goes_on_and_nobody_else_has_done_anything(federation: Make) -> None:
    trial = wrong_at_graz(federation)
    boxes = {cohort.name: bytes(cohort.box_sealed) for cohort in Cohort.objects.all()}
    give_other_files(trial, 0, variants())
    assert Cohort.objects.get(name="Graz").problem == ""
    work()
    assert trial.study.state == "running"
    assert {cohort.name: bytes(cohort.box_sealed) for cohort in Cohort.objects.all()} == boxes
    trial.run_on()
    assert Share.objects.filter(study=trial.study_id).exists()


def test_the_same_list_again_stays_apart(federation: Make) -> None:
    trial = wrong_at_graz(federation)
    trial.clients[0].announce()
    work()
    assert state_of(trial, 0)["cohort_state"] == "accepted"
    assert trial.clients[0].questions(wait=5).items == ()  # answered at once: there is something to look at
    assert trial.study.state == "open"


def test_a_list_is_compared_before_all_are_here(federation: Make) -> None:
    trial = federation(lists=[SHIFTED, variants(), variants()])
    trial.join()
    trial.accept()
    for number in (0, 1):
        trial.clients[number].announce()
    work()
    study = trial.study
    assert study.lists_said == ["Graz and Oslo share 0 variants, of 12 and 12."]
    assert [state_of(trial, number)["cohort_state"] for number in (0, 1)] == ["ready", "ready"]
    trial.clients[2].announce()
    work()
    assert state_of(trial, 0)["cohort_state"] == "accepted"


def test_a_majority_is_of_all_cohorts_that_are_invited(federation: Make) -> None:
    """Two of five that agree do not make the third wrong."""
    names = ("Graz", "Oslo", "Tartu", "Riga", "Vaasa")
    trial = federation(lists=[SHIFTED, variants(), variants(), SHIFTED, SHIFTED], names=names)
    trial.join()
    trial.accept()
    for number in (0, 1, 2):
        trial.clients[number].announce()
    work()
    assert not Cohort.objects.filter(list_apart=True).exists()
    for number in (3, 4):
        trial.clients[number].announce()
    work()
    assert list(Cohort.objects.filter(list_apart=True).values_list("name", flat=True)) == ["Oslo", "Tartu"]


def test_without_a_majority_nobody_is_singled_out(federation: Make) -> None:
    whole = variants(12)
    trial = federation(lists=[whole.take(np.arange(k * 4, k * 4 + 4)) for k in range(3)])
    trial.ready()
    work()
    study = trial.study
    assert study.state == "open"
    assert len(study.lists_said) == 3
    assert not Cohort.objects.filter(list_apart=True).exists()
    with pytest.raises(Conflict, match="no variant in common"):
        panels.accept_overlap(study, "coordinator")
    give_other_files(trial, 0, whole)
    give_other_files(trial, 1, whole)
    work()
    assert (trial.study.state, trial.study.panel_size) == ("running", 4)


def test_the_coordinator_may_be_content_with_few(federation: Make) -> None:
    """Cohorts with different arrays share few variants, and there is nothing wrong with that."""
    whole = variants(12)
    trial = federation(lists=[whole.take(np.arange(9, 12)), whole, whole.take(np.arange(11))])
    trial.clients[0].own = own = Panel.of(
        [(1 + i % 3, 1000 + 10 * i, b"rs%d" % i, b"A", b"G") for i in (9, 10, *range(50, 60))]
    )
    data = Data.make(0, own)
    trial.clients[0].data = data.aligned
    trial.ready()
    work()
    study = trial.study
    assert (study.state, study.lists_share) == ("open", 2)
    panels.accept_overlap(study, "coordinator")
    work()
    assert (trial.study.state, trial.study.panel_size) == ("running", 2)
    with pytest.raises(Conflict, match="not waiting for a decision"):
        panels.accept_overlap(trial.study, "coordinator")


def test_a_list_that_changes_while_it_is_compared_is_compared_again(
    federation: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = federation(lists=[SHIFTED, variants(), variants()])
    trial.ready()
    honest = panels.reconciled

    def reconciled(lists: dict[str, Panel]) -> Any:
        monkeypatch.setattr(panels, "reconciled", honest)
        give_other_files(trial, 0, variants())
        return honest(lists)

    monkeypatch.setattr(panels, "reconciled", reconciled)
    work()
    assert trial.study.state == "running"
    assert not Cohort.objects.filter(list_apart=True).exists()


@pytest.mark.services
def test_two_workers_may_compare_the_same_lists(trial: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.ready()
    write, study = files.write, trial.study

    def late(path: Path, blocks: Iterable[bytes]) -> None:
        """Another worker does it all between the drafts of the first: of the panel, and of the remarks."""
        if path.name == store.remarks_path(study.pk).name:
            monkeypatch.setattr(files, "write", write)
            panels.compare(study)
        write(path, blocks)

    monkeypatch.setattr(files, "write", late)
    panels.compare(study)
    assert trial.study.panel_digest
    assert len(panels.agreed(trial.study)) == trial.study.panel_size
    left = {path.name for path in store.study_folder(study.pk).iterdir()}
    assert left == {"panel.bin", "remarks.tsv", "lists"}  # no draft


def test_another_list_than_the_agreed_one_comes_too_late(trial: Federation) -> None:
    trial.running()
    client: Client = trial.clients[0]
    answer = client.call("PUT", "panel/digest", json={"digest": SHIFTED.digest.hex()})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "panel-agreed")
    assert "Go on with the files" in answer.json()["error"]["remedy"]
    same = client.ok("PUT", "panel/digest", json={"digest": client.own.digest.hex()})
    assert same == {"list_wanted": False}
