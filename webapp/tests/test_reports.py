"""Reports of errors: they reach the address that is set, and say nothing that anybody sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.collector import collecting
from tests.patience import PATIENCE

SENT = "what-somebody-sent"
# Without tables signing in fails, and so does what follows.
FAILING = f"""
import logging, django; django.setup()
import sentry_sdk
from django.test import Client
body = {{"username": "{SENT}", "password": "{SENT}"}}
client = Client(headers={{"Host": "localhost", "X-Request-ID": "number-7", "Authorization": "Bearer {SENT}"}})
client.post("/api/v1/session?key={SENT}", body, content_type="application/json")
try:
    value = "{SENT}"
    raise RuntimeError(value)
except RuntimeError:
    logging.getLogger("unpooled").exception("work on %s", value)
sentry_sdk.flush()
"""


def run(script: str, address: str, home: Path) -> subprocess.CompletedProcess[str]:
    variables: dict[str, Any] = {
        "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings",
        "UNPOOLED_HOME": str(home),
        "UNPOOLED_DATABASE_URL": "",
        "UNPOOLED_BROKER_URL": "",
        "UNPOOLED_ERROR_REPORTS": address,
    }
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_a_report_has_the_place_of_an_error_and_nothing_that_was_sent(tmp_path: Path) -> None:
    with collecting() as collector:
        done = run(FAILING, f"http://key@127.0.0.1:{collector.port}/1", tmp_path)
    got = collector.got
    assert done.returncode == 0, done.stderr
    events = [json.loads(envelope.splitlines()[2]) for envelope in got]
    in_request = next(event for event in events if event.get("tags", {}).get("request") == "number-7")
    assert "database does not answer" in in_request["logentry"]["message"]
    (error,) = events[-1]["exception"]["values"]
    assert (error["type"], error["stacktrace"]["frames"][-1]["lineno"]) == ("RuntimeError", 10)
    assert not any(SENT.encode() in envelope for envelope in got)
    assert not {"request", "user", "server_name", "breadcrumbs", "extra"} & {*in_request, *events[-1]}


def test_an_address_that_is_none_ends_the_start(tmp_path: Path) -> None:
    done = run("import django; django.setup()", "nonsense", tmp_path)
    assert done.returncode != 0
    assert "UNPOOLED_ERROR_REPORTS: want the address of a project" in done.stderr
