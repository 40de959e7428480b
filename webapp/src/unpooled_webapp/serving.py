"""gunicorn's settings, wherever it is started: `gunicorn -c python:unpooled_webapp.serving`.

Its own options add to these: the address to listen on, the number of processes.
"""

from __future__ import annotations

import resource
import sys
from typing import Any

from gunicorn.glogging import Logger  # type: ignore[import-untyped]

from unpooled_webapp import environment, log_settings

# Files that are no connections: shares, results, the database, libraries.
_SPARE = 256


class WithoutAccessLog(Logger):  # type: ignore[misc]
    """Puts no line together for each request: `operating.logs` writes one, and nobody reads gunicorn's."""

    access_log_enabled = False


def _most_connections() -> int:
    """Return as many as the system lets a process have, within a bound on memory (32 KiB each)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 + _SPARE
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(most - _SPARE, threads + 64)


wsgi_app = "unpooled_webapp.wsgi"
worker_class = "unpooled_webapp.http_worker.Worker"
logger_class = WithoutAccessLog
threads = environment.threads()
worker_connections = _most_connections()
# A thousand clients that come back at once after a restart wait here, and are not refused.
backlog = 2048
# Seconds: more than the 60 of nginx, which else may send a request into a connection that just ends.
keepalive = 75
# Seconds without a sign of the main loop; requests that wait, in threads, do not count.
timeout = 120
logconfig_dict = log_settings.from_environment()
control_socket_disable = True  # it would lie in the home folder, where a second platform finds it


def post_worker_init(worker: Any) -> None:
    """gunicorn calls this in each process before it answers. At another status it would start it for ever."""
    from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]

    from unpooled_webapp import installation

    try:
        installation.check_at_start()
    except SystemExit as refusal:
        worker.log.error("%s", refusal)
        sys.exit(Arbiter.WORKER_BOOT_ERROR)
