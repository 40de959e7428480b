"""The files of the state directory: the private key, the hash of the caller's secret, the database.

Each is made whole or not at all, readable by its owner alone. A directory with a part of them is refused: a
new key would not open the boxes, and a new database would have forgotten what was released.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

from unpooled.errors import UnpooledError
from unpooled.protocol.sealing import SealingKey, fingerprint
from unpooled_compensator.store import Store

_KEY, _CALLER, _DATABASE = "compensator.key", "caller-secret.sha256", "compensator.sqlite3"
# 256 bits take 43 characters of base64, 64 of hex.
_SECRET = re.compile(r"[!-~]{43,200}")


class StateProblem(UnpooledError):
    """The state directory, or a file given on the command line, cannot be used as it is."""


def open_state(directory: Path) -> tuple[Store, SealingKey]:
    """The database and the key of a state directory, made at the first start."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (directory / _KEY).exists() and not (directory / _DATABASE).exists():
        raise StateProblem(
            f"{directory}: the key is there but {_DATABASE}, which holds what was released, is missing. "
            "Restore it, or start with a new state directory (and a new key)."
        )
    try:
        store = Store(directory / _DATABASE)
    except sqlite3.Error as error:
        raise StateProblem(
            f"{directory / _DATABASE}: {error}. Look at its permissions, restore it, or start with a new "
            "state directory (and a new key)."
        ) from None
    with store.transaction():  # two processes that start at once make one key
        if not (directory / _KEY).exists():
            _make_key(directory, store)
    return store, read_key(directory)


def _make_key(directory: Path, store: Store) -> None:
    if not store.is_empty():
        raise StateProblem(
            f"{directory / _KEY}: the key is missing, and no other opens the boxes of these studies. "
            "Restore it, or start with a new state directory (and a new key)."
        )
    write_private(directory / _KEY, SealingKey.generate().private.hex())


def read_key(directory: Path) -> SealingKey:
    path = directory / _KEY
    try:
        _check_private(path)
        private = bytes.fromhex(path.read_text("ascii"))
        if len(private) == 32:
            return SealingKey(private)
    except FileNotFoundError:
        raise StateProblem(f"{path}: no key yet; `unpooled-compensator serve` makes one.") from None
    except ValueError:
        pass  # said below, without a traceback that could show the file
    raise StateProblem(f"{path}: want 64 hex digits. Restore the file.")


def _check_private(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise StateProblem(f"{path}: others can read the private key. Run: chmod 600 {path}")


def caller_hash(directory: Path, secret_file: Path | None, show: Callable[[str], None]) -> bytes:
    """SHA-256 of the caller's secret.

    A secret in `secret_file` counts, and is made there if the file does not exist. Without such a file the
    secret is made at the first start and shown once; only its hash is kept.
    """
    kept = directory / _CALLER
    if secret_file is not None:
        if not secret_file.exists():
            write_private(secret_file, new_secret())
        return _keep_hash(kept, _read_secret(secret_file))
    if not kept.exists():
        show(secret := new_secret())
        return _keep_hash(kept, secret)
    return _read_hash(kept)


def replace_caller_secret(directory: Path, secret_file: Path | None, show: Callable[[str], None]) -> None:
    """A new secret; the old one is refused from the next start on."""
    secret = new_secret()
    if secret_file is None:
        show(secret)
    else:
        write_private(secret_file, secret)
    _keep_hash(directory / _CALLER, secret)


def new_secret() -> str:
    return os.urandom(32).hex()


def secret_hash(path: Path) -> bytes:
    """Return the SHA-256 of the secret in a file."""
    return hashlib.sha256(_read_secret(path).encode()).digest()


def _read_secret(path: Path) -> str:
    secret = path.read_text("utf-8", errors="replace").strip()
    if not _SECRET.fullmatch(secret):
        raise StateProblem(
            f"{path}: no secret. Want 256 random bits as text without spaces, "
            "as `unpooled-compensator caller-secret` makes."
        )
    return secret


def _read_hash(path: Path) -> bytes:
    digits = path.read_text("utf-8", errors="replace").strip()
    if not re.fullmatch("[0-9a-f]{64}", digits):
        raise StateProblem(f"{path}: want 64 hex digits. Run: unpooled-compensator caller-secret")
    return bytes.fromhex(digits)


def _keep_hash(path: Path, secret: str) -> bytes:
    digest = hashlib.sha256(secret.encode()).digest()
    write_private(path, digest.hex())
    return digest


def known_keys(path: Path) -> frozenset[str]:
    """Fingerprints in a list with one key (64 hex digits) or fingerprint (32) a line; # comments."""
    found = set()
    for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
        digits = "".join(line.partition("#")[0].split()).lower()
        if re.fullmatch("[0-9a-f]{64}", digits):
            found.add(fingerprint(bytes.fromhex(digits)))
        elif re.fullmatch("[0-9a-f]{32}", digits):
            found.add(" ".join(digits[i : i + 4] for i in range(0, 32, 4)))
        elif digits:
            raise StateProblem(
                f"{path}:{number}: want a signing key (64 hex digits) or its fingerprint (32)."
            )
    return frozenset(found)


def write_private(path: Path, text: str) -> None:
    """Makes or replaces a file in one go, on disk when this returns, readable by its owner alone."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":  # elsewhere a directory cannot be opened
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
