"""Requests that the web server keeps: what reaches their clients, and what becomes of them when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from unpooled.protocol import VERSION
from unpooled.protocol.invitation import Invitation
from unpooled_webapp import http_worker

from ..federation import Federation
from ..patience import PATIENCE, until

STUDY = "api/v1/cohort/study"


class Cohort:
    """A cohort of a study to which nobody but it belongs yet."""

    def __init__(self, running: Federation) -> None:
        self.coordinator = running.coordinator
        plan = {"test": "chi-square", "phenotype": "phenotype", "cohorts": 3}
        self.study = self.coordinator.call("POST", "studies", json={"name": "Wait", "plan": plan})["id"]
        invitation = self.invite("Graz")
        headers = {
            "Authorization": f"Bearer {invitation.token}",
            "Unpooled-Client": "0" * 32,
            "Unpooled-Protocol": str(VERSION),
        }
        self.http = httpx.Client(base_url=running.address, headers=headers, trust_env=False, timeout=PATIENCE)

    def invite(self, name: str) -> Invitation:
        path = f"studies/{self.study}/invitations"
        return Invitation.from_text(self.coordinator.call("POST", path, json={"cohort": name})["invitation"])

    def heard_at(self) -> str | None:
        [cohort] = self.coordinator.call("GET", f"studies/{self.study}")["cohorts"]
        return str(cohort["heard_at"])

    @contextmanager
    def waiting(self, seconds: int) -> Iterator[Future[httpx.Response]]:
        """Ask for news, and be heard as a client that waits for them."""
        version = self.http.get(STUDY).json()["version"]
        first = self.heard_at()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self.http.get, STUDY, params={"seen": version, "wait": seconds})
            until(lambda: self.heard_at() != first, lambda: "the request is not kept")
            yield asked


@pytest.fixture
def cohort(running: Federation) -> Iterator[Cohort]:
    made = Cohort(running)
    with made.http:
        yield made


def test_bytes_keep_a_long_wait_alive_and_news_end_it(cohort: Cohort) -> None:
    with cohort.http.stream("GET", STUDY, params={"seen": _version(cohort), "wait": 300}) as answer:
        blocks = answer.iter_raw()
        assert (answer.headers["X-Accel-Buffering"], next(blocks)) == ("no", b"\n")
        cohort.invite("Munich")
        said = b"".join(blocks)
    assert answer.status_code == 200 and _version_in(said) > 0
    assert _version(cohort) == _version_in(said)
    assert http_worker.KEEP_ALIVE_SECONDS < 20  # within which clients want to hear something


def test_of_a_refusal_a_client_that_has_waited_is_told_when_it_asks_again(cohort: Cohort) -> None:
    with cohort.http.stream("GET", STUDY, params={"seen": _version(cohort), "wait": 300}) as answer:
        blocks = answer.iter_raw()
        assert next(blocks) == b"\n"
        cohort.coordinator.call("DELETE", f"studies/{cohort.study}")
        assert b"".join(blocks).strip() == b""
    assert cohort.http.get(STUDY).status_code == 401


def test_a_short_wait_is_silent_and_ends(running: Federation, cohort: Cohort) -> None:
    version, before = _version(cohort), len(running.web.said())
    answer = cohort.http.get(STUDY, params={"seen": version, "wait": 1})
    assert (answer.json()["version"], answer.headers["Content-Type"]) == (version, "application/json")
    said = running.web.said()[before:]
    assert "path=/api/v1/cohort/study" in said and "[error]" not in said


def test_who_waits_is_answered_before_the_web_server_ends(running: Federation, cohort: Cohort) -> None:
    with cohort.waiting(20) as asked:
        assert running.web.process
        running.web.process.terminate()
        try:
            assert asked.result(PATIENCE).status_code == 200
            until(lambda: running.web.has_ended, running.web.said)
        finally:
            running.web.stop()
            running.web.start()


def _version(cohort: Cohort) -> int:
    return int(cohort.http.get(STUDY).json()["version"])


def _version_in(said: bytes) -> int:
    return int(httpx.Response(200, content=said).json()["version"])
