"""A thousand slow strangers beside thirty waiting clients: platform and compensator answer within a second.

On loopback, a few seconds each. The same attacks stop a platform on gunicorn's own threads, and a compensator
on uvicorn's own protocol.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from unpooled.protocol import VERSION
from unpooled.protocol.invitation import Invitation

from ..conftest import needed
from ..federation import Federation, federation
from ..parties import Party, free_port, until
from ..services import Stores
from .strangers import MANY, OPENINGS, slowest_answer, still_open, strangers

ROOT = Path(__file__).parents[2]
COHORTS = 30
WITHIN = 5.0
PLATFORM = [
    "nothing",
    "half a head",
    "half a small body",
    "half a large body",
    "half a share",
    "a head and a half",
]
COMPENSATOR = ["nothing", "half a head", "half a release"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with federation(tmp_path_factory.mktemp("slow"), Stores()) as made:
        yield made


@pytest.fixture(scope="module")
def tokens(running: Federation) -> list[Invitation]:
    """Of the cohorts of one study."""
    plan = {"test": "chi-square", "phenotype": "phenotype", "cohorts": COHORTS}
    study = running.coordinator.call("POST", "studies", json={"name": "Slow", "plan": plan})["id"]
    names = [f"cohort{number}" for number in range(COHORTS)]
    invite = f"studies/{study}/invitations"
    answers = [running.coordinator.call("POST", invite, json={"cohort": name}) for name in names]
    return [Invitation.from_text(answer["invitation"]) for answer in answers]


def as_cohort(address: str, invitation: Invitation) -> httpx.Client:
    headers = {
        "Authorization": f"Bearer {invitation.token}",
        "Unpooled-Client": "0" * 32,
        "Unpooled-Protocol": str(VERSION),
    }
    return httpx.Client(base_url=f"{address}/api/v1/cohort/", headers=headers, trust_env=False, timeout=40)


@contextmanager
def waiting_clients(address: str, tokens: list[Invitation]) -> Iterator[list[int]]:
    """Clients that wait for news again and again, as real ones do; the statuses of their answers."""
    stop, statuses = threading.Event(), list[int]()

    def wait(invitation: Invitation) -> None:
        with as_cohort(address, invitation) as client:
            version = client.get("study").json()["version"]
            while not stop.is_set():
                statuses.append(client.get("study", params={"seen": version, "wait": 2}).status_code)

    with ThreadPoolExecutor(len(tokens)) as pool:
        done = [pool.submit(wait, invitation) for invitation in tokens]
        try:
            time.sleep(1.0)
            yield statuses
        finally:
            stop.set()
    for one in done:
        one.result()


@pytest.mark.parametrize("kind", PLATFORM)
def test_the_platform_answers(running: Federation, tokens: list[Invitation], kind: str) -> None:
    with waiting_clients(running.address, tokens) as statuses, strangers(running.address, OPENINGS[kind]):
        assert slowest_answer(running.address) < WITHIN
    assert set(statuses) == {200}


@pytest.mark.parametrize("kind", COMPENSATOR)
def test_the_compensator_answers(running: Federation, kind: str) -> None:
    with strangers(running.compensator_address, OPENINGS[kind]):
        assert slowest_answer(running.compensator_address) < WITHIN


def test_strangers_are_given_up(running: Federation) -> None:
    with ExitStack() as stack:
        opened = {
            (address, kind): stack.enter_context(strangers(address, OPENINGS[kind], 20))
            for address, kinds in ((running.address, PLATFORM), (running.compensator_address, COMPENSATOR))
            for kind in kinds
        }
        assert still_open(opened[running.address, "half a head"]) == 20
        time.sleep(24)
        assert {key: still_open(sockets) for key, sockets in opened.items()} == dict.fromkeys(opened, 0)


@pytest.mark.parametrize("party", ["platform", "compensator"])
def test_more_connections_than_there_may_be_make_the_oldest_go(running: Federation, party: str) -> None:
    address = running.address if party == "platform" else running.compensator_address
    most = {"platform": 4096, "compensator": 2048}[party]
    with strangers(address, b"", most + 200) as opened:
        assert slowest_answer(address, 1.0) < WITHIN
        assert 1 <= still_open(opened[:200]) + 200 < 400  # the oldest are gone
        assert still_open(opened[-200:]) == 200


def test_slow_bodies_of_cohorts_hold_up_other_bodies_only(
    running: Federation, tokens: list[Invitation]
) -> None:
    """A token admits a body to be read; whoever trickles it takes none of the threads that answer."""
    head = (
        "PUT /api/v1/cohort/panel/digest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {tokens[0].token}\r\nUnpooled-Client: {'0' * 32}\r\n"
        f"Unpooled-Protocol: {VERSION}\r\nContent-Length: 60000\r\n\r\n"
    )
    with strangers(running.address, head.encode() + b"{", 100):
        assert slowest_answer(running.address) < WITHIN


# Readers of answers


@pytest.fixture(scope="module")
def long_answer(running: Federation) -> bytes:
    """A cohort's request for a list of a few megabytes."""
    listed = b"".join(b"1\t%d\trs%d\tA\tC\n" % (k, k) for k in range(1, 200_001))
    plan = {"test": "chi-square", "phenotype": "phenotype", "cohorts": 3, "panel_mode": "list"}
    study = running.coordinator.call("POST", "studies", json={"name": "Long", "plan": plan})["id"]
    running.coordinator.call("PUT", f"studies/{study}/list", content=listed)
    issued = running.coordinator.call("POST", f"studies/{study}/invitations", json={"cohort": "Graz"})
    token = Invitation.from_text(issued["invitation"]).token
    return (
        f"GET /api/v1/cohort/list HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Unpooled-Client: {'0' * 32}\r\nUnpooled-Protocol: {VERSION}\r\n\r\n"
    ).encode()


