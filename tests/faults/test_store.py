"""Web application and worker on machines that share no folder: each has a home, and all have one store."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .. import launch
from ..federation import SMALL_CHUNK, Federation
from ..parties import Party
from ..patience import PATIENCE
from ..ports import LOCAL, Port
from ..relay import Message, Relay
from ..services import Stores
from ..starting import Program, run
from .holds import Hold, assert_as_undisturbed


class ObjectStore:
    """An S3-compatible server with a bucket, reached through a relay that can refuse all."""

    def __init__(self, log: Path) -> None:
        self.port = Port()
        command = [
            str(Path(sys.executable).with_name("moto_server")),
            "-H",
            LOCAL,
            "-p",
            str(self.port.number),
        ]
        self.party = Party("objects", command, log, "Running on", dict(os.environ))
        self.party.start()
        self.put("/studies")
        self.relay = Relay(self.port.url)

    def put(self, path: str) -> None:
        assert httpx.put(self.port.url + path).status_code == 200

    def names(self) -> str:
        return httpx.get(f"{self.port.url}/studies").text

    def settings(self, prefix: str) -> dict[str, str]:
        return {
            "UNPOOLED_STORE": f"s3://studies/{prefix}?endpoint={self.relay.url}&region=us-east-1",
            "UNPOOLED_STORE_KEY": "anybody:secret",
            "UNPOOLED_SECRET_KEY": "the same on both machines, for these tests only",
        }

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Answer nothing that is asked through the relay."""
        honest = self.relay.change
        self.relay.change = lambda request, answer: Message("503", (), b"")
        try:
            yield
        finally:
            self.relay.change = honest


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    made = ObjectStore(tmp_path_factory.mktemp("objects") / "log")
    yield made
    made.relay.close()
    made.party.stop()
    made.port.close()


@pytest.fixture(scope="module")
def apart(objects: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """A platform whose web application and worker have a database and an object store in common."""
    made = Federation(tmp_path_factory.mktemp("apart"), Stores())
    made.environment |= objects.settings("apart")
    made.environment |= {"UNPOOLED_DATABASE_URL": f"sqlite:///{made.home}/db.sqlite3"}
    made.web.environment = made.environment
    made.worker.environment = {**made.environment, "UNPOOLED_HOME": str(made.folder / "worker's home")}
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_a_study_over_two_homes_has_the_same_bytes_though_parties_are_killed_and_the_store_goes_away(
    apart: Federation, objects: ObjectStore, small: tuple[Path, ...], undisturbed: dict[str, bytes]
) -> None:
    trial = apart.study(small, chunk_size=SMALL_CHUNK)
    entering = Hold(apart.web, launch.ENTER)  # the bytes are in the store, the row is not
    adding = Hold(apart.worker, launch.TOTAL, passing=2)
    writing = Hold(apart.worker, launch.WRITE_RESULT, passing=2)
    for hold in (entering, adding, writing):
        hold.close(trial)
    trial.start()
    entering.await_reached(trial)
    entering.kill(trial)

    adding.await_reached(trial)
    with objects.away():
        adding.gate(trial).open()
        trial.until(lambda: trial.state == "paused", "the study pauses")
        assert "The platform cannot use its store: the store does not answer." in trial.reason
        ready = httpx.get(f"{apart.address}/ready", timeout=PATIENCE).json()["checks"]
        assert ready["store"] == "the store does not answer" and ready["database"] == "ok"

    writing.await_reached(trial)
    writing.kill(trial)
    assert_as_undisturbed(trial, undisturbed)
    archive = zipfile.ZipFile(io.BytesIO(apart.coordinator.read(f"studies/{trial.id}/results.zip")))
    packed = {Path(name).name: archive.read(name) for name in archive.namelist()}
    assert {name: packed[name] for name in undisturbed} == undisturbed
    table = trial.call("GET", "table")  # of columns that the worker has written
    assert table["variants"] > 500
    trial.until(lambda: f"{trial.id}/told/" not in objects.names(), "what cohorts sent is deleted")
    assert f"{trial.id}/results-" in objects.names() and f"{trial.id}/shares/" not in objects.names()
    # Nothing that cohorts sent stays on a machine, but a day's drafts of a process that was killed.
    for home in (apart.home, apart.folder / "worker's home"):
        assert not [
            path
            for path in home.glob("scratch/studies/*/*/[!.]*")
            if path.parent.name in ("shares", "told", "lists")
        ]
    shutil.rmtree(apart.home / "scratch")
    assert trial.call("GET", "table") == table


def test_a_store_that_lets_a_name_be_taken_twice_is_refused(apart: Federation, objects: ObjectStore) -> None:
    worker = {**apart.environment, "UNPOOLED_HOME": str(apart.folder / "third home")}
    plain = objects.relay._pass_on

    def careless(request: Message) -> Message | None:
        kept = tuple(header for header in request.headers if header[0].lower() != "if-none-match")
        return plain(Message(request.line, kept, request.body))

    objects.relay._pass_on = careless  # type: ignore[method-assign]
    try:
        refused = run(Program("unpooled_webapp", ["worker"]), environment={**os.environ, **worker})
    finally:
        objects.relay._pass_on = plain  # type: ignore[method-assign]
    assert refused.returncode != 0 and "lets a name be taken twice" in refused.stderr
    assert "Traceback" not in refused.stderr
    other = worker | objects.settings("another")
    refused = run(Program("unpooled_webapp", ["worker"]), environment={**os.environ, **other})
    assert refused.returncode != 0 and "The database belongs to another home folder" in refused.stderr
