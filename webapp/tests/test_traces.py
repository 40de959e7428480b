"""Traces: what takes how long reaches the address that is set, and nothing that anybody sent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collector import collecting, numbers
from tests.patience import PATIENCE, until

# There are no tables, so that /health answers 503.
SENT = "what-somebody-sent"
ASKING = f"""
import django; django.setup()
from django.test import Client
client = Client(headers={{"Host": "localhost", "X-Request-ID": "number-7", "Authorization": "Bearer {SENT}"}})
for path in ("/api/v1/studies/17/progress?key={SENT}", "/health", "/live"):
    client.get(path)
"""
# More than wait to be sent, with time without end for an address that does not answer: from when it is asked.
MANY = 20
BUSY = f"""
import os
from unpooled_server import traces; traces.PATIENCE = {PATIENCE}
import django; django.setup()
from django.test import Client
def is_answered(): return Client(headers={{"Host": "localhost"}}).get("/health").status_code > 0
while not os.path.exists(os.environ["UNPOOLED_HOME"] + "/asked"): is_answered()
print(sum(is_answered() for _ in range({MANY})), flush=True)
os._exit(0)
"""
LOADED = """
import sys, django; django.setup()
from django.test import Client
print(Client(headers={"Host": "localhost"}).get("/health").status_code > 0)
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def begin(script: str, address: str, home: Path) -> subprocess.Popen[str]:
    variables = {
        "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings",
        "UNPOOLED_HOME": str(home),
        "UNPOOLED_DATABASE_URL": "",
        "UNPOOLED_BROKER_URL": "",
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4",
        "OTEL_BSP_MAX_QUEUE_SIZE": "8",
    }
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script: str, address: str, home: Path) -> subprocess.CompletedProcess[str]:
    with begin(script, address, home) as begun:
        said = begun.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(begun.args, begun.returncode, *said)


def test_a_request_is_a_span_with_its_route_and_nothing_that_was_sent(tmp_path: Path) -> None:
    with collecting() as collector:
        done = run(ASKING, f"http://127.0.0.1:{collector.port}", tmp_path)
    assert done.returncode == 0, done.stderr
    progress, health = collector.spans()  # and none of a monitor
    assert (progress.name, health.name) == ("GET api/v1/studies/<str:study>/progress", "GET health")
    always = {"unpooled.request": "number-7"}
    assert numbers(progress) == always | {"http.response.status_code": "401", "unpooled.study": "17"}
    assert numbers(health) == always | {"http.response.status_code": "503", "error.type": "503"}
    assert not any(SENT.encode() in body or b"uthorization" in body for body in collector.got)


def test_an_address_that_does_not_answer_holds_up_no_request(tmp_path: Path) -> None:
    with collecting() as collector:
        collector.go_on.clear()
        with begin(BUSY, f"http://127.0.0.1:{collector.port}", tmp_path) as begun:
            until(lambda: bool(collector.got), lambda: "nothing was sent")
            (tmp_path / "asked").touch()
            said, errors = begun.communicate(timeout=PATIENCE)
    assert said == f"{MANY}\n", errors


def test_without_an_address_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    assert run(LOADED, "", tmp_path).stdout == "True\n[]\n"


@pytest.mark.parametrize("address", ["nonsense", "grpc://localhost:4317"])
def test_an_address_that_is_none_ends_the_start(tmp_path: Path, address: str) -> None:
    done = run("import django; django.setup()", address, tmp_path)
    assert done.returncode != 0
    assert f"OTEL_EXPORTER_OTLP_ENDPOINT: got '{address}'; want http:// or https://" in done.stderr
