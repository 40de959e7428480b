"""A study whose first round is complete, and what tests of rounds do with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from federation_fixtures import Federation, work

from tests.patience import PATIENCE

__all__ = ["Killed", "Make", "answered", "beside", "first_round", "raising", "to_the_end"]

Make = Callable[..., Federation]


@pytest.fixture
def answered(trial: Federation) -> Federation:
    """A study whose first round is complete."""
    trial.running()
    trial.answer()
    return trial


def first_round(trial: Federation) -> Any:
    from unpooled_server.models import Round

    return Round.objects.filter(study=trial.study_id).order_by("pk")[0]


def to_the_end(trial: Federation) -> None:
    work()
    trial.run_on()


class Killed(BaseException):
    """The worker dies here."""


def beside(*works: Callable[[], object]) -> None:
    """Do all of these at once, each in a thread with a connection of its own."""
    meet = threading.Barrier(len(works), timeout=PATIENCE)

    def do(work: Callable[[], object]) -> None:
        meet.wait()
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(do, work) for work in works]:
            done.result()


def raising(error: BaseException) -> Callable[..., Any]:
    def wrong(*arguments: Any) -> Any:
        raise error

    return wrong
