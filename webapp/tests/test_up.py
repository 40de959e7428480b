"""`unpooled up` as people start it: processes, kills, a whole study through all of them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cohort_client import Client
from federation_fixtures import NAMES, Data, variants
from signing_in import PASSWORD, signed_in
from whole_studies import SMALL

from tests.patience import PATIENCE, until
from tests.services import fresh_stores
from unpooled.protocol import VERSION
from unpooled.protocol.invitation import PREFIX, Invitation
from unpooled_server.models import Branch
from unpooled_server.names import StudyState
from unpooled_webapp import first_run
from unpooled_webapp.commands import up

PLAN = SMALL | {"chunk_size": 2}


class Platform:
    """A running `unpooled up`."""

    def __init__(self, home: Path, variables: dict[str, str], *arguments: str) -> None:
        self.home, self.variables = home, variables
        clean = {name: value for name, value in os.environ.items() if not name.startswith("UNPOOLED_")}
        self.log = (home / "log").open("wb")
        command = [sys.executable, "-m", "unpooled_webapp", "up"]
        self.process = subprocess.Popen(
            [*command, "--home", str(home), "--port", "0", "--with-compensator", *arguments],
            env={**clean, "UNPOOLED_ADMIN_PASSWORD": PASSWORD, "UNPOOLED_READY_FOR": "none", **variables},
            stdout=self.log,
            stderr=self.log,
        )

    @functools.cached_property
    def address(self) -> str:
        return str(self.addresses()["web"])

    def addresses(self) -> Any:
        """Addresses of its processes, once it is up."""
        found: dict[str, Any] = {}

        def are_there() -> bool:
            assert self.process.poll() is None, (self.home / "log").read_text()
            with contextlib.suppress(OSError, ValueError):  # not written, or not all of it
                found.update(json.loads((self.home / "addresses.json").read_text()))
            return found.get("pid") == self.process.pid

        until(are_there, (self.home / "log").read_text)
        return found

    def coordinator(self) -> httpx.Client:
        return signed_in(lambda: httpx.Client(base_url=self.address, timeout=PATIENCE), "admin")

    def manage(self, *arguments: str) -> str:
        """Run one of Django's commands, and return what it prints."""
        command = [sys.executable, "-m", "unpooled_webapp", "manage", *arguments]
        environment = {**os.environ, "UNPOOLED_HOME": str(self.home), **self.variables}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """One for tests that leave it running."""
    with started(tmp_path_factory.mktemp("up")) as platform:
        yield platform


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Platform]:
    with started(tmp_path) as platform:
        yield platform


@contextlib.contextmanager
def started(home: Path) -> Iterator[Platform]:
    stores = fresh_stores()
    environment = {"UNPOOLED_DATABASE_URL": stores.database, "UNPOOLED_BROKER_URL": stores.broker}
    platform = Platform(home, environment)
    try:
        platform.addresses()
        yield platform
    finally:
        if platform.process.poll() is None:
            platform.stop()


def started_study(platform: Platform) -> tuple[httpx.Client, str, list[Client]]:
    http = platform.coordinator()
    study = http.post("/api/v1/studies", json={"name": "Trial", "plan": PLAN}).json()["id"]
    clients = []
    for seed, name in enumerate(NAMES):
        text = http.post(f"/api/v1/studies/{study}/invitations", json={"cohort": name}).json()["invitation"]
        data = Data.make(seed, variants())
        transport = httpx.HTTPTransport(retries=20)
        client = httpx.Client(base_url=platform.address, timeout=PATIENCE, transport=transport)
        clients.append(Client(client, Invitation.from_text(text), data.own, data.aligned))
    for step in ("join", "accept", "announce"):
        for each in clients:
            getattr(each, step)()
    return http, study, clients


def insist(action: Callable[[], str], wanted: str) -> None:
    """Do it again and again, as a client does while the other side restarts."""

    def is_so() -> bool:
        with contextlib.suppress(httpx.HTTPError, AssertionError, ValueError):
            return action() == wanted
        return False

    until(is_so, lambda: f"not {wanted}")


