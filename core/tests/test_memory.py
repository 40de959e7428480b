"""Memory that a process holds after its threads have freed most of what they took, read from the system."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

IN_TURN = """
import threading
import numpy as np
from unpooled.memory.allocator import share_one_heap

def take_and_free(done):
    blocks = [np.ones(1 << 20, np.uint8) for _ in range(20)]
    del blocks[:-1]
    done.set()
    end.wait()

{call}
first = np.ones(24 << 20, np.uint8)
del first  # from here on glibc takes blocks of up to this size from a heap
end = threading.Event()
for _ in range(8):
    done = threading.Event()
    threading.Thread(target=take_and_free, args=(done,)).start()
    done.wait()
print(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])
end.set()
"""


HOLES = """
import numpy as np
from unpooled.memory.allocator import give_back_what_is_free

blocks = [np.ones(100_000, np.uint8) for _ in range(2_000)]
del blocks[:-1]
{call}
print(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])
"""

LARGE = """
import numpy as np
from unpooled.memory.allocator import map_large_blocks

{call}
first = np.ones(24 << 20, np.uint8)
del first  # from here on glibc takes blocks of up to this size from the heap
blocks = [np.ones(6 << 20, np.uint8) for _ in range(30)]
del blocks[:-1]
print(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])
"""

about_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc")


@about_glibc
def test_what_a_thread_frees_serves_the_next() -> None:
    assert held(IN_TURN, "") - held(IN_TURN, "share_one_heap()") > 100_000  # kB


@about_glibc
def test_holes_in_the_heap_go_back() -> None:
    assert held(HOLES, "") - held(HOLES, "give_back_what_is_free()") > 100_000  # kB


@about_glibc
def test_large_blocks_go_back_at_once() -> None:
    assert held(LARGE, "") - held(LARGE, "map_large_blocks()") > 100_000  # kB


def held(script: str, call: str) -> int:
    command = [sys.executable, "-c", script.format(call=call)]
    # A Dask worker in the same process, of another test, has set some for its children.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return int(done.stdout)
