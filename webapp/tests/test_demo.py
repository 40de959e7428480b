"""The demo in the browser: who may start one, and the example data. What it runs is tested in test_up.py."""

from __future__ import annotations

import fcntl
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from signing_in import PASSWORD, Person

from unpooled_client.commands.cli import cli as client
from unpooled_server.models import Study
from unpooled_webapp import accounts
from unpooled_webapp.commands.demo import demo
from unpooled_webapp.demonstration import example, service


@pytest.fixture
def permitting(platform: Any) -> Any:
    """A platform whose operator permits demos."""
    platform.UNPOOLED_DEMO_ADDRESS = "http://127.0.0.1:9"
    return platform


def test_the_command_says_where_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "demo"
    done = CliRunner().invoke(demo, ["--out", str(out), "--exit"])
    assert done.exit_code == 1 and f"{out}: Not a directory" in done.output
    assert "--out" in done.output


def test_no_demo_unless_the_operator_permits_it(person: Person) -> None:
    client = person("somebody", accounts.ADMINISTRATOR)
    assert client.get("/api/v1/demo").json() == {"permitted": False, "lacking": "", "running": False}
    answer = client.post("/api/v1/demo")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "no-demo")
    assert not Study.objects.exists()


def test_an_observer_may_neither_start_one_nor_get_the_example(permitting: Any, person: Person) -> None:
    client = person("somebody", accounts.OBSERVER)
    assert client.get("/api/v1/demo").json()["permitted"] is False
    assert client.post("/api/v1/demo").status_code == 403
    assert client.get("/api/v1/example").status_code == 403
    assert not Study.objects.exists()


def test_what_is_lacking_is_said(permitting: Any, person: Person) -> None:
    permitting.UNPOOLED_COMPENSATOR_URL = ""
    client = person("somebody", accounts.COORDINATOR)
    assert "--with-compensator" in client.get("/api/v1/demo").json()["lacking"]
    answer = client.post("/api/v1/demo")
    assert answer.status_code == 409 and "--with-compensator" in answer.json()["error"]["remedy"]


@pytest.mark.services
def test_one_at_a_time(permitting: Any, person: Person) -> None:
    client = person("somebody", accounts.COORDINATOR)
    folder = Path(permitting.UNPOOLED_HOME) / "demo"
    folder.mkdir()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as the process that looks after the clients
        assert client.get("/api/v1/demo").json()["running"] is True
        answer = client.post("/api/v1/demo")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "demo-runs")
    assert client.get("/api/v1/demo").json()["running"] is False
    assert not Study.objects.exists()


@pytest.mark.services
def test_what_a_crash_left_is_cleaned_up(permitting: Any, person: Person) -> None:
    owner = accounts.create("coordinator", PASSWORD, accounts.COORDINATOR)
    study = Study.objects.create(owner=owner, name="Left", is_demo=True, state="running")
    left = Path(permitting.UNPOOLED_HOME) / "demo" / study.pk / "graz"
    left.mkdir(parents=True)
    service.clean_up()
    study.refresh_from_db()
    assert (study.state, study.reason) == ("aborted", service.ENDED)
    assert not left.exists()


def test_the_example_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    one, other = (example.archive(tmp_path / name).read_bytes() for name in ("one", "other"))
    assert one == other


def test_clients_accept_the_example(person: Person, tmp_path: Path) -> None:
    answer = person("somebody", accounts.COORDINATOR).get("/api/v1/example")
    assert answer.headers["Content-Type"] == "application/zip" and len(answer.content) < 5_000_000
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        packed.extractall(tmp_path)
    told = (tmp_path / "README.txt").read_text()
    for place in example.PLACES:
        done = CliRunner().invoke(client, ["check", "--bfile", str(tmp_path / place.prefix)])
        assert done.exit_code == 0, done.output
        assert f"{place.prefix:8} {place.people} people" in told and str(place.people) in done.stdout