@pytest.mark.services
def test_a_study_survives_the_death_of_each_process_and_all_end_with_ctrl_c(running: Platform) -> None:
    http, study, clients = started_study(running)
    threads = [
        threading.Thread(target=insist, args=(lambda each=each: each.answer_all(wait=2), "done"))
        for each in clients
    ]
    for thread in threads:
        thread.start()
    for name in ("worker", "web", "compensator"):
        os.kill(killed := running.addresses()["processes"][name], signal.SIGKILL)
        insist(
            lambda name=name, pid=killed: str(running.addresses()["processes"].get(name, pid) != pid), "True"
        )
    for thread in threads:
        thread.join()
    seen: dict[str, Any] = {}

    def state() -> str:
        seen.update(http.get(f"/api/v1/studies/{study}").json())
        return str(seen["state"])

    insist(state, "done")
    assert seen["one_operator"] is True
    results = http.get(f"/api/v1/studies/{study}/results").json()
    assert results[0]["name"] == "study.assoc"
    assert http.get(f"/api/v1/studies/{study}/results/study.assoc").text.count("\n") == 13
    pids = running.addresses()["processes"].values()
    assert running.stop() == 0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not (running.home / "addresses.json").exists()


def test_odd_bodies_over_a_real_connection(shared: Platform) -> None:
    http, study, clients = started_study(shared)
    client = clients[0]
    asked: Any = None
    insist(lambda: "asked" if client.questions(wait=5).items else "", "asked")
    asked = client.questions().items[0]
    data, nonce = client.share(asked, client.cohort(client.questions().panel_digest))
    head = (
        f"PUT /api/v1/cohort/shares/{asked.round} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {client.invitation.token}\r\nUnpooled-Client: {client.instance}\r\n"
        f"Content-Type: application/octet-stream\r\nUnpooled-Nonce: {nonce}\r\n"
        f"Unpooled-Protocol: {VERSION}\r\n"
    )
    assert status_of(shared, f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data[:-1]) == 400
    assert status_of(shared, f"{head}Content-Length: 99999999999\r\n\r\n".encode() + data) == 413
    assert status_of(shared, f"{head}Content-Length: -5\r\n\r\n".encode() + data) == 400
    assert (
        status_of(shared, f"{head}Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n".encode()) == 411
    )
    assert list((shared.home / "studies" / study / "shares").glob("*")) == []
    assert status_of(shared, f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data) == 201
    http.post(f"/api/v1/studies/{study}/abort").raise_for_status()


def status_of(platform: Platform, message: bytes) -> int:
    host, port = platform.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        return int(connection.recv(4096).split()[1])


