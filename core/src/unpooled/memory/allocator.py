"""Control of how the C library keeps freed memory."""

from __future__ import annotations

import contextlib
import ctypes
import sys

_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # malloc.h of glibc
_LARGE = 1 << 22


def share_one_heap() -> None:
    """Have all threads of this program use one heap. To be called when it starts.

    glibc gives threads heaps of their own, up to eight per core, so that they need not wait for one another,
    and each keeps what was freed in it. Our threads take few and large blocks in turn: of a million variants
    a third more memory was held than is used. See mallopt(3).
    """
    _call("mallopt", _M_ARENA_MAX, 1)


def map_large_blocks() -> None:
    """Have blocks of 4 MB or more go back to the system as soon as they are free.

    Else glibc takes blocks of up to 32 MB from the heap, once one of that size was freed, and holes are held.
    What computes with large blocks for long is slower with this; what only adds them up is not. See
    mallopt(3).
    """
    _call("mallopt", _M_MMAP_THRESHOLD, _LARGE)


def give_back_what_is_free() -> None:
    """Return to the system what is free within the heap. To be called where large tables were dropped.

    Else what comes next, in larger pieces than the holes that they left, is held beside them. It takes a few
    milliseconds; see malloc_trim(3).
    """
    _call("malloc_trim", 0)


def _call(function: str, *arguments: int) -> None:
    """Does nothing with another C library."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            getattr(ctypes.CDLL(None), function)(*arguments)
