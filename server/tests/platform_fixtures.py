"""Fixtures that the tests of server and webapp share. Importing it points Django at a test database.

SQLite in a temporary folder, or the database that UNPOOLED_TEST_DATABASE_URL names. The compensator is the
real one, as a process.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django
import httpx
import pytest

from tests import services

_HOME = tempfile.mkdtemp(prefix="unpooled-test-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
os.environ["UNPOOLED_HOME"] = _HOME
os.environ["UNPOOLED_DATABASE_URL"] = os.environ.get("UNPOOLED_TEST_DATABASE_URL", "")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "unpooled_webapp.settings")
for _name in (
    "UNPOOLED_BROKER_URL",
    "UNPOOLED_COMPENSATOR_URL",
    "UNPOOLED_PUBLIC_URL",
    "UNPOOLED_ONE_OPERATOR",
    "UNPOOLED_DEMO_ADDRESS",
):
    os.environ.pop(_name, None)
django.setup()
if not os.environ["UNPOOLED_DATABASE_URL"]:
    from django.db import connections

    # A file, as in production: threads lock each other otherwise in a database in memory.
    connections.settings["default"]["TEST"]["NAME"] = f"{_HOME}/test.sqlite3"

SECRET = secrets.token_urlsafe(32)


class CompensatorProcess:
    """The compensator, which tests may kill and start again on the same port and state."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        (folder / "secret").write_text(SECRET)
        (folder / "secret").chmod(0o600)
        self.start()

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "unpooled_compensator",
            "serve",
            "--state",
            str(self.folder / "state"),
        ]
        command += ["--caller-secret-file", str(self.folder / "secret"), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise AssertionError("the compensator did not start")
        self.url = f"http://127.0.0.1:{self.port}"
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as http:
            assert http.get(f"{self.url}/health").status_code == 200

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def compensator_of_all_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompensatorProcess]:
    process = CompensatorProcess(tmp_path_factory.mktemp("compensator"))
    yield process
    process.kill()


@pytest.fixture
def platform(db: None, settings: Any, tmp_path: Path, compensator_of_all_tests: CompensatorProcess) -> Any:
    """A server with its compensator. Work is done when a test calls `work()`.

    Everything runs on the test's own thread, inside one transaction that is rolled back after it. A test with
    threads is marked `django_db(transaction=True)`.
    """
    from django.core.cache import cache

    if services.are_given():
        settings.CACHES = settings.CACHES | {"default": services.cache_of_this_process()}
    settings.UNPOOLED_HOME = tmp_path
    settings.UNPOOLED_COMPENSATOR_URL = compensator_of_all_tests.url
    settings.UNPOOLED_COMPENSATOR_SECRET = SECRET
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; no test of its own
    cache.clear()
    return settings


@pytest.fixture
def compensator_process(
    platform: Any, compensator_of_all_tests: CompensatorProcess
) -> Iterator[CompensatorProcess]:
    """The compensator, to be killed; it runs again after the test."""
    yield compensator_of_all_tests
    if compensator_of_all_tests.process.poll() is not None:
        compensator_of_all_tests.start()


@pytest.fixture
def http(platform: Any) -> Iterator[Callable[[], httpx.Client]]:
    """Makes HTTP clients of the server that runs in this process."""
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections

    from unpooled_webapp.wsgi import application

    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)  # it would end the test's own transaction

    clients = []

    def make() -> httpx.Client:
        transport = httpx.WSGITransport(app=application, raise_app_exceptions=False)
        clients.append(httpx.Client(transport=transport, base_url="http://localhost"))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def session_headers(client: httpx.Client, name: str, password: str) -> dict[str, str]:
    """Sign in, and return the headers that a browser would send then."""
    answer = client.post("/api/v1/session", json={"username": name, "password": password})
    assert answer.status_code == 200, answer.text
    cookies = "; ".join(f"{cookie}={value}" for cookie, value in client.cookies.items())
    return {"Cookie": cookies, "X-CSRFToken": client.cookies["csrftoken"]}


def leave_an_example(home: Path) -> None:
    """Write the example that the platform would take long to make, where it finds an earlier one."""
    made = home / "example" / f"unpooled-example-{importlib.metadata.version('unpooled-core')}.zip"
    made.parent.mkdir()
    made.write_bytes(b"generated")
