"""Stage of a study on one line: for the list of studies and for the steps at the left."""

from __future__ import annotations

from dataclasses import dataclass

from unpooled_client.state.stage import Stage
from unpooled_client.window.model import Progress, Tone


@dataclass(frozen=True)
class Where:
    """The stage that a study has come to, how it stands there, and both in words."""

    stage: Stage
    tone: Tone
    text: str
    is_asking: bool = False
    """True if the study stands still until the person here does something."""


def where(stage: Stage, progress: Progress, *, is_alive: bool) -> Where:
    """Return the stage of a study, from what is on disk and what its latest run reported."""
    if stage is Stage.RESULTS:
        return Where(stage, Tone.GOOD, stage.to_do)
    if stage is Stage.RUN and progress.asks is not None and not is_alive:
        return Where(Stage.JOIN, Tone.NOW, "Plan or roster have changed: accept them again", True)
    if is_alive and progress.asks is None and (stage is Stage.RUN or progress.card is not None):
        card = progress.card
        return Where(stage, card.tone, card.title) if card else Where(stage, Tone.NOW, "The run goes on")
    if progress.failed is not None:
        card = progress.card
        return Where(stage, Tone.PROBLEM, card.title if card else "Failed")
    if stage is Stage.RUN and progress.was_interrupted:
        return Where(stage, Tone.WARNING, "Interrupted: open it, and it goes on")
    return Where(stage, Tone.NOW, stage.to_do, True)
