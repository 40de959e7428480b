"""An upgrade from protocol version 1: home, compensator and clients as its last release left them.

What has ended stays as it was; what has not is settled, and everybody is told what to do.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from unpooled.plan.plan import Plan
from unpooled.protocol import VERSION
from unpooled.protocol.invitation import Invitation
from unpooled_client.state.folder import StateFolder
from unpooled_server.names import PauseKind, StudyState
from unpooled_webapp.commands.up import FAIL_RUNNING

from .federation import PASSWORD, Federation, Trial
from .services import Stores
from .starting import Program, run

ARCHIVE = Path(__file__).parent / "fixtures" / "version-1" / "version-1.tar.xz"


@dataclass
class Upgraded:
    """A platform of this release on what was left, and the clients' folders."""

    federation: Federation
    folder: Path
    studies: dict[str, Trial]
    refused: str
    """Message before anything was changed."""

    def get(self, name: str, path: str = "") -> Any:
        return self.studies[name].call("GET", path)

    def download(self, name: str, file: str) -> bytes:
        http = self.federation.coordinator._http
        return http.get(f"studies/{self.studies[name].id}/results/{file}").raise_for_status().content

    def client(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of this release's client, on the state of a cohort."""
        state = self.folder / name / "state"
        return run(Program("unpooled_client", [*arguments, "--state", str(state)]))

    def invitation(self, name: str) -> Invitation:
        return StateFolder(self.folder / name / "state").load().invitation


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    folder = tmp_path_factory.mktemp("version-1")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    federation = Federation(folder / "federation", Stores())
    for part in ("home", "compensator"):
        shutil.move(folder / part, federation.folder / part)
    ids = json.loads((folder / "studies.json").read_text())
    before = federation.dump()
    refused = refusal(federation)
    assert federation.dump() == before
    federation.manage("migrate", "--no-input", FAIL_RUNNING)
    try:
        for party in (federation.compensator, federation.web, federation.worker):
            party.start()
        federation.coordinator.sign_in("admin", PASSWORD)
        for name in ("done", "running"):
            move_to(StateFolder(folder / name / "state"), federation.address, folder / "data")
        studies = {name: Trial(federation, number) for name, number in ids.items()}
        yield Upgraded(federation, folder, studies, refused)
    finally:
        federation.stop()


def refusal(federation: Federation) -> str:
    """Return the refusal where nobody says what is to become of studies under way."""
    migrate = Program("unpooled_webapp", ["manage", "migrate", "--no-input"])
    said = run(migrate, environment={**os.environ, **federation.environment})
    assert said.returncode == 1
    return said.stderr


def move_to(state: StateFolder, address: str, data: Path) -> None:
    """Have a client find server and data where they are now."""
    values = json.loads(state.file.read_text().replace("/cohorts/gwas", str(data)))
    invitation = Invitation.from_text(values["invitation"])
    values["invitation"] = replace(invitation, server=address).to_text()
    state.file.write_text(json.dumps(values))


@pytest.mark.parametrize("name", ["done", "tables"])
def test_a_study_that_is_done_opens_and_downloads_as_before(upgraded: Upgraded, name: str) -> None:
    manifest = json.loads(upgraded.download(name, "manifest.json"))
    assert manifest["versions"]["protocol"] == 1
    study = upgraded.get(name)
    assert study["state"] == "done"
    assert study["plan_hash"] == manifest["plan_hash"] == Plan.from_json(study["plan"]).hash().hex()
    assert Plan.from_json(manifest["plan"]).hash().hex() == manifest["plan_hash"]
    listed = {file["name"]: file for file in upgraded.get(name, "results")}
    assert {file["name"] for file in manifest["files"]} == set(listed) - {"manifest.json"}
    for file in manifest["files"]:
        found = upgraded.download(name, file["name"])
        assert (len(found), hashlib.sha256(found).hexdigest()) == (file["bytes"], file["sha256"]), file[
            "name"
        ]


def test_pictures_rows_and_log_are_there(upgraded: Upgraded) -> None:
    table = upgraded.get("done", "table?start=0&count=100")
    assert table["variants"] == len(table["columns"]["position"]) == 60
    assert upgraded.get("done", "manhattan")["variants"]
    assert upgraded.get("done", "qq")["curves"]
    assert "done" in upgraded.studies["done"].log()


@pytest.mark.parametrize("name", ["done", "tables", "open", "running"])
def test_a_copy_is_a_draft_of_this_version_that_opens(upgraded: Upgraded, name: str) -> None:
    copy = Trial(upgraded.federation, upgraded.studies[name].call("POST", "duplicate")["id"])
    study = copy.call("GET")
    assert (study["state"], study["plan"]["version"]) == ("draft", VERSION)
    before = upgraded.get(name)["plan"]
    own = {"version": 1, "file_stem": "", "compensator_key": before["compensator_key"]}
    mine, theirs = (Plan.from_json(plan | own) for plan in (study["plan"], before))
    assert mine == theirs
    assert copy.call("POST", "invitations", json={"cohort": "Graz"})["invitation"]
    assert copy.state == "open"


def test_a_plan_that_nobody_has_joined_is_raised_while_the_compensator_has_its_kind_of_key(
    upgraded: Upgraded,
) -> None:
    study = upgraded.get("invited")
    assert (study["state"], study["plan"]["version"]) == ("failed", 5)
    assert "duplicate the study" in study["reason"]


def test_a_study_that_was_joined_and_not_begun_fails_and_says_what_to_do(upgraded: Upgraded) -> None:
    study = upgraded.get("open")
    assert (study["state"], study["plan"]["version"]) == ("failed", 1)
    assert "version 1" in study["reason"] and "duplicate the study" in study["reason"]


def test_a_running_study_stops_the_upgrade_before_it_changes_anything(upgraded: Upgraded) -> None:
    assert upgraded.studies["running"].id in upgraded.refused and FAIL_RUNNING in upgraded.refused
    assert "begun by a release of protocol version 1" in upgraded.refused
    others = [study.id for name, study in upgraded.studies.items() if name != "running"]
    assert not [study for study in others if study in upgraded.refused]


def test_then_it_is_ended_if_that_is_wanted(upgraded: Upgraded) -> None:
    study = upgraded.get("running")
    assert (study["state"], study["plan"]["version"]) == ("failed", 1)
    assert "protocol version 1" in study["reason"]


def test_its_cohorts_are_told(upgraded: Upgraded) -> None:
    said = upgraded.client("running", "run", "--yes")
    assert said.returncode != 0
    assert upgraded.get("running")["reason"] in said.stderr


@pytest.fixture
def held(upgraded: Upgraded) -> Iterator[Trial]:
    """The running study as an upgrade to a release before this one has left it: paused for good."""
    study, change = upgraded.studies["running"], "UPDATE unpooled_server_study SET state = ?, pause_kind = ?"
    upgraded.federation.rows(f"{change} WHERE id = ?", StudyState.PAUSED, PauseKind.RELEASE, study.id)
    yield study
    upgraded.federation.rows(f"{change} WHERE id = ?", StudyState.FAILED, PauseKind.NONE, study.id)


def test_one_that_was_held_before_stays_so_and_stops_the_next_upgrade(
    held: Trial, upgraded: Upgraded
) -> None:
    address = f"{upgraded.federation.address}/api/v1/studies/{held.id}/resume"
    http = upgraded.federation.coordinator._http
    answer = http.post(address, headers={"X-CSRFToken": http.cookies["csrftoken"]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "other-version")
    assert upgraded.get("running")["pause_kind"] == "release"
    assert held.id in refusal(upgraded.federation)


def test_its_cohorts_are_told_of_the_version(held: Trial, upgraded: Upgraded) -> None:
    said = upgraded.client("running", "run", "--yes")
    assert said.returncode != 0
    assert f"planned for protocol version 1, and this program speaks {VERSION}" in said.stderr + said.stdout


@pytest.mark.parametrize("named", [{}, {"Unpooled-Protocol": "1"}])
def test_a_client_of_version_1_is_told_what_to_install(upgraded: Upgraded, named: dict[str, str]) -> None:
    token = {"Authorization": f"Bearer {upgraded.invitation('done').token}", "Unpooled-Client": "0" * 32}
    answer = httpx.get(f"{upgraded.federation.address}/api/v1/cohort/study", headers=token | named)
    assert (answer.status_code, answer.json()["error"]["code"]) == (426, "client-too-old")
    assert "Install unpooled-client" in answer.json()["error"]["remedy"]


@pytest.mark.parametrize("name", ["done", "running"])
def test_the_ledger_of_version_1_verifies(upgraded: Upgraded, name: str) -> None:
    said = upgraded.client(name, "ledger", "verify", "--server")
    assert said.returncode == 0, said.stdout + said.stderr


def test_its_state_is_shown_and_its_results_are_fetched_anew(upgraded: Upgraded, tmp_path: Path) -> None:
    """The data are as they were, and this cohort is set against the pool as before."""
    (shown,) = json.loads(upgraded.client("done", "status", "--json").stdout)
    assert shown["agreed"] and shown["from_server"]["state"] == "done"
    said = upgraded.client("done", "results", "--out", str(tmp_path))
    assert said.returncode == 0, said.stdout + said.stderr
    before = upgraded.folder / "done" / "results"
    assert len(list(before.glob("study.*"))) == 6
    for path in before.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