@pytest.mark.parametrize("public", ["", "https://studies.example.org/"])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_first_run_is_told_at_the_address_that_people_use(
    public: str,
    is_terminal: bool,
    platform: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The token is for a person's eyes: a log that keeps what was printed holds the name of its file only."""
    monkeypatch.setenv("UNPOOLED_PUBLIC_URL", public)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    token = first_run.token()
    up._Platform([], Path(platform.UNPOOLED_HOME), "http://127.0.0.1:8000", False)._greet(token)
    said = capsys.readouterr().out
    page = f"{public.rstrip('/') or 'http://127.0.0.1:8000'}/first-run#"
    assert page + (token if is_terminal else "TOKEN") in said
    if not is_terminal:
        assert token not in said
        (file,) = (line for line in said.splitlines() if line.endswith("first-run-token"))
        assert Path(file).read_text().strip() == token


def test_what_is_written_is_for_its_owner_only(shared: Platform) -> None:
    assert (shared.home / "secret-key").stat().st_mode & 0o077 == 0
    assert (shared.home / "compensator-secret").stat().st_mode & 0o077 == 0


def test_a_port_that_is_taken_is_said(shared: Platform, tmp_path: Path) -> None:
    port = shared.address.rsplit(":", 1)[1]
    other = tmp_path / "other"
    done = subprocess.run(
        [sys.executable, "-m", "unpooled_webapp", "up", "--home", str(other), "--port", port],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "choose another with --port" in done.stderr


@contextlib.contextmanager
def up_again(platform: Platform, *arguments: str) -> Iterator[Platform]:
    """The same platform, started once more."""
    again = Platform(platform.home, platform.variables, *arguments)
    try:
        yield again
    finally:
        if again.process.poll() is None:
            again.stop()


def test_a_study_of_another_release_is_not_left_behind_by_an_upgrade(running: Platform) -> None:
    """It stops the start, and nothing changes; unless it is failed, and says why."""
    _, study, clients = started_study(running)
    insist(lambda: "asked" if clients[0].questions(wait=5).items else "", "asked")
    running.stop()
    running.manage("shell", "-c", f"{Branch.__name__}.objects.update(release='0.0.1')")
    before = running.manage("dumpdata")
    with up_again(running) as refused:
        assert refused.process.wait(PATIENCE) == 1
        said = (running.home / "log").read_text()
        assert "Trial" in said and study in said and f", {StudyState.RUNNING}\n" in said
        assert f"{len(NAMES)} cohorts, begun by release 0.0.1, under way since" in said
        assert up.FAIL_RUNNING in said and "Traceback" not in said
    assert running.manage("dumpdata") == before
    with up_again(running, up.FAIL_RUNNING) as ended:
        seen = ended.coordinator().get(f"/api/v1/studies/{study}").json()
        assert seen["state"] == StudyState.FAILED
        assert "begun by release 0.0.1" in seen["reason"]
        clients[0].http.base_url = ended.address
        assert clients[0].study()["study"]["reason"] == seen["reason"]
    with up_again(running) as usual:
        assert usual.addresses()["web"]


def processes_of_the_demo(platform: Platform) -> list[Path]:
    """The folders in /proc of the process that looks after the demo's clients, and of these."""
    folder = str(platform.home / "demo").encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder in (process / "cmdline").read_bytes():
                found.append(process)
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at processes by Linux's /proc")
def test_a_demo_ends_with_any_of_its_processes(running: Platform) -> None:
    http = running.coordinator()

    def begin() -> str:
        answers: list[httpx.Response] = []

        def ask() -> str:
            answers.append(http.post("/api/v1/demo"))
            return str(answers[-1].status_code)

        insist(ask, "201")  # a demo that has just ended may hold its lock for a moment yet
        insist(lambda: str(len(processes_of_the_demo(running))), "4")
        return str(answers[-1].json()["id"])

    def state(study: str) -> str:
        return str(http.get(f"/api/v1/studies/{study}").json()["state"])

    def is_gone(study: str) -> bool:
        return not processes_of_the_demo(running) and not (running.home / "demo" / study).exists()

    study = begin()
    assert http.post("/api/v1/demo").json()["error"]["code"] == "demo-runs"
    assert http.get("/api/v1/studies").json()[0]["is_demo"] is True
    for process in processes_of_the_demo(running):
        assert b"UNPOOLED" not in (process / "environ").read_bytes()  # where the platform's secrets are
        assert os.getpriority(os.PRIO_PROCESS, int(process.name)) > 0
    clients = [
        each for each in processes_of_the_demo(running) if b"_client" in (each / "cmdline").read_bytes()
    ]
    os.kill(int(clients[0].name), signal.SIGKILL)
    insist(lambda: state(study), "aborted")
    insist(lambda: str(is_gone(study)), "True")
    assert re.search(r"demo: \w+ ended with status -9", (running.home / "log").read_text())
    study = begin()
    os.kill(running.addresses()["processes"]["web"], signal.SIGKILL)
    insist(lambda: state(study), "aborted")
    insist(lambda: str(is_gone(study)), "True")
    study = begin()
    assert running.stop() == 0
    assert is_gone(study)
    assert PREFIX not in (running.home / "log").read_text()


def test_help_names_every_command() -> None:
    done = subprocess.run([sys.executable, "-m", "unpooled_webapp", "--help"], capture_output=True, text=True)
    for name in ("up", "demo", "rehearse", "simulate", "worker", "administrator", "manage"):
        assert f"  {name} " in done.stdout
