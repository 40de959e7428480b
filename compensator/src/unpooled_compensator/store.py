"""Rows: which boxes a study enrolled, which request each round was answered, and which turns of a comparison.

Knows no rule and no HTTP.

Only sealed boxes lie in the file, never a seed in the clear. Every method is one short transaction, and when
it returns the change has reached the disk.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VERSION = 2
_READS = (0, 1, _VERSION)  # a new file has 0; 1 had no comparisons
_STUDY_TABLE = """
CREATE TABLE IF NOT EXISTS study (
    id TEXT PRIMARY KEY,
    enrolment BLOB -- canonical bytes, or NULL: the study is over, and its row stays for ever
) WITHOUT ROWID
"""
_RELEASE_TABLE = """
CREATE TABLE IF NOT EXISTS release (
    study TEXT NOT NULL,
    round INTEGER NOT NULL,
    request BLOB NOT NULL, -- SHA-256 of the one request, for a release or a comparison, that it answers
    PRIMARY KEY (study, round)
) WITHOUT ROWID
"""
_TURN_TABLE = """
CREATE TABLE IF NOT EXISTS turn (
    study TEXT NOT NULL,
    round INTEGER NOT NULL,
    number INTEGER NOT NULL, -- from 2: the first comes with the request
    openings BLOB NOT NULL, -- SHA-256 of the one message that this turn answers
    PRIMARY KEY (study, round, number)
) WITHOUT ROWID
"""

_CODES_TABLE = """
CREATE TABLE IF NOT EXISTS codes (
    study TEXT NOT NULL,
    cohort TEXT NOT NULL,
    "column" INTEGER NOT NULL,
    points BLOB NOT NULL, -- SHA-256 of the one batch that is answered
    PRIMARY KEY (study, cohort, "column")
) WITHOUT ROWID
"""


class NoStudy(Exception):
    """A study without a row here: it never enrolled."""


class Replaced(Exception):
    """A study has enrolled other boxes since those that an answer would be made of."""


class Store:
    """One SQLite file, shared by the threads of this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # One connection for all threads: SQLite has one writer at a time anyway.
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # a commit returns when it is on the disk
        self._db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        with self.transaction() as db:
            self._migrate(db)

    def _migrate(self, db: sqlite3.Connection) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in _READS:
            raise sqlite3.DatabaseError(f"written by another version of this program (schema {version})")
        for table in (_STUDY_TABLE, _RELEASE_TABLE, _TURN_TABLE, _CODES_TABLE):
            db.execute(table)
        db.execute(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Excludes every other writer, in this process and in any other."""
        with self._lock:
            # At once, not at the first write: what was read must still hold when it is written by.
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def is_empty(self) -> bool:
        with self._lock:
            return self._db.execute("SELECT 1 FROM study LIMIT 1").fetchone() is None

    def studies(self) -> int:
        """Count the studies that have enrolled and are not over."""
        with self._lock:
            return int(
                self._db.execute("SELECT count(*) FROM study WHERE enrolment IS NOT NULL").fetchone()[0]
            )

    def enrolment(self, study: str) -> bytes | None:
        """Return what a study enrolled; None if it is over. Raises NoStudy."""
        with self._lock:
            return _enrolment(self._db, study)

    def add_enrolment(self, study: str, enrolment: bytes) -> bytes | None:
        """Keeps an enrolment, in place of another one of which nothing was answered yet.

        Returns what the study has now; None if it is over.
        """
        with self.transaction() as db:
            # Nothing answered is the condition of the UPDATE itself: no answer can come between.
            db.execute("INSERT OR IGNORE INTO study VALUES (?, ?)", (study, enrolment))
            db.execute(
                "UPDATE study SET enrolment = ?2 WHERE id = ?1 AND enrolment IS NOT NULL"
                " AND NOT EXISTS (SELECT 1 FROM release WHERE study = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM codes WHERE study = ?1)",
                (study, enrolment),
            )
            return _enrolment(db, study)

    def add_release(self, study: str, round_: int, request: bytes, enrolment: bytes) -> bytes | None:
        """Keeps a round's request unless it has one; returns the one it has, or None if the study is over.

        Raises Replaced unless the study still has this enrolment, which it keeps from now on.
        """
        with self.transaction() as db:
            if not _still_has(db, study, enrolment):
                return None
            db.execute("INSERT OR IGNORE INTO release VALUES (?, ?, ?)", (study, round_, request))
            row = db.execute("SELECT request FROM release WHERE study = ? AND round = ?", (study, round_))
            return bytes(row.fetchone()[0])

    def add_codes(
        self, study: str, cohort: str, column: int, points: bytes, enrolment: bytes
    ) -> bytes | None:
        """Keeps the digest of a column's points unless it has one; returns and raises as `add_release`."""
        key = (study, cohort, column)
        with self.transaction() as db:
            if not _still_has(db, study, enrolment):
                return None
            db.execute("INSERT OR IGNORE INTO codes VALUES (?, ?, ?, ?)", (*key, points))
            row = db.execute('SELECT points FROM codes WHERE study = ? AND cohort = ? AND "column" = ?', key)
            return bytes(row.fetchone()[0])

    def add_turn(self, study: str, round_: int, number: int, openings: bytes) -> bytes | None:
        """Keeps a turn's message unless it has one; returns the one it has, or None if the study is over."""
        with self.transaction() as db:
            if _enrolment(db, study) is None:
                return None
            turn = study, round_, number
            db.execute("INSERT OR IGNORE INTO turn VALUES (?, ?, ?, ?)", (*turn, openings))
            query = "SELECT openings FROM turn WHERE study = ? AND round = ? AND number = ?"
            return bytes(db.execute(query, turn).fetchone()[0])

    def end(self, study: str) -> None:
        """Deletes all that is known of a study but the fact that it is over."""
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO study VALUES (?, NULL)", (study,))
            db.execute("DELETE FROM release WHERE study = ?", (study,))
            db.execute("DELETE FROM codes WHERE study = ?", (study,))
            db.execute("DELETE FROM turn WHERE study = ?", (study,))
        with self._lock:  # what was deleted still lies in the journal
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _still_has(db: sqlite3.Connection, study: str, enrolment: bytes) -> bool:
    """Tell whether the study has this enrolment; False if it is over. Raises Replaced if it has another."""
    stored = _enrolment(db, study)
    if stored not in (None, enrolment):
        raise Replaced(study)
    return stored is not None


def _enrolment(db: sqlite3.Connection, study: str) -> bytes | None:
    row = db.execute("SELECT enrolment FROM study WHERE id = ?", (study,)).fetchone()
    if row is None:
        raise NoStudy(study)
    return None if row[0] is None else bytes(row[0])
