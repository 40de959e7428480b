"""Problems that a cohort may report to the server when it cannot go on: a code, and a name from the plan.

Files, lines, IDs, values and tracebacks stay at the cohort. The texts here are for the coordinator's page.
"""

from __future__ import annotations

import enum


class Problem(enum.StrEnum):
    """Why a cohort stopped. `message` and `remedy` are for the people of the study."""

    message: str
    remedy: str
    field: str
    """The plan's field that may have to change; empty if none has, or it is the one that names a column."""

    def __new__(cls, code: str, message: str, remedy: str, field: str = "") -> Problem:
        member = str.__new__(cls, code)
        member._value_ = code
        member.message, member.remedy, member.field = message, remedy, field
        return member

    @classmethod
    def of(cls, code: str) -> Problem | None:
        """The problem with this code; None if there is none."""
        return next((known for known in cls if known.value == code), None)

    DECLINED = (
        "declined",
        "The cohort declined the plan or the roster.",
        "Ask its data manager why; until a first sum is asked for, the plan can be changed.",
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
        "The cohort has fewer people than the plan asks of each cohort.",
        "Its data manager looks for missing values; or the coordinator leaves this cohort out, or lowers the "
        "least number of people in the plan.",
        "min_samples",
    )
    FLOOR_PER_CLASS = (
        "floor-per-class",
        "The cohort has fewer cases, or fewer controls, than the plan asks of each cohort.",
        "Its data manager looks how cases and controls are coded, or says that there are meant to be none of "
        "one kind; or the coordinator leaves this cohort out, or lowers the least number in the plan.",
        "min_per_class",
    )
    NO_SUCH_SEX = (
        "no-such-sex",
        "The cohort has nobody of the sex that the plan is about.",
        "Its data manager looks at the column of sexes in the .fam; or the coordinator leaves this cohort "
        "out.",
        "sexes",
    )
    NO_COLUMN = (
        "no-column",
        "The cohort's files do not have a column that the plan names, or have it twice.",
        "Its data manager renames the column; or the coordinator corrects its name in the plan.",
    )
    NO_VARIANT = (
        "no-variant",
        "The cohort's files do not have a variant that the plan conditions on, or have its ID twice.",
        "Its data manager looks whether it has another ID there, or was left out; or the coordinator chooses "
        "another variant.",
    )
    NO_VALUES = (
        "no-values",
        "The cohort has no value in a column of the plan.",
        "Its data manager gives a file that has them; or the coordinator leaves the column out.",
    )
    LEVEL = (
        "level",
        "The cohort has a value that is no level of this covariate in the plan, or none that is a value of "
        "this column.",
        "Its data manager corrects the spelling; or the coordinator adds the level to the plan.",
    )
    VALUES = (
        "values",
        "The cohort has values in a column that are not of the kind that the plan names.",
        "Its data manager corrects them; or the coordinator changes what the plan says of the column.",
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
        "Look at the log of the study; then change the plan, or change and repeat the study.",
    )
    OVERLAP = (
        "overlap",
        "The cohort has few of the variants that the others have.",
        "Its data manager sees the likely cause, and gives other files. The other cohorts wait, and need do "
        "nothing.",
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
