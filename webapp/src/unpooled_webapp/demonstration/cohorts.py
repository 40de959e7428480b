"""`python -m unpooled_webapp.demonstration.cohorts HOME FOLDER`: the clients of a demo, until they end.

The invitations lie in FOLDER/<place>. The exit status is 0 if every client took part until the end. This
process knows no secret of the platform's; what it may use of the machine is limited, and so are the clients.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

from unpooled_webapp.demonstration import example
from unpooled_webapp.rehearsal.clients import Client, start_client

# Seconds: a demo that was paused and forgotten ends.
LONGEST = 1800.0
LIMITS = {
    resource.RLIMIT_CPU: 300,  # seconds of each process; it takes a few
    resource.RLIMIT_FSIZE: 64 << 20,  # bytes of each file
    resource.RLIMIT_DATA: 4 << 30,  # bytes of each process
    resource.RLIMIT_CORE: 0,
}
GOES_ON = 0.2  # seconds between looks


def main() -> int:
    home, folder = map(Path, sys.argv[1:])
    os.umask(0o077)
    _limit()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))  # leaves the blocks below
    data = folder / "data"
    example.unpack(home, data)
    with contextlib.ExitStack() as stack:
        clients = {
            place.name: stack.enter_context(
                start_client(folder / place.prefix, ["--bfile", str(data / place.prefix), "--threads", "1"])
            )
            for place in example.PLACES
        }
        _wait(clients)
        return _report(clients)


def _limit() -> None:
    os.nice(5)  # the platform goes first
    for what, most in LIMITS.items():
        _, hard = resource.getrlimit(what)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (limit, limit))


def _wait(clients: dict[str, Client]) -> None:
    """Wait until all have ended, or one of them badly, or time is over."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        statuses = [client.exit_status for client in clients.values()]
        if None not in statuses or any(statuses):
            return
        time.sleep(GOES_ON)


def _report(clients: dict[str, Client]) -> int:
    """Say in the platform's log how a client ended that did not end well. Clients write no secret there."""
    for name, client in clients.items():
        if client.exit_status:
            print(
                f"demo: {name} ended with status {client.exit_status}",
                client.last_words(),
                sep="\n",
                file=sys.stderr,
            )
    return 0 if all(client.exit_status == 0 for client in clients.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
