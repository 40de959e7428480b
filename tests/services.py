"""Private instances of PostgreSQL and Redis: a folder and a port of their own, gone after the tests."""

from __future__ import annotations

import itertools
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from .parties import Party
from .ports import LOCAL, Port

_POSTGRES_HOMES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


@dataclass
class PostgreSQL:
    """A server that keeps what it has committed, whatever happens to it."""

    party: Party
    _login: str

    def url(self, database: str) -> str:
        return f"postgresql://{self._login}/{database}"

    def create_database(self, name: str) -> str:
        """A new database; its address."""
        return create_database(self.url("postgres"), name)


@dataclass
class Redis:
    """A broker that keeps nothing, as in docker-compose.yml: the queue is the database."""

    party: Party
    _login: str

    def url(self, number: int = 0) -> str:
        return f"redis://{self._login}/{number}"


@dataclass
class Stores:
    """Settings of one platform's database and broker; empty for SQLite and the embedded worker."""

    database: str = ""
    broker: str = ""


# Tests that run side by side share the two services: each process has a hundred numbers of its own.
_NUMBERS = itertools.count(100 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]))
_OF_CACHE = next(_NUMBERS)


def are_given() -> bool:
    """Tell whether this session has services (`pytest --services`)."""
    return "UNPOOLED_TEST_DATABASE_URL" in os.environ


def fresh_stores() -> Stores:
    """A database and a broker's number of their own for one more platform, if the session has services."""
    if not are_given():
        return Stores()
    number = next(_NUMBERS)
    database = create_database(os.environ["UNPOOLED_TEST_DATABASE_URL"], f"platform{number}")
    return Stores(database, _numbered(number))


def cache_of_this_process() -> dict[str, str]:
    """Django's description of a cache in the session's Redis, which no other process of the tests empties."""
    return {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": _numbered(_OF_CACHE)}


def _numbered(number: int) -> str:
    return f"{os.environ['UNPOOLED_TEST_BROKER_URL'].rpartition('/')[0]}/{number}"


def create_database(beside: str, name: str) -> str:
    """A new database on the server of another one; its address."""
    with psycopg.connect(beside, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{beside.rpartition('/')[0]}/{name}"


def missing() -> list[str]:
    """The packages that are not installed."""
    found = {"postgresql": _postgres_program("initdb"), "redis-server": _redis()}
    return [package for package, program in found.items() if program is None]


def skip_where_missing() -> None:
    """Skip, with one line that says what is missing; in CI nothing may be."""
    if packages := missing():
        text = f"needs {' and '.join(packages)}: apt-get install {' '.join(packages)}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(text)


def _postgres_program(name: str) -> Path | None:
    """The newest that is installed; Debian keeps them off the path."""
    found = [path / name for pattern in _POSTGRES_HOMES for path in Path("/").glob(pattern[1:])]
    newest = max((path for path in found if path.exists()), key=_version, default=None)
    on_path = shutil.which(name)
    return newest or (Path(on_path) if on_path else None)


def _version(program: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", program.parts[-3])))


def _redis() -> str | None:
    return shutil.which("redis-server") or shutil.which("valkey-server")


@contextmanager
def postgresql(connections: int = 200) -> Iterator[PostgreSQL]:
    """A running PostgreSQL server that writes through to the disk."""
    initdb, postgres = _postgres_program("initdb"), _postgres_program("postgres")
    assert initdb and postgres
    # Not below pytest's folders, into which only their owner gets: PostgreSQL does not run as root.
    folder = Path(tempfile.mkdtemp(prefix="unpooled-postgres-"))
    user = "postgres" if os.geteuid() == 0 else None
    try:
        password = secrets.token_hex(16)
        (folder / "password").write_text(password)
        if user:
            for path in (folder, folder / "password"):
                shutil.chown(path, user, user)
        _initialise(initdb, folder, user)
        port = Port()
        settings = {
            "listen_addresses": LOCAL,
            "port": port.number,
            "unix_socket_directories": "",
            "fsync": "on",
            "max_connections": connections,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(postgres), "-D", str(folder / "data"), *options]
        ready = "database system is ready to accept connections"
        party = Party("postgres", command, folder / "log", ready, user=user)
        party.start()
        try:
            yield PostgreSQL(party, f"unpooled:{password}@{port.address}")
        finally:
            party.stop()
            port.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _initialise(initdb: Path, folder: Path, user: str | None) -> None:
    as_user = {"user": user, "group": user, "extra_groups": []} if user else {}
    command = [str(initdb), "-D", str(folder / "data"), "--username=unpooled", "--auth=scram-sha-256"]
    command += [f"--pwfile={folder / 'password'}", "--encoding=UTF8", "--no-locale", "--no-sync"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **as_user)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def redis() -> Iterator[Redis]:
    """A running Redis server."""
    program = _redis()
    assert program
    folder = Path(tempfile.mkdtemp(prefix="unpooled-redis-"))
    password, port = secrets.token_hex(16), Port()
    settings = folder / "redis.conf"
    settings.write_text(
        f'bind {LOCAL}\nport {port.number}\nrequirepass {password}\ndir "{folder}"\n'
        'save ""\nappendonly no\ndatabases 10000\n'
    )
    party = Party("redis", [program, str(settings)], folder / "log", "Ready to accept connections")
    try:
        party.start()
        yield Redis(party, f":{password}@{port.address}")
    finally:
        party.stop()
        port.close()
        shutil.rmtree(folder, ignore_errors=True)
