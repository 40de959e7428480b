"""A whole federation of separate processes: each can be killed by itself, and started again as it was."""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg

from unpooled.protocol.invitation import Invitation

from .launch import STUBS, Function, Gate
from .parties import Party
from .patience import PATIENCE, until
from .ports import Port
from .relay import Relay
from .services import Stores
from .starting import Program

SMALL_CHUNK = 35  # variants: some 20 rounds of the small cohorts, of which 8 are in flight at a time
ABOUT_THE_RUN = (
    "methods.txt",
    "report.html",
    "manifest.json",
    "own-against-pool.tsv",
    "own-against-pool.html",
)
PASSWORD = "only for these tests"
NAME = "Study 17"
"""Name of a study: no sentence of the pages, which would be looked for where they are in German."""


class Federation:
    """Web application, worker and compensator, with SQLite and the embedded worker or with real services."""

    def __init__(self, folder: Path, stores: Stores, services: Sequence[Party] = ()) -> None:
        """`services`: the processes behind the stores, if a test may kill them too."""
        self.folder, self.stores, self.services = folder, stores, services
        self.home, self.logs = folder / "home", folder / "logs"
        self.logs.mkdir(parents=True)
        self.port, self.compensator_port = Port(), Port()
        self.address, self.compensator_address = self.port.url, self.compensator_port.url
        self.to_compensator = Relay(self.compensator_address)
        self.caller_secret = secrets.token_hex(32)
        (folder / "caller-secret").write_text(self.caller_secret)
        self.environment = {
            "UNPOOLED_HOME": str(self.home),
            "UNPOOLED_DATABASE_URL": stores.database,
            "UNPOOLED_BROKER_URL": stores.broker,
            "UNPOOLED_COMPENSATOR_URL": self.to_compensator.url,
            "UNPOOLED_COMPENSATOR_SECRET_FILE": str(folder / "caller-secret"),
            "UNPOOLED_PUBLIC_URL": "",
            "UNPOOLED_ONE_OPERATOR": "",
            "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings",
        }
        self.compensator = self._compensator()
        self.web = self._web()
        self.worker = self.another_worker("worker")
        self.coordinator = Coordinator(self.address)

    @property
    def parties(self) -> list[Party]:
        """All but the cohorts; the stores last, for the others must get over their restart by themselves."""
        return [self.compensator, self.web, self.worker, *self.services]

    def start(self) -> None:
        self.manage("migrate", "--no-input")
        self.manage("createsuperuser", "--no-input", "--username", "admin", "--email", "a@example.org")
        for party in (self.compensator, self.web, self.worker):
            party.start()
        self.coordinator.sign_in("admin", PASSWORD)

    def stop(self) -> None:
        for party in (self.worker, self.web, self.compensator):
            party.stop()
        self._close()

    def _close(self) -> None:
        self.to_compensator.close()
        self.port.close()
        self.compensator_port.close()

    def manage(self, *arguments: str) -> None:
        command = Party(
            "manage",
            Program("unpooled_webapp", ["manage", *arguments]),
            self.logs / "manage",
            "",
            self.environment | {"DJANGO_SUPERUSER_PASSWORD": PASSWORD},
        )
        command.start()
        assert command.wait() == 0, command.said()

    def gates(self, name: str) -> Path:
        """The folder of a party's gates."""
        folder = self.folder / "gates" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def stub(self, name: str, stubs: Mapping[str, Function]) -> None:
        """Have a party use functions of tests/leaks.py instead of its own, from its next start on."""
        names = {place: function.__name__ for place, function in stubs.items()}
        (self.gates(name) / STUBS).write_text(json.dumps(names))

    def python(self, name: str, module: str, *arguments: str, ready: str) -> Party:
        """A party that runs one of our programs, and can be held at its gates."""
        command = Program(module, arguments, self.gates(name))
        return Party(name, command, self.logs / name, ready, self.environment)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a query on the server's database, and return its rows."""
        if self.stores.database:
            with psycopg.connect(self.stores.database) as connection:
                cursor = connection.execute(query.replace("?", "%s"), values)
                return cursor.fetchall() if cursor.description else []
        with contextlib.closing(sqlite3.connect(self.home / "db.sqlite3", timeout=PATIENCE)) as database:
            found = database.execute(query, values).fetchall()
            database.commit()
            return found

    def dump(self) -> dict[str, bytes]:
        """The whole database as text, table by table."""
        if not self.stores.database:
            with contextlib.closing(sqlite3.connect(self.home / "db.sqlite3", timeout=PATIENCE)) as database:
                return {"database": "\n".join(database.iterdump()).encode()}
        tables = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        with psycopg.connect(self.stores.database) as connection:
            cursor = connection.cursor()
            found = {}
            for (table,) in tables:
                with cursor.copy(f'COPY "{table}" TO STDOUT') as copy:
                    found[f"table {table}"] = b"".join(map(bytes, copy))
            return found

    def study(self, cohorts: Sequence[Path], panel_list: bytes = b"", **plan: Any) -> Trial:
        """A new study with an invited cohort for each prefix of PLINK files."""
        fields = {
            "test": "chi-square",
            "phenotype": "phenotype",
            "cohorts": len(cohorts),
            "min_samples": 20,
            "min_per_class": 1,
            "file_stem": "study",
            **plan,
        }
        study = self.coordinator.call("POST", "studies", json={"name": NAME, "plan": fields})["id"]
        if panel_list:
            self.coordinator.call("PUT", f"studies/{study}/list", content=panel_list)
        trial = Trial(self, study)
        for number, prefix in enumerate(cohorts, start=1):
            name = f"cohort{number}"
            answer = self.coordinator.call("POST", f"studies/{study}/invitations", json={"cohort": name})
            invitation = Invitation.from_text(answer["invitation"])
            trial.cohorts.append(Cohort(self, name, self.folder / study / name, prefix, invitation))
        return trial

    def _compensator(self) -> Party:
        port = str(self.compensator_port.number)
        files = ["--state", str(self.folder / "compensator")]
        files += ["--caller-secret-file", str(self.folder / "caller-secret")]
        return self.python(
            "compensator", "unpooled_compensator", "serve", *files, "--port", port, ready="Compensator on"
        )

    def _web(self) -> Party:
        options = ["-c", "python:unpooled_webapp.serving", "--bind", self.port.address]
        return self.python("web", "gunicorn", *options, ready="Booting worker")

    def another_worker(self, name: str) -> Party:
        """A worker as the stores want it, with gates and a log of its own."""
        if not self.stores.broker:
            return self.python(name, "unpooled_webapp", "worker", ready="threads; tests")
        options = ["--beat", "--scheduler", "celery.beat:Scheduler", "--pool", "threads"]
        options += ["--concurrency", "2", "--loglevel", "info", "--hostname", "worker@tests"]
        options += ["--without-mingle", "--without-gossip"]  # they would wait for other workers
        command = ["celery", "-A", "unpooled_webapp.celery", "worker", *options]
        return self.python(name, *command, ready="worker@tests ready")


