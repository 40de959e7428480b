"""Where a cohort is in a study, by what is kept on its disk, and the command that comes next."""

from __future__ import annotations

from enum import StrEnum

from unpooled_client.state import Saved, StateFolder


class Stage(StrEnum):
    """The steps of a cohort, in their order. Each name is what is to be done."""

    JOIN = "join"
    """Accept the plan and the roster."""
    DATA = "data"
    """Name the data files, and check them."""
    REVIEW = "review"
    """Release what will leave this computer."""
    RUN = "run"
    RESULTS = "results"
    """Nothing: the results are here."""


def stage_of(saved: Saved) -> Stage:
    """What is to be done in this study."""
    if saved.delivered:
        return Stage.RESULTS
    if saved.agreement is None:
        return Stage.JOIN
    if saved.is_released:
        return Stage.RUN
    return Stage.REVIEW if saved.files else Stage.DATA


def next_command(saved: Saved, folder: StateFolder) -> str:
    """What to type next; empty where the study has ended."""
    state = folder.as_option
    of_tables = saved.agreement is not None and saved.agreement.plan.of_tables
    files = "--table FILE" if of_tables else "--bfile PREFIX"
    return {
        Stage.JOIN: f"unpooled-client join --wait {state}",
        Stage.DATA: f"unpooled-client check {state} {files}",
        Stage.REVIEW: f"unpooled-client review {state}",
        Stage.RUN: f"unpooled-client run {state}",
        Stage.RESULTS: f"unpooled-client results {state}",
    }[stage_of(saved)]
