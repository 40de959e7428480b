"""What a cohort may tell the server when it cannot go on: one of these codes, and a name from the plan.

Files, lines, IDs, values and tracebacks stay at the cohort. The texts here are for the coordinator's page.
"""

from __future__ import annotations

import enum


class Problem(enum.StrEnum):
    """Why a cohort stopped. `message` and `remedy` are for the people of the study."""

    message: str
    remedy: str

    def __new__(cls, code: str, message: str, remedy: str) -> Problem:
        member = str.__new__(cls, code)
        member._value_ = code
        member.message, member.remedy = message, remedy
        return member

    DECLINED = (
        "declined",
        "The cohort declined the plan or the roster.",
        "Ask its data manager why; to change the plan, duplicate the study.",
    )
    DATA = (
        "data",
        "The cohort's files do not fit this study.",
        "Its data manager sees which file and line; once they are fixed, the same command continues.",
    )
    DATA_CHANGED = (
        "data-changed",
        "The cohort's files changed after they were accepted.",
        "Restore the files as they were, or duplicate the study.",
    )
    FLOOR = (
        "floor",
        "The cohort has fewer samples, cases or controls than the plan asks of each.",
        "Duplicate the study, and leave this cohort out or lower the floor there.",
    )
    BOUND = (
        "bound",
        "A quantity is beyond the bound that the study agreed on.",
        "The cohort should look for wrong units or missing codes in this quantity.",
    )
    COMPENSATOR = (
        "compensator",
        "The study's compensator is not the one that the invitation names.",
        "Compare the fingerprints by telephone; issue a new invitation.",
    )
    PANEL = (
        "panel",
        "The list of variants does not fit the cohort's own.",
        "Look at the log of the study; duplicate the study.",
    )
    QUESTION = (
        "question",
        "The cohort was asked for something that its plan does not contain.",
        "Server and cohorts must run the same version; if they do, speak to the server's operator.",
    )
    INTERNAL = (
        "internal",
        "The cohort's program failed.",
        "Its data manager sees the details in the log file, and can start the same command again.",
    )
