"""A study whose first round is complete, and what tests of rounds do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from federation_fixtures import Federation, work

__all__ = ["Killed", "Make", "assert_files_as_in_process", "first_round", "raising", "to_the_end", "trial"]

Make = Callable[..., Federation]


@pytest.fixture
def trial(federation: Make) -> Federation:
    """A study whose first round is complete."""
    made = federation()
    made.running()
    made.answer()
    return made


def first_round(trial: Federation) -> Any:
    from unpooled_server.models import Round

    return Round.objects.filter(study=trial.study_id).order_by("pk")[0]


def to_the_end(trial: Federation) -> None:
    for _ in range(10):
        work()
        trial.answer()
    assert trial.study.state == "done", trial.study.reason


class Killed(BaseException):
    """The worker dies here."""


def assert_files_as_in_process(trial: Federation) -> None:
    from test_whole_study import delivered, in_process

    files = delivered(trial)
    assert {name: files[name] for name in in_process(trial)} == in_process(trial)


def raising(error: BaseException) -> Callable[..., Any]:
    def wrong(*arguments: Any) -> Any:
        raise error

    return wrong
