"""One file with all that a platform needs to start again elsewhere: its database and what lies in its home.

    manifest.json                    the release, the migrations, and the SHA-256 of everything else
    database/db.sqlite3              or a file for each table, as PostgreSQL's COPY writes it
    home/studies/…  home/secret-key

A compensator's state is no part of it: an old copy has forgotten what was released. PostgreSQL's own programs
are not used, for they refuse a server that is newer than they are, and the image has none.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from unpooled.errors import UnpooledError
from unpooled_server.models import Study
from unpooled_server.names import LIVE
from unpooled_server.services import keeping
from unpooled_server.services.branches import RELEASE

_REFERENCE, _MADE_AT_ONCE = "reference", "secret-key"
"""Names in the home folder, beside those in the store, whose content cannot be made again."""
_MANIFEST, _HOME, _DATABASE = "manifest.json", "home/", "database/"
_SQLITE = f"{_DATABASE}db.sqlite3"
_BLOCK = 1 << 20

Done = Callable[[int], None]
"""Is told how many bytes more are done."""


class NoBackup(UnpooledError):
    """A backup cannot be made, or cannot be restored here."""


@dataclass(frozen=True)
class Manifest:
    """Description of a backup, within it."""

    release: str
    made_at: str
    migrations: list[list[str]]
    """The last migration of each application: the tables of a release."""
    studies: int
    running: list[str]
    """Names of the studies that a restore ends."""
    files: dict[str, str]
    """SHA-256 of each other member, by name."""


def size() -> int:
    """Count the bytes of the files that a backup would hold, without the database."""
    return sum(size for _, size, _ in _kept())


def make(target: Path, done: Done = lambda count: None) -> Manifest:
    """Write a backup into a new file that only this account may read, also while the platform runs."""
    _require_no_pending_migrations()
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise NoBackup(f"{target} is there already, and is not written over. Choose another name.") from None
    try:
        with (
            os.fdopen(handle, "wb") as out,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        ):
            return _fill(archive, done)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _fill(archive: zipfile.ZipFile, done: Done) -> Manifest:
    # The database goes first: a file is written before the row that names it, so none is missed.
    running = Study.objects.filter(state__in=LIVE).order_by("name").values_list("name", flat=True)
    made_at, count = timezone.now().isoformat(timespec="seconds"), Study.objects.count()
    manifest = Manifest(RELEASE, made_at, _leaves(), count, list(running), {})
    for name, blocks in _tables():
        manifest.files[name] = _write(archive, name, blocks, done)
    for name, _, blocks_of in _kept():
        with contextlib.suppress(FileNotFoundError):  # a study that runs deletes what it no longer needs
            manifest.files[f"{_HOME}{name}"] = _write(archive, f"{_HOME}{name}", blocks_of(), done)
    archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=1))
    return manifest


def read(source: Path, done: Done = lambda count: None) -> Manifest:
    """Read a backup to its end; NoBackup where something in it is not as it was written."""
    with _opened(source) as archive:
        manifest = _manifest_of(archive)
        if {*archive.namelist()} != {_MANIFEST, *manifest.files} or not all(map(_is_ours, manifest.files)):
            raise NoBackup(f"{source} has other files than its manifest says. Take another backup.")
        for name, digest in manifest.files.items():
            found = hashlib.sha256()
            for block in _members(archive, name):
                found.update(block)
                done(len(block))
            if found.hexdigest() != digest:
                raise NoBackup(f"{source}: {name} is damaged. Take another backup.")
        return manifest


def bytes_in(source: Path) -> int:
    """Count the bytes that are to be read of a backup."""
    with _opened(source) as archive:
        return sum(member.file_size for member in archive.infolist())


def restore(source: Path, done: Done = lambda count: None) -> Manifest:
    """Put a backup into an empty database and a home folder without studies; all of it, or nothing."""
    home = Path(settings.UNPOOLED_HOME)
    _require_empty(home)
    with _opened(source) as archive:
        manifest = _manifest_of(archive)
    if manifest.migrations != _leaves():
        raise NoBackup(
            f"{source} is of release {manifest.release}, whose tables are others than those of {RELEASE}. "
            f"Install {manifest.release}, restore there, then upgrade."
        )
    is_sqlite = connection.vendor == "sqlite"
    if is_sqlite != (_SQLITE in manifest.files):
        raise NoBackup(
            f"{source} has tables of {'PostgreSQL' if is_sqlite else 'SQLite'}, and UNPOOLED_DATABASE_URL "
            f"names {'SQLite' if is_sqlite else 'PostgreSQL'}. Name an empty database of the same kind."
        )
    with _opened(source) as archive, tempfile.TemporaryDirectory(dir=home, prefix=".restored-") as draft:
        for name in manifest.files:
            if name.startswith(_HOME) or is_sqlite:
                _extract(archive, name, Path(draft) / name, done)
        if not is_sqlite:
            _fill_tables(archive, manifest, done)
        for path in [*(Path(draft) / _HOME).iterdir()]:
            if path.name in (_REFERENCE, _MADE_AT_ONCE):
                path.replace(home / path.name)
            else:
                keeping.adopt(path)
        if is_sqlite:
            connection.close()  # it has made the empty file that this one takes the place of
            (Path(draft) / _SQLITE).replace(settings.DATABASES["default"]["NAME"])
    return manifest


def _require_empty(home: Path) -> None:
    taken = {name.partition("/")[0] for name, _, _ in _kept()} - {_MADE_AT_ONCE}
    if taken:
        raise NoBackup(
            f"{settings.UNPOOLED_STORE or home} is the home of a platform: it has "
            f"{', '.join(sorted(taken))}. Set UNPOOLED_HOME, or UNPOOLED_STORE, to an empty folder."
        )
    if connection.introspection.table_names():
        raise NoBackup(
            "The database has tables. Let UNPOOLED_DATABASE_URL name an empty one; nothing is written over."
        )


def _require_no_pending_migrations() -> None:
    applied = MigrationLoader(connection).applied_migrations
    if missing := [leaf for leaf in _leaves() if tuple(leaf) not in applied]:
        raise NoBackup(
            f"The database is of another release than this one, {RELEASE}: it lacks the migrations "
            f"{', '.join('/'.join(leaf) for leaf in missing)}. Back up with the release that it is of."
        )


def _leaves() -> list[list[str]]:
    return sorted(list(node) for node in MigrationLoader(None).graph.leaf_nodes())


# The database


def _tables() -> Iterator[tuple[str, Iterator[bytes]]]:
    """Give what the database holds, at one moment, by members of the archive."""
    if connection.vendor == "sqlite":
        with tempfile.TemporaryDirectory(dir=settings.UNPOOLED_HOME) as folder:
            copy = Path(folder) / "db.sqlite3"
            connection.ensure_connection()
            with contextlib.closing(sqlite3.connect(copy)) as target:
                connection.connection.backup(target)
            yield _SQLITE, _blocks(copy)
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for table in sorted(connection.introspection.table_names(cursor)):
            with cursor.copy(f"COPY {connection.ops.quote_name(table)} TO STDOUT") as rows:
                yield f"{_DATABASE}{table}", map(bytes, rows)


def _fill_tables(archive: zipfile.ZipFile, manifest: Manifest, done: Done) -> None:
    """Make the tables and fill them; where that fails the database is as empty as before."""
    try:
        _copy_tables(archive, manifest, done)
    except BaseException:
        with connection.cursor() as cursor:
            for table in connection.introspection.table_names(cursor):
                cursor.execute(f"DROP TABLE IF EXISTS {connection.ops.quote_name(table)} CASCADE")
        raise


def _copy_tables(archive: zipfile.ZipFile, manifest: Manifest, done: Done) -> None:
    call_command("migrate", verbosity=0, interactive=False, fail_running=False)
    tables = {name.removeprefix(_DATABASE): name for name in manifest.files if name.startswith(_DATABASE)}
    quoted = {table: connection.ops.quote_name(table) for table in tables}
    with transaction.atomic(), connection.cursor() as cursor:
        # What the migrations wrote of their own is in the backup, too.
        cursor.execute(f"TRUNCATE {', '.join(quoted.values())}")
        for table, name in tables.items():
            with cursor.copy(f"COPY {quoted[table]} FROM STDIN") as rows:
                for block in _members(archive, name):
                    rows.write(block)
                    done(len(block))
        for statement in _sequences():
            cursor.execute(statement)


def _sequences() -> list[str]:
    """Statements after which numbers of new rows follow those of the restored ones."""
    models = connection.introspection.installed_models(connection.introspection.table_names())
    return connection.ops.sequence_reset_sql(no_style(), list(models))


# Files


def _kept() -> Iterator[tuple[str, int, Callable[[], Iterator[bytes]]]]:
    """Give name, size and content of each file."""
    for name, size in keeping.names():
        yield name, size, partial(keeping.blocks_of, name)
    home = Path(settings.UNPOOLED_HOME)
    for path in (home / _MADE_AT_ONCE, *sorted((home / _REFERENCE).glob("[!.]*"))):
        if path.is_file():
            yield path.relative_to(home).as_posix(), path.stat().st_size, partial(_blocks, path)


def _is_ours(name: str) -> bool:
    """Tell whether a member's name stays below the folder that it is restored into."""
    top, *rest = name.split("/")
    return (
        f"{top}/" in (_HOME, _DATABASE) and rest != [] and not {"", ".", ".."} & {*rest} and "\\" not in name
    )


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _write(archive: zipfile.ZipFile, name: str, blocks: Iterator[bytes], done: Done) -> str:
    """Add a member, and return its SHA-256. A file that is gone is noticed before it has a member."""
    digest, first = hashlib.sha256(), next(blocks, b"")
    with archive.open(name, "w", force_zip64=True) as member:
        for block in itertools.chain((first,), blocks):
            member.write(block)
            digest.update(block)
            done(len(block))
    return digest.hexdigest()


@contextlib.contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise NoBackup(f"{source} is no whole backup ({error}). Take another one.") from None


def _manifest_of(archive: zipfile.ZipFile) -> Manifest:
    try:
        return Manifest(**json.loads(archive.read(_MANIFEST)))
    except (KeyError, TypeError, ValueError):
        raise NoBackup(f"{archive.filename} has no manifest of this platform. Take another file.") from None


def _members(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    with archive.open(name) as member:
        while block := member.read(_BLOCK):
            yield block


def _extract(archive: zipfile.ZipFile, name: str, target: Path, done: Done) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        for block in _members(archive, name):
            out.write(block)
            done(len(block))
        os.fsync(out.fileno())
