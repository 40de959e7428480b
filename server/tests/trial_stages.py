"""Stages of a study by name, and what leads a trial there."""

from __future__ import annotations

from collections.abc import Callable

from federation_fixtures import Federation


def half(trial: Federation) -> None:
    """A round is open, and two of three have answered."""
    trial.running()
    trial.answer(*trial.clients[:2])


def complete(trial: Federation) -> None:
    """All have answered, and no worker has seen it."""
    trial.running()
    trial.answer()


def paused_by_a_problem(trial: Federation) -> None:
    trial.running()
    trial.clients[0].ok("POST", "problem", json={"code": "floor"})


UNTIL: dict[str, Callable[[Federation], None]] = {
    "nobody": lambda trial: None,
    "joined": Federation.join,
    "some-joined": lambda trial: trial.clients[0].join(),
    "accepted": lambda trial: (trial.join(), trial.accept()),  # type: ignore[func-returns-value]
    "some-accepted": lambda trial: (trial.join(), trial.clients[0].accept()),  # type: ignore[func-returns-value]
    "ready": Federation.ready,
    "running": Federation.running,
    "half": half,
    "complete": complete,
    "paused": paused_by_a_problem,
}
