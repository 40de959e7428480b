"""Settings come from the environment. A secret may lie in a file, named by the variable with _FILE."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

CONNECTIONS = 16
"""Maximum number of connections to PostgreSQL, of each process."""


def home() -> Path:
    """The folder of all data of this installation."""
    path = Path(os.environ.get("UNPOOLED_HOME") or Path.home() / ".unpooled").absolute()
    # Shares, sessions and secrets lie here: nobody else on the machine is to read them.
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def address(name: str, kinds: Sequence[str]) -> str:
    """The address of this name, which begins in one of these ways; empty where none is set."""
    found = os.environ.get(name, "")
    if not found.startswith(tuple(kinds)) and found:
        raise SystemExit(f"{name}: got {found!r}; want {' or '.join(kinds)}…")
    return found


def flag(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def number(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    try:
        return float(text) if text else default
    except ValueError:
        raise SystemExit(f"{name}: got {text!r}; want a number") from None


def threads() -> int:
    """Threads of each web process. Three quarters may wait for a question; some must be free for the rest."""
    found = number("UNPOOLED_THREADS", 48)
    if not 4 <= found <= 1000:
        raise SystemExit(f"UNPOOLED_THREADS: got {found:g}; want 4 to 1000")
    return int(found)


def choice(name: str, allowed: Sequence[str]) -> str:
    """The word of this name, one of those allowed; the first where none is set."""
    found = os.environ.get(name) or allowed[0]
    if found not in allowed:
        raise SystemExit(f"{name}: got {found!r}; want {' or '.join(allowed)}")
    return found


def words(name: str) -> list[str]:
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def pairs(name: str, allowed: Sequence[str]) -> dict[str, str]:
    """Read words of one's own, each with one of those allowed: `ours=observer, others=coordinator`."""
    found = {}
    for word in words(name):
        own, _, meaning = word.rpartition("=")
        if not own or meaning not in allowed:
            raise SystemExit(f"{name}: got {word!r}; want NAME={' or NAME='.join(allowed)}, between commas")
        found[own] = meaning
    return found


def provider(name: str) -> str:
    """Read the address of whoever vouches for people: nobody on the way may answer in its place."""
    found = text(name).rstrip("/")
    parts = urlsplit(found)
    if found and parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise SystemExit(f"{name}: got {found!r}; want https://…")
    return found


def ports(name: str) -> list[int]:
    found = words(name)
    if not all(word.isascii() and word.isdigit() and 0 < int(word) < 65536 for word in found):
        raise SystemExit(f"{name}: got {', '.join(found)!r}; want ports from 1 to 65535, between commas")
    return list(map(int, found))


def secret(name: str) -> str:
    """The secret of this name, or the content of the file that NAME_FILE names; empty if neither is set."""
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise SystemExit(f"{name}_FILE: cannot read {path} ({error.strerror})") from None
    return os.environ.get(name, "")


def kept_secret(path: Path, size: int = 48) -> str:
    """A secret of `size` random bytes, made at the first use and kept, readable by this account only."""
    if not path.exists():
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(size))
        with contextlib.suppress(FileExistsError):  # of two that start at once the first one's counts
            os.link(draft, path)
        draft.unlink()
    return path.read_text().strip()


def database(url: str, sqlite: Path) -> dict[str, Any]:
    """Django's description of the database at a URL; without one, SQLite in the given file."""
    if not url:
        return _sqlite(sqlite)
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(Path(unquote(parts.path[1:])))
    if parts.scheme not in ("postgres", "postgresql"):
        raise SystemExit(
            "UNPOOLED_DATABASE_URL: want postgresql://user:password@host:port/name or sqlite:///path"
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,  # back into the pool
        "CONN_HEALTH_CHECKS": True,
        # PostgreSQL allows 100 unless told otherwise, and there are more threads than that.
        "OPTIONS": {
            "pool": {"min_size": 1, "max_size": CONNECTIONS, "timeout": 3, "max_idle": 60},
            "connect_timeout": 3,
        },
    }


def mail(url: str) -> dict[str, Any]:
    """Django's settings for the mail server at a URL; without one, no mail is sent."""
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    parts = urlsplit(url)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise SystemExit(
            "UNPOOLED_MAIL_URL: want smtp://user:password@host:587 or smtps://user:password@host"
        )
    tls = parts.scheme == "smtps"
    is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or (465 if tls else 587),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": tls,
        "EMAIL_USE_TLS": not tls and not is_here,  # never a password in clear on a network
        "EMAIL_TIMEOUT": 10,
    }


def mail_sender(url: str) -> str:
    """Return the sender of mail: UNPOOLED_MAIL_FROM, which a platform that sends mail must give."""
    sender = ", ".join(words("UNPOOLED_MAIL_FROM"))
    if url and "@" not in sender:
        raise SystemExit(f"UNPOOLED_MAIL_FROM: got {sender!r}; want the address that mail is sent from")
    return sender


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A transaction takes the write lock at its start, so it never has to give up half-way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }
