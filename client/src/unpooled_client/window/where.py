"""Where a study is, in a line: for the list of studies and for the steps at the left."""

from __future__ import annotations

from dataclasses import dataclass

from unpooled_client.stage import Stage
from unpooled_client.window.model import Progress, Step, Tone

_STEPS = {
    Stage.JOIN: Step.JOIN,
    Stage.DATA: Step.DATA,
    Stage.REVIEW: Step.REVIEW,
    Stage.RUN: Step.RUN,
    Stage.RESULTS: Step.RESULTS,
}
_NEXT = {
    Step.JOIN: "Accept the plan and the roster",
    Step.DATA: "Choose the data files",
    Step.CHECK: "Check the data files",
    Step.REVIEW: "Review what leaves this computer, and release it",
    Step.RUN: "Start the run",
}


@dataclass(frozen=True)
class Where:
    """The step that a study has come to, how it stands there, and both in words."""

    step: Step
    tone: Tone
    text: str


def where(stage: Stage, progress: Progress, *, is_alive: bool) -> Where:
    """Where a study is, by what is on disk and what its latest run told."""
    step = _STEPS[stage]
    if step is Step.RESULTS:
        return Where(step, Tone.GOOD, "The results are here")
    if step is Step.RUN and progress.asks is not None and not is_alive:
        return Where(Step.JOIN, Tone.NOW, "Plan or roster have changed: accept them anew")
    if step is Step.RUN and is_alive:
        card = progress.card
        return Where(step, card.tone, card.title) if card else Where(step, Tone.NOW, "The run goes on")
    if progress.failed is not None:
        card = progress.card
        return Where(step, Tone.PROBLEM, card.title if card else "Failed")
    if step is Step.RUN and progress.was_interrupted:
        return Where(step, Tone.WARNING, "Interrupted: open it, and it goes on")
    return Where(step, Tone.NOW, _NEXT[step])
