"""The platform's store as those see it who run the platform."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from unpooled_server.storage import store


def check() -> None:
    """UnfitStore where the store cannot promise what the platform promises."""
    store.kept().check()


def disk() -> tuple[int, int]:
    """Return the bytes, and the free bytes, of this machine's disk for the store, or for what it copies."""
    usage = shutil.disk_usage(store.kept().root)
    return usage.total, usage.free


def marker() -> str:
    """Return the name by which the store is known; empty if it has none."""
    try:
        return b"".join(store.blocks_of(_marker())).decode().strip()
    except FileNotFoundError:
        return ""


def mark() -> str:
    """Give the store a name, if it has none; return it."""
    if not marker():
        name = secrets.token_urlsafe(16).encode()
        with suppress(store.OtherBytes):  # of two that start at once the first one's counts
            store.keep_share(_marker(), iter([name]), len(name))
    return marker()


def names() -> Iterator[tuple[str, int]]:
    """Give the names and bytes of what cannot be made again, but for files that are not whole yet."""
    kept, marker = store.kept(), _marker()
    for path, size in kept.below(kept.root / "studies"):
        if not path.name.startswith("."):
            yield path.relative_to(kept.root).as_posix(), size
    if (size_of_marker := kept.size(marker)) is not None:
        yield marker.name, size_of_marker


def blocks_of(name: str) -> Iterator[bytes]:
    """The bytes of a file of this name, block by block."""
    return store.blocks_of(store.kept().root / name)


def adopt(path: Path) -> None:
    """Move a file or folder of a backup, which lies on this machine, into the store."""
    store.kept().adopt(path)


def _marker() -> Path:
    return store.kept().root / "installation"
