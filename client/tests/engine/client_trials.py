"""A real platform as processes, a coordinator's session with it, and cohorts that take part."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.patience import PATIENCE, until
from tests.starting import Program, start
from unpooled.protocol.invitation import Invitation
from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import Event, ReleaseNeeded, ReviewNeeded
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.engine import Engine, Until

PASSWORD = "only-for-tests"
HOST = "cohort.test"
"""The platform's name for those who reach it through a proxy; no other program knows it."""


class Platform:
    """Web application, worker and compensator; and a coordinator's session with its REST API."""

    def __init__(self, home: Path) -> None:
        environment = os.environ | {"UNPOOLED_ADMIN_PASSWORD": PASSWORD, "UNPOOLED_ALLOWED_HOSTS": HOST}
        for name in (
            "UNPOOLED_HOME",
            "UNPOOLED_DATABASE_URL",
            "UNPOOLED_BROKER_URL",
            "DJANGO_SETTINGS_MODULE",
        ):
            environment.pop(name, None)
        arguments = ["up", "--home", str(home), "--port", "0", "--with-compensator"]
        self.database = home / "db.sqlite3"
        self.log = (home.parent / "platform.log").open("wb")
        self.process = start(
            Program("unpooled_webapp", arguments), environment=environment, stdout=self.log, stderr=self.log
        )
        self.addresses = self._addresses(home / "addresses.json")
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE, headers={"Referer": self.url})
        self.call("POST", "session", json={"username": "admin", "password": PASSWORD})

    @property
    def url(self) -> str:
        return str(self.addresses["web"])

    def _addresses(self, file: Path) -> dict[str, Any]:
        said = Path(self.log.name).read_text
        until(lambda: file.exists() or self.process.poll() is not None, said)
        assert file.exists(), f"the platform did not start: {said()}"
        found: dict[str, Any] = json.loads(file.read_text())
        return found

    def call(self, method: str, path: str, **body: Any) -> Any:
        token = self.http.cookies.get("csrftoken")
        headers = {"X-CSRFToken": token} if token else {}
        response = self.http.request(method, f"/api/v1/{path}", headers=headers, **body)
        assert not response.is_error, response.text
        return response.json() if response.content else None

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


OTHERS = ("methods.txt", "report.html", "manifest.json", "own-against-pool.tsv", "own-against-pool.html")


@dataclass
class Member:
    """One cohort: its invitation, its files, the place of its state, and what its client told."""

    name: str
    invitation: Invitation
    bfile: Path
    folder: Path
    events: list[Event] = field(default_factory=list)

    @property
    def state(self) -> StateFolder:
        return StateFolder(self.folder / "state")

    @property
    def out(self) -> Path:
        return self.folder / "results"

    def engine(self, **changes: Any) -> Engine:
        options = {"invitation": self.invitation, "options": DataOptions(bfile=self.bfile), "out": self.out}
        return Engine(self.state, **(options | changes))

    def run(
        self,
        engine: Engine | None = None,
        answer: Callable[[Engine, ReviewNeeded | ReleaseNeeded], None] | None = None,
    ) -> Event:
        """Run to the end, accepting what is to be accepted; the last event."""
        engine = engine or self.engine()
        for event in engine.run():
            self.events.append(event)
            if isinstance(event, ReviewNeeded | ReleaseNeeded):
                (answer or Engine.accept)(engine, event)
        return self.events[-1]

    def beside(self, engine: Engine | None = None) -> threading.Thread:
        thread = threading.Thread(target=self.run, args=(engine,), daemon=True)
        thread.start()
        return thread

    def command(self, *more: str) -> list[str]:
        """The same, as a person types it."""
        places = ["--state", str(self.state.path), "--out", str(self.out), "--bfile", str(self.bfile)]
        return [sys.executable, "-m", "unpooled_client", "run", self.invitation.to_text(), *places, *more]

    def process(self, *more: str) -> subprocess.Popen[str]:
        arguments = self.command("--yes", "--json", *more)
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def told(self, *kinds: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    def results(self) -> dict[str, bytes]:
        """The delivered files, without those that are about the run, with times in them, or this cohort."""
        files = self.out.glob("study.*")
        return {path.name: path.read_bytes() for path in files if not path.name.endswith(OTHERS)}


class Table(Member):
    """A cohort of which `bfile` is a table."""

    def engine(self, **changes: Any) -> Engine:
        return super().engine(**({"options": DataOptions(table=self.bfile)} | changes))


def joined(*members: Member) -> None:
    """Each takes part until it has joined, and no further."""
    for member in members:
        member.run(member.engine(until=Until.JOINED))


def ended(*threads: threading.Thread) -> None:
    """Wait until cohorts that take part beside have come to their end."""
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@dataclass
class Trial:
    """A study with its invited cohorts."""

    platform: Platform
    id: str
    members: list[Member]

    def call(self, method: str, path: str, **body: Any) -> Any:
        return self.platform.call(method, f"studies/{self.id}/{path}", **body)

    @property
    def state(self) -> str:
        return str(self.platform.call("GET", f"studies/{self.id}")["state"])

    def log(self) -> str:
        return json.dumps(self.call("GET", "log"))

    def run_all(self) -> None:
        """Every cohort takes part until the end."""
        ended(*[member.beside() for member in self.members])

    def abort(self, *threads: threading.Thread) -> None:
        """The coordinator ends it, and with it those who take part."""
        self.call("POST", "abort")
        ended(*threads)

    def await_log(self, text: str) -> None:
        until(lambda: text in self.log(), self.log)


def make_trial(
    platform: Platform,
    files: Sequence[Path],
    folder: Path,
    /,
    panel_list: bytes = b"",
    name: str = "a trial",
    kind: type[Member] = Member,
    **changes: Any,
) -> Trial:
    """A study of as many cohorts as there are files, with changes to its plan."""
    plan = {
        "test": "chi-square",
        "phenotype": "phenotype",
        "cohorts": len(files),
        "min_samples": 20,
        "chunk_size": 150,
        "file_stem": "study",
        **changes,
    }
    made = platform.call("POST", "studies", json={"name": name, "plan": plan})["id"]
    if panel_list:
        platform.call("PUT", f"studies/{made}/list", content=panel_list)
    members: list[Member] = []
    for number, file in enumerate(files, 1):
        cohort = f"cohort{number}"
        text = platform.call("POST", f"studies/{made}/invitations", json={"cohort": cohort})
        members.append(kind(cohort, Invitation.from_text(text["invitation"]), file, folder / cohort))
    return Trial(platform, made, members)


def moved(bfile: Path, folder: Path) -> Path:
    """The same files in another genome build: every position is another one."""
    wrong = folder / "other-build"
    for kind in ("bed", "fam"):
        shutil.copy(f"{bfile}.{kind}", f"{wrong}.{kind}")
    rows = [line.split("\t") for line in Path(f"{bfile}.bim").read_text().splitlines()]
    shifted = ["\t".join([*row[:3], str(int(row[3]) + 12_345), *row[4:]]) + "\n" for row in rows]
    Path(f"{wrong}.bim").write_text("".join(shifted))
    return wrong
