"""Faults that an operator meets first: mail, a database or a broker that is away, too few connections, two
homes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Receiving

from unpooled.protocol import VERSION
from unpooled.protocol.invitation import Invitation

from .. import services
from ..collector import Collector, collecting, numbers
from ..federation import PASSWORD, Federation
from ..parties import Party
from ..patience import PATIENCE, until
from ..ports import LOCAL, Port
from ..services import PostgreSQL, Stores
from ..starting import Program, run

USUAL = 100  # connections that PostgreSQL allows unless told otherwise


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgreSQL]:
    services.skip_where_missing()
    with services.postgresql(USUAL) as running:
        yield running


@pytest.fixture(scope="module")
def redis() -> Iterator[services.Redis]:
    with services.redis() as running:
        yield running


class Mailbox(Receiving):
    """Mail server that keeps the messages it receives."""

    def __init__(self) -> None:
        super().__init__()
        self.mails: list[Message] = []

    def handle_message(self, message: Message) -> None:
        self.mails.append(message)


@pytest.fixture(scope="module")
def mailbox() -> Iterator[tuple[Mailbox, int]]:
    """A mail server, and its port."""
    box, port = Mailbox(), Port()
    server = Controller(box, hostname=LOCAL, port=port.number)
    server.start()
    yield box, port.number
    server.stop()
    port.close()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture(scope="module")
def platform(
    postgres: PostgreSQL,
    redis: services.Redis,
    mailbox: tuple[Mailbox, int],
    collector: Collector,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Federation]:
    """Platform as the compose file runs it: two web processes of 48 threads, a worker, PostgreSQL, Redis."""
    stores = Stores(postgres.create_database("platform"), redis.url())
    made = Federation(tmp_path_factory.mktemp("operating"), stores)
    made.environment |= {
        "WEB_CONCURRENCY": "2",
        "UNPOOLED_LOG": "json",
        "UNPOOLED_METRICS_SECRET": PASSWORD,
        "UNPOOLED_MAIL_URL": f"smtp://127.0.0.1:{mailbox[1]}",
        "UNPOOLED_MAIL_FROM": "Unpooled <studies@example.org>",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}",
    }
    made.web.environment = made.worker.environment = made.environment
    try:
        made.start()
        yield made
    finally:
        made.stop()


def sign_in(platform: Federation, http: httpx.Client) -> httpx.Response:
    return http.post(f"{platform.address}/api/v1/session", json={"username": "admin", "password": PASSWORD})


def connections(postgres: PostgreSQL) -> int:
    with psycopg.connect(postgres.url("postgres")) as one:
        found = one.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'platform'").fetchone()
    assert found
    return int(found[0])


def figure(platform: Federation, kind: str) -> float:
    """Return how many requests wait, or can wait, in one of the web processes."""
    headers = {"Authorization": f"Bearer {PASSWORD}"}
    said = httpx.get(f"{platform.address}/metrics", headers=headers, trust_env=False, timeout=PATIENCE).text
    found = re.findall(rf'unpooled_waiting_requests{{kind="{kind}"}} (.+)', said)
    return float(found[0]) if found else 0.0


def test_a_hundred_connections_are_enough(platform: Federation, postgres: PostgreSQL) -> None:
    """All places to wait are taken in both processes while a hundred ask at the same time."""
    plan = {"test": "chi-square", "phenotype": "phenotype", "cohorts": 90}
    study = platform.coordinator.call("POST", "studies", json={"name": "Many", "plan": plan})["id"]

    def invite(number: int) -> str:
        path = f"studies/{study}/invitations"
        answer = platform.coordinator.call("POST", path, json={"cohort": f"cohort{number}"})
        return Invitation.from_text(answer["invitation"]).token

    tokens = [invite(number) for number in range(90)]

    def patient(http: httpx.Client, path: str, **params: Any) -> httpx.Response:
        """Ask as the client does: a platform without a connection for 3 s answers so, and is asked again."""
        for _ in range(10):
            answer = http.get(path, params=params)
            if answer.status_code != 503:
                break
            time.sleep(float(answer.headers.get("Retry-After", 1)))
        return answer

    def wait(token: str) -> int:
        headers = {
            "Authorization": f"Bearer {token}",
            "Unpooled-Client": "0" * 32,
            "Unpooled-Protocol": str(VERSION),
        }
        with httpx.Client(
            base_url=platform.address, headers=headers, timeout=PATIENCE, trust_env=False
        ) as http:
            seen = patient(http, "/api/v1/cohort/study").json()["version"]
            return patient(http, "/api/v1/cohort/study", seen=seen, wait=6).status_code

    def ask(_: int) -> int:
        with httpx.Client(base_url=platform.address, timeout=PATIENCE, trust_env=False) as http:
            return patient(http, "/health").status_code

    with ThreadPoolExecutor(190) as pool:
        waiting = [pool.submit(wait, token) for token in tokens]
        asking = [pool.submit(ask, number) for number in range(100)]
        until(lambda: 0 < figure(platform, "taken") <= 90 < figure(platform, "places"), platform.web.said)
        most = 0
        while not all(one.done() for one in asking):
            most = max(most, connections(postgres))
        assert {one.result() for one in [*waiting, *asking]} == {200}
    assert most <= USUAL // 2


def test_a_mail_goes_out(platform: Federation, mailbox: tuple[Mailbox, int]) -> None:
    """A mail travels from the database through Celery's worker to a mail server."""
    channel = {"kind": "mail", "address": "ann@example.org", "events": ["done"], "all_own": True}
    made = platform.coordinator.call("POST", "account/channels", json=channel)
    platform.coordinator.call("POST", f"account/channels/{made['id']}/trial")
    until(lambda: mailbox[0].mails, platform.worker.said)
    (mail,) = mailbox[0].mails
    assert (mail["To"], mail["From"]) == ("ann@example.org", "Unpooled <studies@example.org>")
    assert mail["Subject"] == "A trial from Unpooled"
    assert "Notices about your studies will come to this address." in str(mail.get_payload())


