"""Stage of a cohort in a study, from what is kept on its disk, and the command that comes next."""

from __future__ import annotations

from enum import StrEnum

from unpooled.methods import algorithm
from unpooled.methods.algorithm import VariantMethod
from unpooled_client.state.events import Exit
from unpooled_client.state.folder import Saved, StateFolder


class Stage(StrEnum):
    """Stages of a cohort in a study, in order, as the window lists them."""

    JOIN = "Join"
    """Accept the plan and the roster."""
    DATA = "Data"
    """Name the data files."""
    CHECK = "Check"
    """Check them; a study stands here only while they are read, or as long as they have faults."""
    REVIEW = "Review what leaves"
    """Release what will leave this computer."""
    RUN = "Run"
    RESULTS = "Results"
    """Nothing: the results are here."""

    @property
    def number(self) -> int:
        return list(Stage).index(self)

    @property
    def to_do(self) -> str:
        """Next task at this stage, for people."""
        return _TO_DO[self]


_TO_DO = {
    Stage.JOIN: "Accept the plan and the roster",
    Stage.DATA: "Choose the data files",
    Stage.CHECK: "Check the data files",
    Stage.REVIEW: "Review what leaves this computer, and release it",
    Stage.RUN: "Start the run",
    Stage.RESULTS: "The results are here",
}


def stage_of(saved: Saved) -> Stage:
    """Return the stage that comes next in this study."""
    if saved.delivered:
        return Stage.RESULTS
    if saved.agreement is None:
        return Stage.JOIN
    if saved.is_released:
        return Stage.RUN
    return Stage.REVIEW if saved.files else Stage.DATA


def in_a_line(saved: Saved) -> str:
    """Describe the study and its stage on one line."""
    name = saved.agreement.study if saved.agreement else f"Study {saved.invitation.study}"
    cohort = f", cohort {saved.cohort}" if saved.cohort else ", not joined yet"
    return f"{name}{cohort}. {stage_of(saved).to_do}."


def next_command(saved: Saved, folder: StateFolder) -> str:
    """Return the next command to type; empty if the study has ended."""
    state = folder.as_option
    _, files = algorithm(saved.agreement.plan.test).file if saved.agreement else VariantMethod.file
    of_data = saved.problem is not None and saved.problem.exit == Exit.DATA  # the same files would not do
    return {
        Stage.JOIN: f"unpooled-client join --wait {state}",
        Stage.DATA: f"unpooled-client check {state} {files}",
        Stage.REVIEW: f"unpooled-client review {state}",
        Stage.RUN: f"unpooled-client run {state} {files if of_data else ''}".rstrip(),
        Stage.RESULTS: f"unpooled-client results {state}",
    }[stage_of(saved)]
