"""Long polls: one waiter looks for all of its study, and all of them get what is new at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.patience import PATIENCE, until
from unpooled_server.cohort_api import waiting
from unpooled_server.reads import selectors

pytestmark = pytest.mark.services
NEVER = 10 * PATIENCE
"""Seconds after which nobody here waits for anything any more."""


class Watched:
    """Record of what a study's watch sees, how often somebody looked, and who did."""

    def __init__(self) -> None:
        self.now, self.looks, self.threads = 0, 0, set[int]()

    def __call__(self, study_id: str) -> int:
        self.looks += 1
        self.threads.add(threading.get_ident())
        return self.now


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    monkeypatch.setattr(selectors, "newest", watched)
    return watched


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polling is off: a waiter looks when it is told that there is something new, and never by itself."""
    monkeypatch.setattr(waiting, "LOOK_ANYWAY", NEVER)


def waits(look: Callable[[], Any], seconds: float = NEVER) -> Any:
    return waiting.until("study", look, seconds, lambda: None)


def test_one_looks_for_all_and_all_are_told_at_once(watched: Watched, told: None) -> None:
    looks: list[int] = []

    def look() -> int | None:
        looks.append(watched.now)
        return watched.now or None

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(waits, look) for _ in range(8)]
        until(lambda: len(looks) >= 8 and watched.looks > 8, lambda: "eight wait, and one looks")
        while_nothing_was_new = len(looks)
        watched.now = 1
        assert [each.result(PATIENCE) for each in found] == [1] * 8
    assert while_nothing_was_new <= 2 * 8  # at first, and once more where nobody had watched before
    assert len(watched.threads) == 1
    assert not waiting._watches


def test_the_next_one_leads_when_the_first_has_waited_enough(watched: Watched, told: None) -> None:
    leading = threading.Event()

    def first() -> None:
        leading.set()

    with ThreadPoolExecutor(2) as pool:
        short = pool.submit(waits, first, 0.2)
        assert leading.wait(PATIENCE)
        long = pool.submit(waits, lambda: watched.now or None)
        assert short.result(PATIENCE) is None
        watched.now = 1
        assert long.result(PATIENCE) == 1


def test_what_the_watch_does_not_show_is_found_all_the_same(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOOK_ANYWAY", 0.01)
    looks = iter([None, None, None, True])
    assert waits(lambda: next(looks)) is True


def test_an_error_while_looking_reaches_who_waits_and_leaves_nothing_behind(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(study_id: str) -> int:
        raise OSError

    monkeypatch.setattr(selectors, "newest", broken)
    with pytest.raises(OSError):
        waits(lambda: None)
    assert not waiting._watches