class UnpooledUp(Federation):
    """The same as one `unpooled up` runs it."""

    def __init__(self, folder: Path, stores: Stores) -> None:
        super().__init__(folder, stores)
        arguments = ["up", "--home", str(self.home), "--port", str(self.port.number)]
        self.up = self.python(
            "up", "unpooled_webapp", *arguments, "--with-compensator", ready="Unpooled on http"
        )
        self.up.environment = {**self.environment, "UNPOOLED_ADMIN_PASSWORD": PASSWORD}

    def start(self) -> None:
        self.up.start()
        self.coordinator.sign_in("admin", PASSWORD)

    def stop(self) -> None:
        self.up.stop()
        self._close()


@dataclass
class Cohort:
    """A cohort, whose client reads its files: PLINK's of a prefix, a table, or a folder of images."""

    federation: Federation
    name: str
    folder: Path
    prefix: Path
    invitation: Invitation
    more: list[str] = field(default_factory=list)
    """Further arguments."""
    _party: Party | None = None

    @property
    def party(self) -> Party:
        """The client's process."""
        if self._party is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            places = ["--state", str(self.folder / "state"), "--out", str(self.folder / "results")]
            is_table = self.prefix.suffix == ".csv" or self.prefix.is_dir()
            kind = "--table" if is_table else "--bfile"
            files = [kind, str(self.prefix)]
            arguments = ["run", self.invitation.to_text(), *places, *files, "--yes", "--json", *self.more]
            self._party = self.federation.python(
                f"{self.folder.parent.name}-{self.name}", "unpooled_client", *arguments, ready='"event"'
            )
        return self._party

    def gate(self, place: str, when: str = "before") -> Gate:
        return Gate(self.federation.gates(self.party.name), place, when)

    def through(self, address: str) -> None:
        """Reach the server by another address, from the next start on."""
        self.renew(replace(self.invitation, server=address))

    def renew(self, invitation: Invitation) -> None:
        """Use another invitation, from the next start on."""
        self.invitation, self._party = invitation, None

    def events(self) -> list[dict[str, Any]]:
        """Return the events that the client has printed since its last start."""
        lines = self.party.said().splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"event"') and line.endswith("}")]

    def results(self) -> dict[str, bytes]:
        """The delivered files, without those that are about the run: they have times and digests."""
        found = (self.folder / "results").glob("*.*")
        return {path.name: path.read_bytes() for path in found if not path.name.endswith(ABOUT_THE_RUN)}


