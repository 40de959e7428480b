"""Forks programs for tests, as a rehearsal forks its parties, but with places at which a test can hold them.

    python fork_server.py PROGRAM SOCKET     SOCKET: the number of the inherited one by which it is asked

The first argument of whatever is to run is the folder that says where it is held (launch.py), or empty.
"""

from __future__ import annotations

import importlib
import pkgutil
import socket
import sys
from dataclasses import replace
from pathlib import Path

from unpooled_webapp import starting
from unpooled_webapp.fork_server import ignore_interrupts, run, serve

# What is imported before a program is asked for, by program: packages with all that is in them, and modules.
_LIBRARY = ("unpooled",)
_PLATFORM = (*_LIBRARY, *starting.PLATFORM, "celery.bin.celery", "kombu.transport.redis", "psycopg_pool")
IMPORTED = {
    "unpooled_client": (*_LIBRARY, "unpooled_client", "httpx", *starting.CLIENT),
    "unpooled_compensator": ("unpooled_compensator",),
    "unpooled_webapp": _PLATFORM,
    "gunicorn": _PLATFORM,
    "celery": _PLATFORM,
    "tests.told": (),
}
PROGRAMS = {program: next(p for p in IMPORTED if IMPORTED[p] is IMPORTED[program]) for program in IMPORTED}
"""Program whose server starts it, by module."""
_LEFT_OUT = ("unpooled.notebook", "unpooled_client.window", "unpooled_client.commands.window")
"""Have dependencies that start threads, and that few processes load."""


def _import(name: str) -> None:
    if name.startswith(_LEFT_OUT) or name.endswith("__main__"):
        return
    module = importlib.import_module(name)
    if name.startswith("unpooled") and hasattr(module, "__path__"):
        for inner in pkgutil.iter_modules(module.__path__, f"{name}."):
            _import(inner.name)


def _load_kernels() -> None:
    """Have the library's compiled functions at hand; no thread is left of it."""
    warming = importlib.import_module("unpooled_server.bells.warming")
    warming.tokenizer.load_kernels()
    warming.warm_up()
    for name in [name for name in sys.modules if name.partition(".")[0] == "unpooled_server"]:
        del sys.modules[name]  # no client has them, and the server's are armed as it loads them


def main() -> None:
    at_interrupt = ignore_interrupts()
    program, number = sys.argv[1:]
    import launch  # beside this file

    armed = launch.arm()
    del sys.path[0]  # the folder of tests: none of these is to import one
    sys.path.insert(0, "")
    for name in IMPORTED[program]:
        _import(name)
    if _LIBRARY[0] in IMPORTED[program]:
        _load_kernels()
    if asked_for := serve(socket.socket(fileno=int(number)), at_interrupt):
        gates, *arguments = asked_for.arguments
        if gates:
            armed.by(Path(gates))
        run(replace(asked_for, arguments=arguments))


if __name__ == "__main__":
    main()
