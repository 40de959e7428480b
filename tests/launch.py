"""Starts a Python module as `python -m` does, after arming places in it at which a test can hold it.

    python launch.py FOLDER MODULE [ARGUMENT ...]

A place is a function, and whether before or after it. While FOLDER/<module>:<function>.<before|after> exists,
whoever comes to that place waits; the file holds the number of calls that may pass first. So a test can kill
the process exactly there: between two lines that must not come apart.

A stub is another function in a function's stead: FOLDER/stubs.json maps one to a function of a file.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import inspect
import json
import runpy
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Where a party may be held, in the order of a study.
JOIN = "unpooled_client.study.joining:join"
ACCEPT = "unpooled_client.study.joining:accept"
DELIVER_SEED = "unpooled_client.network.api:Api.accept"
SETTLE_PANEL = "unpooled_server.store:PanelDraft.write"
PUT_SHARE = "unpooled_client.network.api:Api.put_share"
COMMIT = "unpooled_server.services.uploads:commit"
ENTER = "unpooled_server.services.uploads:_enter"
MARK_RELEASED = "unpooled_server.services.rounds:_mark_released"
ENROL = "unpooled_server.services.rounds:_enrol"
RECORD_RELEASE = "unpooled_compensator.store:Store.add_release"
ENTER_DEALING = "unpooled_client.study.book:Book.deal"
PUT_DEALING = "unpooled_client.network.api:Api.put_dealing"
KEEP_DEALING = "unpooled_server.services.dealings:commit"
OPEN = "unpooled_server.compensator_client:Compensator.open"
TURN = "unpooled_server.compensator_client:Compensator.turn"
RECORD_TURN = "unpooled_compensator.store:Store.add_turn"
ANSWER_TURN = "unpooled_compensator.sessions:Session.answer"
TOTAL = "unpooled_server.services.rounds:_total"
CONCLUDE = "unpooled_server.services.rounds:_conclude"
WRITE_RESULT = "unpooled_server.store:write_result"
PUBLISH = "unpooled_server.services.results:_publish"
FETCH = "unpooled_client.study.delivery:fetch"
PLACES = (
    JOIN,
    ACCEPT,
    DELIVER_SEED,
    SETTLE_PANEL,
    PUT_SHARE,
    COMMIT,
    ENTER,
    MARK_RELEASED,
    ENROL,
    RECORD_RELEASE,
    ENTER_DEALING,
    PUT_DEALING,
    KEEP_DEALING,
    OPEN,
    TURN,
    RECORD_TURN,
    ANSWER_TURN,
    TOTAL,
    CONCLUDE,
    WRITE_RESULT,
    PUBLISH,
    FETCH,
)
STUBS = "stubs.json"


class Gate:
    """A place of one party, as the test sees it."""

    def __init__(self, folder: Path, place: str, when: str = "before") -> None:
        assert place in PLACES
        self._file = folder / f"{place}.{when}"
        self._reached = folder / f"{place}.{when}.reached"

    def close(self, passing: int = 0) -> None:
        """Hold whoever comes, after so many calls."""
        self._reached.unlink(missing_ok=True)
        draft = self._file.with_suffix(".draft")
        draft.write_text(str(passing))
        draft.replace(self._file)

    def open(self) -> None:
        self._file.unlink(missing_ok=True)

    @property
    def is_reached(self) -> bool:
        """Whether somebody is held here."""
        return self._reached.exists()


class _Turnstile:
    """The same place as the held process sees it."""

    def __init__(self, file: Path) -> None:
        self.file, self.passed, self.lock = file, 0, threading.Lock()

    def pass_through(self) -> None:
        try:
            allowed = int(self.file.read_text())
        except FileNotFoundError:
            return
        with self.lock:
            self.passed += 1
            if self.passed <= allowed:
                return
        self.file.with_name(f"{self.file.name}.reached").touch()
        while self.file.exists():
            time.sleep(0.02)


def _held(function: Callable[..., Any], folder: Path, place: str) -> Callable[..., Any]:
    before, after = _Turnstile(folder / f"{place}.before"), _Turnstile(folder / f"{place}.after")

    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        before.pass_through()
        result = function(*arguments, **named)
        after.pass_through()
        return result

    @functools.wraps(function)
    def generated(*arguments: Any, **named: Any) -> Any:
        before.pass_through()
        result = yield from function(*arguments, **named)
        after.pass_through()
        return result

    return generated if inspect.isgeneratorfunction(function) else wrapped


class _Arming:
    """An import hook that replaces functions of modules right after these are loaded."""

    def __init__(self, changes: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]) -> None:
        self.changes = changes

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        places = [place for place in self.changes if place.partition(":")[0] == name]
        spec = importlib.machinery.PathFinder.find_spec(name, path) if places else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            for place in places:
                self._change(module, place)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _change(self, module: ModuleType, place: str) -> None:
        *owners, name = place.partition(":")[2].split(".")
        owner = functools.reduce(getattr, owners, module)
        setattr(owner, name, self.changes[place](getattr(owner, name)))


def _stub(where: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    file, name = where.rsplit(":", 1)

    def replace(original: Callable[..., Any]) -> Callable[..., Any]:
        spec = importlib.util.spec_from_file_location("stub", file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        other = getattr(module, name)
        return lambda *arguments, **named: other(original, *arguments, **named)

    return replace


def main() -> None:
    folder, module, *arguments = sys.argv[1:]
    changes = {place: functools.partial(_held, folder=Path(folder), place=place) for place in PLACES}
    stubs = Path(folder) / STUBS
    if stubs.exists():
        changes |= {place: _stub(where) for place, where in json.loads(stubs.read_text()).items()}
    sys.path[0] = str(Path.cwd())  # as `python -m` has it
    sys.meta_path.insert(0, _Arming(changes))  # type: ignore[arg-type]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
