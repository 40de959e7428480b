"""A platform, a compensator and one client process per cohort, on this machine, over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unpooled.errors import UnpooledError
from unpooled.formats import ssf
from unpooled.plan.common_options import COMPENSATOR, TRUST
from unpooled.plan.file_names import stem_of
from unpooled_webapp import environment, starting
from unpooled_webapp.processes import patience
from unpooled_webapp.rehearsal.clients import Client, events, hand_over, start_client
from unpooled_webapp.rehearsal.coordinator import Coordinator
from unpooled_webapp.rehearsal.processes import Process
from unpooled_webapp.rehearsal.report import report
from unpooled_webapp.rehearsal.screen import Screen

ADMINISTRATOR = "admin"
START_SECONDS = 120.0
# A look takes tens of milliseconds of a core, which the parties of the study share.
POLL_SECONDS = 0.5
REMEDY = (
    "If their IDs are of different styles, match variants by place (--by-place). If they are of different "
    "arrays, give the IDs that all have with --extract."
)
STOPPED = ("failed", "aborted")  # a pause of the platform's ends by itself, or one of the clients has ended


class RehearsalError(UnpooledError):
    """A rehearsal that did not come to its end; the text says which party, and its last words."""


@dataclass(frozen=True)
class Settings:
    """Settings of a rehearsal."""

    plan: dict[str, Any]
    arguments: Sequence[Sequence[str]]
    """One for each cohort: the arguments of its client, without the invitation."""
    out: Path
    """Prefix of the result files."""
    panel_list: Path | None = None
    home: Path | None = None
    """Folder in which the parties store and log; a temporary one if not given."""
    name: str = "Rehearsal"


@dataclass(frozen=True)
class Rehearsal:
    """Outcome of a rehearsal."""

    study: str
    files: list[Path]
    report: dict[str, Any]


@dataclass(frozen=True)
class Platform:
    """A running platform, and its administrator's session."""

    address: str
    home: Path
    password: str
    process: Process
    coordinator: Coordinator


def rehearse(settings: Settings, screen: Screen) -> Rehearsal:
    """Start every party, run the study, fetch the results, end every party."""
    with home_folder(settings.home) as home, platform(home, screen, settings.plan) as running:
        return run_study(running, settings, screen)


@contextlib.contextmanager
def home_folder(wanted: Path | None) -> Iterator[Path]:
    """The wanted folder, or a temporary one that is deleted afterwards."""
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield wanted.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="unpooled-") as folder:
        yield Path(folder)


@contextlib.contextmanager
def platform(home: Path, screen: Screen, plan: Mapping[str, Any], port: int = 0) -> Iterator[Platform]:
    """Run what a study of this plan needs from `home` until the block ends."""
    test, with_compensator = str(plan["test"]), plan.get(TRUST.name, COMPENSATOR) == COMPENSATOR
    screen.phase(f"Starting the platform{' and a compensator' if with_compensator else ''}")
    # Asked to end, this process leaves its blocks, and so ends every party; it would not by itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    password = environment.kept_secret(home / "administrator-password", 12)  # of a folder used before, too
    arguments = ["up", "--home", str(home), "--port", str(port)]
    if with_compensator:
        arguments.append("--with-compensator")
    given = {"UNPOOLED_ADMIN_PASSWORD": password, "UNPOOLED_READY_FOR": test}
    # All parties share this machine: BLAS threads of several would wait for one another, and spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    log = home / "platform.log"
    of_compensator = starting.COMPENSATOR if with_compensator else ()
    loaded = [*starting.PLATFORM, *of_compensator, *starting.CLIENT, *starting.methods_like(test)]
    with (
        starting.forking(*loaded),
        Process("unpooled_webapp", arguments, log, environment=given, may_ask=True) as process,
    ):
        address = _address(home / "addresses.json", process)
        coordinator = Coordinator.signed_in(address, ADMINISTRATOR, password)
        yield Platform(address, home, password, process, coordinator)


def _address(file: Path, process: Process) -> str:
    """The web address, once the platform has written where it listens."""
    deadline = time.monotonic() + (limit := patience(START_SECONDS))
    while time.monotonic() < deadline:
        if process.exit_status is not None:
            break
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError, KeyError):
            addresses = json.loads(file.read_text())
            if addresses["pid"] == process.pid:
                return str(addresses["web"])
        time.sleep(0.05)
    how = "ended" if process.exit_status is not None else f"was not ready after {limit:.0f} s"
    raise RehearsalError(
        f"the platform {how}. The last lines of its log, {process.log}:\n{process.last_words()}"
    )