@dataclass
class Trial:
    """A study of a federation, with its cohorts."""

    federation: Federation
    id: str
    cohorts: list[Cohort] = field(default_factory=list)

    def start(self) -> None:
        """Start every client, at the same time."""
        for cohort in self.cohorts:
            cohort.party.spawn()

    def stop(self) -> None:
        """End what still runs."""
        for cohort in self.cohorts:
            if cohort.party.process is not None and not cohort.party.has_ended:
                cohort.party.kill()
        if self.state not in ("done", "failed", "aborted"):
            self.call("POST", "abort")

    def call(self, method: str, path: str = "", **body: Any) -> Any:
        return self.federation.coordinator.call(method, f"studies/{self.id}/{path}".rstrip("/"), **body)

    @property
    def state(self) -> str:
        return str(self.call("GET")["state"])

    @property
    def reason(self) -> str:
        return str(self.call("GET")["reason"])

    def states(self) -> list[str]:
        """Return the state of each cohort."""
        return [cohort["state"] for cohort in self.call("GET", "progress")["cohorts"]]

    def rounds(self) -> dict[str, int]:
        """Count the rounds by state."""
        query = "SELECT state, count(*) FROM unpooled_server_round WHERE study_id = ? GROUP BY state"
        return dict(self.federation.rows(query, self.id))

    def shares(self) -> set[tuple[int, int, str]]:
        """Round, cohort and nonce of every share that the server has acknowledged, ever."""
        query = "SELECT round_id, cohort_id, nonce FROM unpooled_server_share WHERE study_id = ?"
        return set(self.federation.rows(query, self.id))

    def log(self) -> str:
        return "\n".join(line["what"] for line in self.call("GET", "log"))

    def until(self, holds: Any, what: str) -> None:
        """Wait for something to be so."""
        until(holds, lambda: f"not yet: {what}\n{self.story()}")

    def until_over(self) -> None:
        """Wait until every client has ended by itself."""
        for cohort in self.cohorts:
            self.until(lambda cohort=cohort: cohort.party.has_ended, f"{cohort.name} ends")

    def story(self) -> str:
        """Return the states, the log and the ends of the clients' outputs, to explain a failure."""
        said = [f"{c.name}: …{c.party.said()[-600:]}" for c in self.cohorts if c.party.process]
        return "\n".join([f"{self.state} {self.reason} {self.rounds()}", self.log(), *said])


class Coordinator:
    """A session with the REST API that outlives restarts of the server."""

    def __init__(self, address: str) -> None:
        self._http = httpx.Client(
            base_url=f"{address}/api/v1/", timeout=PATIENCE, headers={"Referer": address}
        )

    def sign_in(self, user: str, password: str) -> None:
        self.call("POST", "session", json={"username": user, "password": password})

    def call(self, method: str, path: str, **body: Any) -> Any:
        """The answer; while the server is away it is asked again."""
        answers: list[httpx.Response] = []

        def is_answered() -> bool:
            token = self._http.cookies.get("csrftoken")
            with contextlib.suppress(httpx.TransportError):
                answer = self._http.request(
                    method, path, headers={"X-CSRFToken": token} if token else {}, **body
                )
                if answer.status_code < 500:
                    answers.append(answer)
            return bool(answers)

        until(is_answered, lambda: f"the server does not answer {method} {path}")
        assert answers[0].is_success, f"{method} {path}: {answers[0].text}"
        return answers[0].json() if answers[0].content else None

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        answer = self._http.get(path)
        assert answer.is_success, f"{path}: {answer.text}"
        return answer.content


@contextmanager
def federation(folder: Path, stores: Stores, services: Sequence[Party] = ()) -> Iterator[Federation]:
    """A running federation."""
    made = Federation(folder, stores, services)
    try:
        made.start()
        yield made
    finally:
        made.stop()
