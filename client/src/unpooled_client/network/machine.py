"""Memory and disk space of this computer, on every system."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Memory:
    """Bytes of working memory that this process may have: all in all, and at the moment."""

    total: int
    available: int


def memory() -> Memory:
    """Return the system's memory, or less if a batch system or a container allows less."""
    system = psutil.virtual_memory()
    limits = [Memory(limit, limit - used) for limit, used in _cgroup_limits()]
    found = [Memory(system.total, system.available), *limits]
    # A group may be over its limit for a moment: then nothing is free, and not less than nothing.
    return Memory(min(each.total for each in found), max(0, min(each.available for each in found)))


def _cgroup_limits() -> list[tuple[int, int]]:
    """(limit, used) of each control group above this process that has a limit; only Linux has any."""
    found = []
    with contextlib.suppress(OSError):
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8").strip().rpartition("::")[2]
        group = _CGROUPS / own.strip("/")
        for folder in (group, *group.parents):
            with contextlib.suppress(OSError, ValueError):  # "max" is no number
                limit, used = ((folder / f"memory.{name}").read_text("utf-8") for name in ("max", "current"))
                found.append((int(limit), int(used)))
    return found


def existing(folder: Path) -> Path:
    """The folder, or the nearest thing above it that exists."""
    folder = folder.absolute()
    return next((path for path in (folder, *folder.parents) if path.exists()), folder)


def free_bytes(folder: Path) -> int:
    """Room for files in a folder, which may not exist yet."""
    return shutil.disk_usage(existing(folder)).free


def is_writable(folder: Path) -> bool:
    """Tell whether files can be made in a folder, or the folder itself if it does not exist yet."""
    try:
        with tempfile.TemporaryFile(dir=existing(folder)):
            return True
    except OSError:
        return False
