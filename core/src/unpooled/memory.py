"""How the C library keeps memory that is free."""

from __future__ import annotations

import contextlib
import ctypes
import sys

_M_ARENA_MAX = -8  # malloc.h of glibc


def share_one_heap() -> None:
    """Have all threads of this program use one heap. To be called when it starts.

    glibc gives threads heaps of their own, up to eight per core, so that they need not wait for one another,
    and each keeps what was freed in it. Our threads take few and large blocks in turn: of a million variants
    a third more memory was held than is used. See mallopt(3).
    """
    _call("mallopt", _M_ARENA_MAX, 1)


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
