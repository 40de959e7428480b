"""Long polls: one waiter looks for all of its study, and all of them get what is new at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from unpooled_server import selectors
from unpooled_server.cohort_api import waiting

pytestmark = pytest.mark.services


class Watched:
    """What a study's watch sees, and how often somebody looked."""

    def __init__(self) -> None:
        self.now, self.looks = 0, 0

    def __call__(self, study_id: str) -> int:
        self.looks += 1
        return self.now


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    monkeypatch.setattr(selectors, "newest", watched)
    return watched


def waits(look: Callable[[], Any], seconds: float) -> tuple[Any, float]:
    """What was found, and after how long."""
    began = time.monotonic()
    found = waiting.until("study", look, seconds, lambda: None)
    return found, time.monotonic() - began


def test_one_looks_for_all_and_all_are_told_at_once(watched: Watched) -> None:
    looks: list[int] = []

    def look() -> int | None:
        looks.append(watched.now)
        return watched.now or None

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(waits, look, 20.0) for _ in range(8)]
        time.sleep(0.4)
        while_nothing_was_new = len(looks)
        watched.now = 1
        for each in found:
            value, seconds = each.result()
            assert value == 1
            assert seconds < waiting.LOOK_ANYWAY  # it was told: nobody had looked by itself again
    assert while_nothing_was_new <= 2 * 8  # at first, and once more where nobody had watched before
    assert watched.looks < 160  # one of eight
    assert not waiting._watches


def test_the_next_one_leads_when_the_first_has_waited_enough(watched: Watched) -> None:
    leading = threading.Event()

    def first() -> None:
        leading.set()

    with ThreadPoolExecutor(2) as pool:
        short = pool.submit(waits, first, 0.2)
        assert leading.wait(5)
        time.sleep(0.05)
        long = pool.submit(waits, lambda: watched.now or None, 20.0)
        assert short.result()[0] is None
        watched.now = 1
        found, seconds = long.result()
        assert found == 1 and seconds < waiting.LOOK_ANYWAY


def test_what_the_watch_does_not_show_is_found_all_the_same(watched: Watched) -> None:
    began = time.monotonic()
    found, seconds = waits(lambda: True if time.monotonic() - began > 0.1 else None, 20.0)
    assert found and seconds < 2 * waiting.LOOK_ANYWAY


def test_an_error_while_looking_reaches_who_waits_and_leaves_nothing_behind(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(study_id: str) -> int:
        raise OSError

    monkeypatch.setattr(selectors, "newest", broken)
    with pytest.raises(OSError):
        waits(lambda: None, 1.0)
    assert not waiting._watches