def run_study(running: Platform, settings: Settings, screen: Screen) -> Rehearsal:
    """One study on a running platform, from its creation to the files at `settings.out`."""
    began = time.monotonic()
    coordinator = running.coordinator
    named = {**settings.plan, "file_stem": stem_of(settings.out.name)}
    study = coordinator.create_study({"name": settings.name, "plan": named})["id"]
    if settings.panel_list:
        coordinator.upload_list(study, settings.panel_list.read_bytes())
    with contextlib.ExitStack() as stack:
        clients = {}
        screen.phase(f"Starting {len(settings.arguments)} cohorts")
        for number, arguments in enumerate(settings.arguments, start=1):
            cohort = f"cohort{number}"
            invitation = coordinator.invite(study, cohort)
            clients[cohort] = stack.enter_context(_client(running, study, cohort, invitation, arguments))
        _watch(coordinator, study, clients, running.process, screen)
        files = _fetch(coordinator, study, settings.out)
        fetched = time.time()
        screen.phase("Delivering the results to every cohort")
        _await_delivery(clients)
        delivered = max(_delivered_at(running, study, cohort) for cohort in clients)
        files += _own_tables(running, study, clients)
    figures = report(
        coordinator.study(study),
        coordinator.progress(study),
        coordinator.traffic(study),
        files_at=fetched,
        delivered_at=delivered,
        command_seconds=time.monotonic() - began,
    )
    target = Path(f"{settings.out}.report.json")
    target.write_text(json.dumps(figures, indent=2) + "\n")
    return Rehearsal(study, [*files, target], figures)


def _client(running: Platform, study: str, cohort: str, invitation: str, arguments: Sequence[str]) -> Client:
    folder = _folder(running, study, cohort)
    hand_over(folder, invitation)
    return start_client(folder, arguments)


def _watch(
    coordinator: Coordinator, study: str, clients: dict[str, Client], process: Process, screen: Screen
) -> None:
    """Wait until the study is done; RehearsalError as soon as it cannot be.

    On the way, say what each cohort's own table foresees.
    """
    unsaid, why = set(clients), ""
    while True:
        progress = coordinator.progress(study)
        state = progress["state"]
        if state == "done":
            return
        screen.phase(progress["title"])
        if state == "paused" and progress["reason"] != why:
            screen.say(why := progress["reason"])
        screen.steps(progress["done"], progress["total"])
        for cohort, client in clients.items():
            if cohort in unsaid and (findings := client.findings) is not None:
                unsaid.discard(cohort)
                for finding in findings:
                    if finding["code"] == "floor":
                        screen.say(f"{cohort}: {finding['message']}")
            if client.exit_status not in (None, 0):
                raise RehearsalError(f"{cohort} stopped:\n{client.last_words()}")
        if state == "open" and (said := coordinator.study(study)["lists_said"]):
            raise RehearsalError(
                f"the cohorts' lists of variants do not fit together. {' '.join(said)} {REMEDY}"
            )
        if state in STOPPED:
            raise RehearsalError(f"the study is {state}: {progress['reason']}")
        if process.exit_status is not None:
            raise RehearsalError(f"the platform stopped:\n{process.last_words()}")
        time.sleep(POLL_SECONDS)


def _fetch(coordinator: Coordinator, study: str, out: Path) -> list[Path]:
    """Every result file, as PREFIX.suffix."""
    files = []
    for result in coordinator.results(study):
        files.append(target := place_of(out, result["name"]))
        coordinator.download(study, result["name"], target)
    name_data_files(files)
    return files


def place_of(out: Path, name: str) -> Path:
    """Return the place of a result file whose name on the server is `name`: PREFIX.suffix."""
    return Path(f"{out}.{name.removeprefix(f'{stem_of(out.name)}.')}")


def name_data_files(files: Sequence[Path]) -> None:
    """Metadata names the file that it lies beside, which has another name here than on the server."""
    for file in files:
        if file.name.endswith(ssf.METADATA):
            file.write_text(ssf.renamed(file.read_text(), file.name.removesuffix(ssf.METADATA)))


def _delivered_at(running: Platform, study: str, cohort: str) -> float:
    """When the last result file was at its place at a cohort, in seconds since 1970."""
    (delivered,) = (event for event in _events(running, study, cohort) if event["event"] == "results")
    return max(Path(file).stat().st_mtime for file in delivered["files"])


def _own_tables(running: Platform, study: str, clients: Iterable[str]) -> list[Path]:
    """The normalized or encoded tables that cohorts have written beside their own, as their clients tell."""
    found = []
    for cohort in clients:
        told = _events(running, study, cohort)
        found += [Path(event["file"]) for event in told if event["event"] == "transformed"]
    return found


def _events(running: Platform, study: str, cohort: str) -> Iterator[dict[str, Any]]:
    return events(_folder(running, study, cohort))


def _folder(running: Platform, study: str, cohort: str) -> Path:
    return running.home / "cohorts" / study / cohort


def _await_delivery(clients: dict[str, Client]) -> None:
    for cohort, client in clients.items():
        if client.wait(patience(START_SECONDS)) != 0:
            raise RehearsalError(f"{cohort} did not fetch its results:\n{client.last_words()}")


__all__ = [
    "Platform",
    "Rehearsal",
    "RehearsalError",
    "Settings",
    "home_folder",
    "name_data_files",
    "place_of",
    "platform",
    "rehearse",
    "run_study",
]
