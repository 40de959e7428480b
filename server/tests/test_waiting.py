"""Long polls: one waiter looks for all of its study, and all of them get what is new at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.patience import until
from unpooled_server import selectors
from unpooled_server.cohort_api import waiting


class Watched:
    """What a study's watch sees, and how often somebody looked."""

    def __init__(self) -> None:
        self.now, self.looks = 0, 0
        self.leaders: set[int] = set()

    def __call__(self, study_id: str) -> int:
        self.looks += 1
        self.leaders.add(threading.get_ident())
        return self.now


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    monkeypatch.setattr(selectors, "newest", watched)
    return watched


FOREVER = 3600.0
"""Seconds that no test lasts: what was found within them was told, and not seen at last."""


def waits(look: Callable[[], Any], seconds: float) -> Any:
    """What was found."""
    return waiting.until("study", look, seconds, lambda: None)


@pytest.fixture
def nobody_looks_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LOOK_ANYWAY", FOREVER)


@pytest.mark.usefixtures("nobody_looks_anyway")
def test_one_looks_for_all_and_all_are_told_at_once(watched: Watched) -> None:
    looks: list[int] = []

    def look() -> int | None:
        looks.append(watched.now)
        return watched.now or None

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(waits, look, FOREVER) for _ in range(8)]
        until(lambda: len(looks) >= 8 and watched.looks >= 8, lambda: "not all wait")
        while_nothing_was_new = len(looks)
        watched.now = 1
        assert [each.result() for each in found] == [1] * 8
    assert while_nothing_was_new <= 2 * 8  # at first, and once more where nobody had watched before
    assert len(watched.leaders) <= 2  # who saw how it was, and who saw what was new
    assert not waiting._watches


@pytest.mark.usefixtures("nobody_looks_anyway")
def test_the_next_one_leads_when_the_first_has_waited_enough(watched: Watched) -> None:
    with ThreadPoolExecutor(2) as pool:
        short = pool.submit(waits, lambda: None, 0.2)
        until(lambda: watched.looks, lambda: "nobody leads")
        long = pool.submit(waits, lambda: watched.now or None, FOREVER)
        assert short.result() is None
        watched.now = 1
        assert long.result() == 1


def test_what_the_watch_does_not_show_is_found_all_the_same(watched: Watched) -> None:
    looks = iter([None, None, True])  # at first, as soon as somebody leads, and then without any news
    assert waits(lambda: next(looks), FOREVER)


def test_an_error_while_looking_reaches_who_waits_and_leaves_nothing_behind(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(study_id: str) -> int:
        raise OSError

    monkeypatch.setattr(selectors, "newest", broken)
    with pytest.raises(OSError):
        waits(lambda: None, 1.0)
    assert not waiting._watches