def test_readers_of_answers_hold_half_of_the_threads(running: Federation, long_answer: bytes) -> None:
    with strangers(running.address, long_answer, 100, buffer=4096):
        time.sleep(2 * WITHIN)  # all have had their turn
        assert slowest_answer(running.address) < WITHIN


# Through the documented proxy


@pytest.fixture(scope="module")
def proxy(running: Federation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of nginx, as docs/operations.md sets it up, but for TLS."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    needed(program, "nginx", "nginx-light")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    (block,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs/operations.md").read_text(), re.DOTALL)
    block = re.sub(r".*ssl_cert.*\n", "", block).replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    block = block.replace("http://127.0.0.1:8000", running.address).replace("studies.example.org", "_")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error; worker_rlimit_nofile 8192;"
        f"events {{ worker_connections 4096; }} http {{ access_log off; {temporary}\n{block}}}"
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(program), "-c", str(config), "-p", str(folder)], stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: slowest_answer(address, 0.1) < WITHIN, (folder / "log").read_text, 30)
        yield address
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("kind", PLATFORM)
def test_the_platform_answers_through_the_proxy(proxy: str, kind: str) -> None:
    with strangers(proxy, OPENINGS[kind], source="127.0.0.2"):
        assert slowest_answer(proxy) < WITHIN


# Where the defence is taken away


def stub(folder: Path, *command: str, environment: dict[str, str], ready: str) -> Party:
    return Party("stub", [sys.executable, "-m", *command], folder / "stub.log", ready, environment)


@pytest.mark.parametrize("kind", ["nothing", "half a head", "half a small body", "half a share", "a reader"])
def test_gunicorns_own_threads_are_stopped(
    running: Federation, long_answer: bytes, tmp_path: Path, kind: str
) -> None:
    opening, number, buffer = OPENINGS.get(kind, long_answer), MANY, 0
    if kind == "a reader":
        number, buffer = 100, 4096
    address = f"127.0.0.1:{free_port()}"
    options = ["--bind", address, "--worker-class", "gthread", "--threads", "48", "--no-control-socket"]
    party = stub(
        tmp_path,
        "gunicorn",
        "unpooled_webapp.wsgi",
        *options,
        environment=running.environment,
        ready="Booting worker",
    )
    party.start()
    try:
        slowest_answer(f"http://{address}", 1.0, patience=60)  # it loads the application
        assert slowest_answer(f"http://{address}", 1.0) < WITHIN
        with strangers(f"http://{address}", opening, number, buffer=buffer):
            assert slowest_answer(f"http://{address}", patience=2 * WITHIN) >= WITHIN
    finally:
        party.kill()


WITHOUT = """
import sys
from unpooled_compensator import cli, serving
import uvicorn
ours, weak = uvicorn.Config, {"http": "h11", "limit_concurrency": 256}
serving.uvicorn.Config = lambda app, **options: ours(app, **{**options, **weak})
sys.argv[0] = "unpooled-compensator"
cli.main()
"""


def test_uvicorns_own_protocol_is_stopped(tmp_path: Path) -> None:
    program = tmp_path / "without_patience.py"
    program.write_text(WITHOUT)
    port = free_port()
    command = [sys.executable, str(program), "serve", "--state", str(tmp_path / "state"), "--port", str(port)]
    party = Party("stub", command, tmp_path / "stub.log", "Fingerprint")
    party.start()
    try:
        slowest_answer(f"http://127.0.0.1:{port}", 1.0, patience=60)
        assert slowest_answer(f"http://127.0.0.1:{port}", 1.0) < WITHIN
        with strangers(f"http://127.0.0.1:{port}", OPENINGS["nothing"], 300):
            assert slowest_answer(f"http://127.0.0.1:{port}", patience=2 * WITHIN) >= WITHIN
    finally:
        party.kill()