def test_all_log_alike(platform: Federation) -> None:
    """gunicorn and Celery format no lines of their own, and one request's line names its number."""
    headers = {"X-Request-ID": "from-the-proxy"}
    httpx.get(f"{platform.address}/health", headers=headers, trust_env=False, timeout=PATIENCE)

    def loggers(party: Party) -> set[str]:
        lines = [json.loads(line) for line in party.said().splitlines() if line.startswith("{")]
        return {f"{line['logger']} {line.get('request', '')}".strip() for line in lines}

    assert {"gunicorn.error", "unpooled.access from-the-proxy"} <= loggers(platform.web)
    assert any(name.startswith("celery.") for name in loggers(platform.worker))
    assert "[INFO]" not in platform.web.said() and "INFO/" not in platform.worker.said()


def test_a_study_is_traced_from_a_share_to_the_sum_of_its_masks(
    platform: Federation, collector: Collector, small: tuple[Path, ...]
) -> None:
    """A step is below the request that rang for it, though another process does it."""
    trial = platform.study(small)
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()

    def paths() -> set[tuple[str, ...]]:
        """The names of each three spans of one round that are below one another."""
        spans = {span.span_id: span for span in collector.spans()}
        found = set()
        for span in spans.values():
            above = spans.get(span.parent_span_id)
            path = [one for one in (span, above, above and spans.get(above.parent_span_id)) if one]
            ours = {(numbers(one).get("unpooled.study"), numbers(one).get("unpooled.round")) for one in path}
            if len(path) == 3 and len(ours) == 1 and ours.pop()[0] == trial.id:
                found.add(tuple(one.name for one in path))
        return found

    wanted = ("POST compensator", "a round", "PUT api/v1/cohort/shares/<round:round_id>")
    until(lambda: wanted in paths(), lambda: f"{paths()}")
    secret = [PASSWORD, platform.caller_secret, *(cohort.invitation.token for cohort in trial.cohorts)]
    assert not any(word.encode() in body for word in secret for body in collector.got)


