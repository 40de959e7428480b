"""Whole studies over HTTP, against the same study run in one process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from federation_fixtures import Federation, variants, work

from unpooled import run
from unpooled.described.file_list import result_files
from unpooled.panel.agreement import align
from unpooled.panel.panel import Panel
from unpooled_server.models import Asked, Branch, Kept, Share
from unpooled_server.storage import store

Make = Callable[..., Federation]


def in_process(federation: Federation) -> dict[str, bytes]:
    """The result files that the library writes for the same cohorts without a network."""
    study = federation.study
    panel = store.load_panel(store.panel_path(study.pk))
    cohorts = [federation.cohort(client, panel.digest) for client in federation.clients]
    files = run.reports(study.plan, panel, run.run(study.plan, panel, cohorts))
    return {f"study.{suffix}": content for suffix, content in files.items()}


def delivered(federation: Federation, cohort: int = 0) -> dict[str, bytes]:
    """The result files as a cohort gets them, checked against their announced digests."""
    client = federation.clients[cohort]
    files = {}
    for result in client.study()["results"]:
        content = client.call("GET", f"results/{result['name']}").content
        assert len(content) == result["bytes"]
        assert hashlib.sha256(content).hexdigest() == result["sha256"]
        files[result["name"]] = content
    return files


def assert_files_as_in_process(trial: Federation, cohort: int = 0) -> None:
    files, wanted = delivered(trial, cohort), in_process(trial)
    assert {name: files[name] for name in wanted} == wanted


@pytest.mark.services
def test_what_is_kept_of_branches_may_be_in_files(
    federation: Make, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    """Arguments, values, journals and questions are found again; what is superseded twice is erased."""
    monkeypatch.setattr(store, "LARGE", 20)
    trial = federation(chunk_size=2)
    with django_capture_on_commit_callbacks(execute=True):
        trial.running()
        trial.answer()
        work()
    named = {*Kept.objects.values_list("file", flat=True), *Asked.objects.values_list("file", flat=True)}
    named |= {file for files in Branch.objects.values_list("last_files", flat=True) for file in files}
    folder = store.state_path(trial.study_id, "")
    assert {path.name for path in folder.iterdir()} == named - {""}
    assert Kept.objects.filter(asked=b"").exclude(file="").exists()
    trial.run_on()
    assert_files_as_in_process(trial)
    assert not folder.exists()


def test_a_list_of_the_coordinator_is_answered_by_masked_presence(federation: Make) -> None:
    full = variants(12)
    trial = federation(
        lists=[full, full.take(np.arange(2, 12)), full], panel_mode="list", panel_list=full, chunk_size=5
    )
    trial.join()
    trial.accept()
    for client in trial.clients:
        listed = Panel.from_canonical(client.call("GET", "list").content)
        assert listed.digest == full.digest
        assert client.ok("PUT", "panel/digest", json={"digest": listed.digest.hex()}) == {
            "list_wanted": False
        }
        trial.extra[client.invitation.token, b""] = client.data(*_alignment(listed, client.own))
    work()
    trial.run_on()
    assert trial.study.panel_size == 10
    remarks = delivered(trial)["study.variants.tsv"]
    assert remarks.count(b"absent in 1 of 3 cohorts") == 2


def _alignment(listed: Panel, own: Panel) -> tuple[np.ndarray, np.ndarray]:
    aligned = align(listed, own, np.ones(len(own), bool))
    return aligned.index, aligned.swapped


@pytest.mark.services
def test_masked_bytes_and_rows_are_deleted(trial: Federation) -> None:
    trial.run()
    assert Share.objects.filter(study=trial.study_id).exists()
    assert not (store.study_folder(trial.study_id) / "shares").exists()
    assert not (store.study_folder(trial.study_id) / "rows").exists()
    assert not (store.study_folder(trial.study_id) / "lists").exists()
    assert trial.study.forgotten
    assert trial.study.log.last().what == "the seeds at the compensator are deleted"


def test_the_manifest_says_what_was_done(trial: Federation) -> None:
    trial.run()
    files = delivered(trial)
    manifest = json.loads(files["study.manifest.json"])
    assert manifest["study"]["id"] == trial.study_id
    assert manifest["plan"] == trial.study.plan.to_json()
    assert manifest["operators"] == "one operator: not blind"
    assert [member["name"] for member in manifest["roster"]] == ["Graz", "Oslo", "Tartu"]
    assert set(files) == set(result_files(trial.study.plan))
    for file in manifest["files"]:
        assert hashlib.sha256(files[file["name"]]).hexdigest() == file["sha256"]
    assert manifest["traffic"]["total"] > 0
    assert manifest["traffic"]["delivery_of_results"] == 0
    seconds = manifest["traffic"]["seconds"]
    assert set(seconds["server"]) == {"joining", "panel", "rounds", "files", "summing"}
    assert seconds["compensator"]["releasing"] > 0


def test_sums_that_were_erased_are_refused_with_a_remedy(trial: Federation) -> None:
    trial.running()
    trial.answer()
    work()
    client, path = trial.clients[0], store.told_path(trial.study_id, "0")
    path.unlink()
    assert client.call("GET", "told/0").status_code == 404
    Share.objects.filter(study=trial.study_id).update(keeps=True)
    refused = client.call("GET", "told/0")
    assert refused.status_code == 409
    assert "`states`" in refused.json()["error"]["remedy"]
