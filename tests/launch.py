"""Starts a Python module as `python -m` does, after arming places in it at which a test can hold it.

    python launch.py FOLDER MODULE [ARGUMENT ...]

A place is a function, and whether before or after it. While FOLDER/<module>:<function>.<before|after> exists,
whoever comes to that place waits; the file holds the number of calls that may pass first. So a test can kill
the process exactly there: between two lines that must not come apart.

A stub is another function in a function's stead (leaks.py): FOLDER/stubs.json has its name by the place.
"""

from __future__ import annotations

import functools
import importlib.machinery
import inspect
import json
import runpy
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Where a party may be held, in the order of a study. These stand as text, for what they name is of other
# processes; test_starting.py looks each of them up.
JOIN = "unpooled_client.study.joining:join"
DELIVER_KEY = "unpooled_client.network.api:Api.join"
ACCEPT = "unpooled_client.study.joining:accept"
DELIVER_SEED = "unpooled_client.network.api:Api.accept"
DELIVER_BOXES = "unpooled_client.network.api:Api.accept_in_pairs"
SETTLE_PANEL = "unpooled_server.storage.store:PanelDraft.write"
KEEP_WITNESS = "unpooled_server.services.enrolling:_keep"
OPEN_WITNESS = "unpooled_client.study.rounds:Answerer.witnessing"
OPEN_BOXES = "unpooled_client.study.rounds:Answerer.paired"
TOLD = "unpooled_client.network.api:Api.told"
ENTER_QUESTION = "unpooled_client.study.book:Book.enter"
KEEP_SHARE = "unpooled_client.study.unsent:Unsent.keep"
ENTER_SHARE = "unpooled_client.study.book:Book.send"
ERASE_SHARE = "unpooled_client.study.unsent:Unsent.erase"
PUT_SHARE = "unpooled_client.network.api:Api.put_share"
ENTER_HELP = "unpooled_client.study.book:Book.help"
PUT_HELP = "unpooled_client.network.api:Api.put_help"
KEEP_HELP = "unpooled_server.services.helping:commit"
COMMIT = "unpooled_server.services.uploads:commit"
ENTER = "unpooled_server.services.uploads:_enter"
MARK_RELEASED = "unpooled_server.services.rounds:_mark_released"
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
WRITE_RESULT = "unpooled_server.storage.store:write_result"
PUBLISH = "unpooled_server.services.results:_publish"
FETCH = "unpooled_client.study.delivery:fetch"
PLACES: tuple[str, ...] = tuple(place for name, place in globals().items() if name.isupper())
STUBS = "stubs.json"
Function = Callable[..., Any]


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
        """True if somebody is held here."""
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


class Armed:
    """The changed functions of this process: they do as ever until it is told of a folder."""

    def __init__(self, stubs: dict[str, Function]) -> None:
        """`stubs`: every function that may stand in another's stead, by its name."""
        self._known = stubs
        self._stubs: dict[str, Function] = {}
        self._turnstiles: dict[str, tuple[_Turnstile, _Turnstile]] = {}

    def by(self, folder: Path) -> None:
        """Be held, and use stubs, as this folder says."""
        for place in PLACES:
            self._turnstiles[place] = tuple(
                _Turnstile(folder / f"{place}.{when}") for when in ("before", "after")
            )
        if (file := folder / STUBS).exists():
            self._stubs = {place: self._known[name] for place, name in json.loads(file.read_text()).items()}

    def changed(self, function: Function, place: str) -> Function:
        """Wrap a module's function, so that it can be replaced or held."""

        @functools.wraps(function)
        def wrapped(*arguments: Any, **named: Any) -> Any:
            if stub := self._stubs.get(place):
                return stub(function, *arguments, **named)
            if place not in self._turnstiles:
                return function(*arguments, **named)
            if inspect.isgeneratorfunction(function):
                return self._generated(place, function(*arguments, **named))
            before, after = self._turnstiles[place]
            before.pass_through()
            result = function(*arguments, **named)
            after.pass_through()
            return result

        return wrapped

    def _generated(self, place: str, made: Any) -> Any:
        before, after = self._turnstiles[place]
        before.pass_through()
        result = yield from made
        after.pass_through()
        return result


class _Arming:
    """An import hook that replaces functions of modules as these are loaded, before others import them."""

    def __init__(self, armed: Armed, places: Iterable[str]) -> None:
        self.armed, self.places = armed, frozenset(places)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        places = [place for place in self.places if place.partition(":")[0] == name]
        spec = importlib.machinery.PathFinder.find_spec(name, path) if places else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            for place in places:
                owner, last = owner_of(module, place)
                setattr(owner, last, self.armed.changed(getattr(owner, last), place))

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def owner_of(module: ModuleType, place: str) -> tuple[Any, str]:
    """The class or module that has the function of a place, and its name there."""
    *owners, last = place.partition(":")[2].split(".")
    return functools.reduce(getattr, owners, module), last


def arm() -> Armed:
    """Have every module that this process will load changed at its places."""
    import leaks  # beside this file; by this name in parties only

    armed = Armed({name: found for name, found in vars(leaks).items() if inspect.isfunction(found)})
    sys.meta_path.insert(0, _Arming(armed, {*PLACES, *leaks.EVERYWHERE}))  # type: ignore[arg-type]
    return armed


def run(module: str, arguments: Sequence[str]) -> None:
    """Run a module as `python -m` does."""
    sys.path[0] = str(Path.cwd())
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    given, *command = sys.argv[1:]
    arm().by(Path(given))
    run(command[0], command[1:])
