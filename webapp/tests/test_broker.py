"""The web processes ring where the worker listens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

SCRIPT = """
import threading
import unpooled_webapp.wsgi
from unpooled_server import tasks

def show():
    print(tasks.advance_round.app.conf.broker_url)

thread = threading.Thread(target=show)  # requests are answered by other threads than the first
thread.start()
thread.join()
show()
"""


@pytest.mark.parametrize("broker", ["redis://127.0.0.1:1/5", "redis://:word@127.0.0.1:1/0"])
def test_every_thread_of_a_web_process_rings_at_the_set_broker(broker: str, tmp_path: Path) -> None:
    environment = {**os.environ, "UNPOOLED_HOME": str(tmp_path), "UNPOOLED_BROKER_URL": broker}
    environment["DJANGO_SETTINGS_MODULE"] = "unpooled_webapp.settings"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout.split() == [broker, broker]
