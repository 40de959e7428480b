"""Measures what clients that wait cost a platform, and the people and studies beside them.

    python bench/waiting.py [--clients 3000] [--studies 30] [--seconds 30] [--runs 3]

Each client is a connection that waits for news of its study, as a cohort's does. Beside them: `/health` and a
cohort's look at its study, ten times a second each; and a whole study of three cohorts, in turn with the same
one before anybody waits. With UNPOOLED_DATABASE_URL the platform's database is PostgreSQL.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import rehearsal
from memory import descendants
from processor import processor_seconds

from unpooled.protocol import VERSION
from unpooled.protocol.invitation import Invitation
from unpooled_webapp.demonstration import example
from unpooled_webapp.rehearsal.federation import Platform, Settings, home_folder, platform, run_study
from unpooled_webapp.rehearsal.screen import Screen

GOALS = "500 ms, 20 % of a core, 1,000 MB, a study 1.2 times"
EVERY = 0.1
MEGABYTE = 1e6


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--clients", type=int, default=3000)
    parser.add_argument("--studies", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    screen = Screen(quiet=True)
    with tempfile.TemporaryDirectory() as folder, home_folder(None) as home:
        words = [["--bfile", str(prefix)] for prefix in example.generate(Path(folder), pooled=False).cohorts]
        with platform(home, screen, example.PLAN) as running:

            def study() -> float:
                out = Path(folder) / secrets.token_hex(4)
                settings = Settings({**example.PLAN, "cohorts": len(words)}, words, out)
                return float(run_study(running, settings, screen).report["seconds"]["ready_to_platform"])

            alone = [study() for _ in range(given.runs + 1)][1:]  # the first warms caches
            here, *others = invited(running, given.clients, given.studies)
            parties = list(descendants(os.getpid()))
            with waiting(others):
                show(running, here, parties, given.seconds)
                beside = [study() for _ in range(given.runs)]
    ratio = statistics.median(beside) / statistics.median(alone)
    print(f"a study: {statistics.median(alone):.2f} s alone, {ratio:.2f} times that beside them")
    print(f"goals: {GOALS}")


def invited(running: Platform, clients: int, studies: int) -> Iterator[Invitation]:
    """Invite all cohorts to studies of as many each."""
    each = clients // studies
    for number in range(studies):
        values = {"name": f"Waiting {number}", "plan": {**example.PLAN, "cohorts": each}}
        made = running.coordinator.create_study(values)["id"]
        for cohort in range(each):
            yield Invitation.from_text(running.coordinator.invite(made, f"cohort{cohort}"))


@contextlib.contextmanager
def waiting(invitations: Sequence[Invitation]) -> Iterator[None]:
    """Keep a connection for each cohort that waits, from a process of its own, until the block ends."""
    answered: Synchronized[int] = multiprocessing.Value("i", 0)
    clients = multiprocessing.Process(target=wait_all, args=(invitations, answered), daemon=True)
    clients.start()
    try:
        while answered.value < len(invitations):  # each has looked once, and waits now
            time.sleep(EVERY)
        yield
        print(f"{answered.value - len(invitations):,} of the requests that waited were answered")
    finally:
        clients.kill()  # a rehearsal catches the signal to terminate


def wait_all(invitations: Sequence[Invitation], answered: Synchronized[int]) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*(wait(invitation, answered) for invitation in invitations))

    asyncio.run(all_of_them())


async def wait(invitation: Invitation, answered: Synchronized[int]) -> None:
    """Look at a study; then wait, again and again, until it has changed."""
    address, instance = urlsplit(invitation.server), secrets.token_hex(16)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    seen: Any = ""
    while True:
        head = headers(invitation, instance) | {"Host": address.netloc}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"GET /api/v1/cohort/study?wait=300&seen={seen} HTTP/1.1\r\n{lines}\r\n".encode())
        await writer.drain()
        seen = version(await answer(reader))
        answered.value += 1  # one thread adds to it


def headers(invitation: Invitation, instance: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {invitation.token}",
        "Unpooled-Client": instance,
        "Unpooled-Protocol": str(VERSION),
    }


def version(body: bytes) -> int:
    return int(httpx.Response(200, content=body).json()["version"])


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"content-length:" in head:
        return await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def show(running: Platform, invitation: Invitation, pids: Sequence[int], seconds: float) -> None:
    """Measure for some seconds, and print what was found."""
    cohort = headers(invitation, secrets.token_hex(16)) | {"Unpooled-Doing": "looking"}
    began, before = time.monotonic(), sum(map(processor_seconds, pids))
    health, looks = [], []
    with httpx.Client(base_url=running.address, timeout=60) as http:
        while time.monotonic() - began < seconds:
            health.append(timed(http, "/health"))
            looks.append(timed(http, "/api/v1/cohort/traffic", headers=cohort))
            time.sleep(EVERY)
    spent = (sum(map(processor_seconds, pids)) - before) / (time.monotonic() - began)
    for name, found in (("/health", health), ("a cohort's request", looks)):
        median, late = np.quantile(found, [0.5, 0.99]) * 1000
        print(f"{name}: {median:.0f} ms, at the 99th percentile {late:.0f} ms")
    size = sum(map(resident, pids)) / MEGABYTE
    print(f"the platform and its compensator: {spent:.1%} of a core, {size:,.0f} MB")


def timed(http: httpx.Client, path: str, **options: Any) -> float:
    began = time.perf_counter()
    http.get(path, **options).raise_for_status()
    return time.perf_counter() - began


def resident(pid: int) -> int:
    """Return the bytes that are a process's own; pages that it shares with others count by their share."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024


if __name__ == "__main__":
    main()
