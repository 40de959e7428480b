"""A thousand slow strangers beside sixty waiting clients: platform and compensator answer all the same.

On loopback, a few seconds each. The same attacks stop a platform on gunicorn's own threads, and a compensator
on uvicorn's own protocol.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
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
from ..leaks import UNHURRIED
from ..parties import Party
from ..patience import PATIENCE, until
from ..ports import Port
from ..services import Stores
from ..starting import Program
from .strangers import MANY, OPENINGS, SILENCE, answers, has_been_answered, still_open, strangers

ROOT = Path(__file__).parents[2]
COHORTS = 60  # more than there are threads
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
    """Invitations of all cohorts of one study."""
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
    return httpx.Client(
        base_url=f"{address}/api/v1/cohort/", headers=headers, trust_env=False, timeout=PATIENCE
    )


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
            until(lambda: len(statuses) >= len(tokens), lambda: f"{len(statuses)} have waited")
            yield statuses
        finally:
            stop.set()
    for one in done:
        one.result()


def test_strangers_are_given_up(running: Federation) -> None:
    with ExitStack() as stack:
        opened = {
            (address, kind): stack.enter_context(strangers(address, OPENINGS[kind], 20))
            for address, kinds in ((running.address, PLATFORM), (running.compensator_address, COMPENSATOR))
            for kind in kinds
        }
        assert still_open(opened[running.address, "half a head"]) == 20
        until(lambda: not any(map(still_open, opened.values())), lambda: "some are held for ever")


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
    with strangers(running.address, long_answer, 100, buffer=4096) as readers:
        until(lambda: all(map(has_been_answered, readers)), lambda: "not all have had their turn")
        assert answers(running.address)


# Where nobody is given up: what answers does so beside them, and not once they are gone


@pytest.fixture(scope="module")
def unhurried(running: Federation) -> Federation:
    """The same two, which wait for strangers for ever; it stays so in this file."""
    for party in (running.web, running.compensator):
        running.stub(party.name, UNHURRIED)
        party.restart()
    return running


@pytest.mark.parametrize("kind", PLATFORM)
def test_the_platform_answers(unhurried: Federation, tokens: list[Invitation], kind: str) -> None:
    address = unhurried.address
    with waiting_clients(address, tokens) as statuses, strangers(address, OPENINGS[kind]):
        assert answers(address)
    assert set(statuses) == {200}


@pytest.mark.parametrize("kind", COMPENSATOR)
def test_the_compensator_answers(unhurried: Federation, kind: str) -> None:
    with strangers(unhurried.compensator_address, OPENINGS[kind]):
        assert answers(unhurried.compensator_address)


@pytest.mark.parametrize("party", ["platform", "compensator"])
def test_more_connections_than_there_may_be_make_the_oldest_go(unhurried: Federation, party: str) -> None:
    address = unhurried.address if party == "platform" else unhurried.compensator_address
    most = {"platform": 4096, "compensator": 2048}[party]
    with strangers(address, b"", most + 200) as opened:
        assert answers(address)
        assert 1 <= still_open(opened[:200]) + 200 < 400  # the oldest are gone
        assert still_open(opened[-200:]) == 200


def test_slow_bodies_of_cohorts_hold_up_other_bodies_only(
    unhurried: Federation, tokens: list[Invitation]
) -> None:
    """A token admits a body to be read; whoever trickles it takes none of the threads that answer."""
    head = (
        "PUT /api/v1/cohort/panel/digest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {tokens[0].token}\r\nUnpooled-Client: {'0' * 32}\r\n"
        f"Unpooled-Protocol: {VERSION}\r\nContent-Length: 60000\r\n\r\n"
    )
    with strangers(unhurried.address, head.encode() + b"{", 100):
        assert answers(unhurried.address)


# Through the documented proxy


@pytest.fixture(scope="module")
def proxy(unhurried: Federation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of nginx, as docs/operations.md sets it up, but for TLS."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    needed(program, "nginx", "nginx-light")
    folder, port = tmp_path_factory.mktemp("nginx"), Port()
    (block,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs/operations.md").read_text(), re.DOTALL)
    block = re.sub(r".*ssl_cert.*\n", "", block).replace("listen 443 ssl", f"listen {port.address}")
    block = block.replace("http://127.0.0.1:8000", unhurried.address).replace("studies.example.org", "_")
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
    try:
        until(lambda: answers(port.url), (folder / "log").read_text)
        yield port.url
    finally:
        process.terminate()
        process.wait()
        port.close()


@pytest.mark.parametrize("kind", PLATFORM)
def test_the_platform_answers_through_the_proxy(proxy: str, kind: str) -> None:
    with strangers(proxy, OPENINGS[kind], source="127.0.0.2"):
        assert answers(proxy)


# Where the defence is taken away


@pytest.mark.parametrize("kind", ["nothing", "half a head", "half a small body", "half a share", "a reader"])
def test_gunicorns_own_threads_are_stopped(
    running: Federation, long_answer: bytes, tmp_path: Path, kind: str
) -> None:
    opening, number, buffer = OPENINGS.get(kind, long_answer), MANY, 0
    if kind == "a reader":
        number, buffer = 100, 4096
    options = ["--worker-class", "gthread", "--threads", "48", "--no-control-socket"]
    port = Port()
    command = Program("gunicorn", ["unpooled_webapp.wsgi", "--bind", port.address, *options])
    party = Party("stub", command, tmp_path / "stub.log", "Booting worker", running.environment)
    party.start()
    try:
        assert answers(port.url)
        with strangers(port.url, opening, number, buffer=buffer):
            assert not answers(port.url, SILENCE)
    finally:
        party.kill()
        port.close()


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
    port, state = Port(), str(tmp_path / "state")
    command = [sys.executable, str(program), "serve", "--state", state, "--port", str(port.number)]
    party = Party("stub", command, tmp_path / "stub.log", "Fingerprint")
    party.start()
    try:
        assert answers(port.url)
        with strangers(port.url, OPENINGS["nothing"], 300):
            assert not answers(port.url, SILENCE)
    finally:
        party.kill()
        port.close()