def test_without_redis_people_sign_in(platform: Federation, redis: services.Redis) -> None:
    with redis.party.away(), httpx.Client(trust_env=False, timeout=PATIENCE) as http:
        assert sign_in(platform, http).status_code == 200
        checks = http.get(f"{platform.address}/ready").json()["checks"]
    assert (checks["broker"], checks["database"]) == ("it does not answer (OperationalError)", "ok")
    answer = httpx.get(f"{platform.address}/ready", trust_env=False, timeout=PATIENCE)
    assert answer.json()["checks"]["broker"] == "ok"


def test_administrators_see_which_workers_answer(platform: Federation, redis: services.Redis) -> None:
    seen = partial(platform.coordinator.call, "GET", "platform")
    until(lambda: seen()["workers"] == ["worker@tests"], platform.worker.said)
    with redis.party.away():
        assert seen()["workers"] == []


def test_without_its_database_it_says_so_in_a_line_and_comes_back(
    platform: Federation, postgres: PostgreSQL
) -> None:
    with httpx.Client(trust_env=False, timeout=PATIENCE, base_url=platform.address) as http:
        sign_in(platform, http)
        before = len(platform.web.said()), len(platform.worker.said())
        with postgres.party.away():
            for path in ("/api/v1/studies", "/api/v1/session"):
                answer = http.get(path)
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database")
                assert answer.headers.get("Retry-After", 1) == "5"
            token = {
                "Authorization": "Bearer x",
                "Unpooled-Client": "0" * 32,
                "Unpooled-Protocol": str(VERSION),
            }
            answer = http.get("/api/v1/cohort/study", headers=token)
            assert (answer.status_code, answer.headers.get("Retry-After", 1)) == (503, "5")
            assert http.get("/health").status_code == 503
            answer = http.get("/metrics", headers={"Authorization": f"Bearer {PASSWORD}"})
            assert (answer.status_code, answer.headers.get("Retry-After", 1)) == (503, "5")
            until(lambda: "does not answer" in platform.worker.said()[before[1] :], platform.worker.said)
        until(lambda: http.get("/api/v1/studies").status_code == 200, platform.web.said)
    web = platform.web.said()[before[0] :]
    assert len(re.findall("database does not answer", web)) >= 3
    assert "Traceback" not in web + platform.worker.said()[before[1] :]


def is_taken(database: Path) -> bool:
    with contextlib.closing(sqlite3.connect(database)) as one:
        return bool(one.execute("SELECT * FROM unpooled_webapp_installation").fetchall())


@pytest.mark.parametrize("process", ["worker", "web"])
def test_a_process_with_another_home_does_not_start(tmp_path: Path, process: str) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    variables = {
        "UNPOOLED_DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "UNPOOLED_BROKER_URL": "",
        "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings",
    }
    port = Port()
    program = {
        "worker": Program("unpooled_webapp", ["worker"]),
        "web": Program("gunicorn", ["-c", "python:unpooled_webapp.serving", "--bind", port.address]),
    }[process]

    def ends(home: Path, program: Program) -> subprocess.CompletedProcess[str]:
        return run(program, environment={**os.environ, **variables, "UNPOOLED_HOME": str(home)})

    assert ends(own, Program("unpooled_webapp", ["manage", "migrate"])).returncode == 0
    ready = {"worker": "threads; tests", "web": "Booting worker"}[process]
    party = Party("own", program, tmp_path / "log", ready, {**variables, "UNPOOLED_HOME": str(own)})
    party.start()
    until(lambda: is_taken(tmp_path / "db.sqlite3"), party.said)
    party.kill()
    refused = ends(other, program)
    assert refused.returncode != 0
    assert f"belongs to another home folder than {other}" in refused.stderr
    assert "Traceback" not in refused.stderr
    other.joinpath("installation").write_text(own.joinpath("installation").read_text())  # as the message says
    party.environment = {**variables, "UNPOOLED_HOME": str(other)}
    party.start()
    party.kill()
