"""State of a cohort: the word that its client tells, and the stage that the server makes of it.

A client sends one of `Doing` in a header of each request. The server knows more, such as who owes an answer
and who is not heard, and decides one `Stage` for each cohort; browser, log and clients show that one.
"""

from __future__ import annotations

import enum

HEADER = "Unpooled-Doing"


class Doing(enum.StrEnum):
    """Activity of a client: one of these words, and nothing of its data."""

    JOINING = "joining"
    """It joins, and a person reads the plan and the roster."""
    ACCEPTED = "accepted"
    """A person has accepted the plan and the roster."""
    CHOOSING = "choosing"
    """A person chooses the data files. No client need run meanwhile."""
    CHECKING = "checking"
    """It reads and checks the data, and a person reads what will leave and releases it."""
    COMPUTING = "computing"
    SENDING = "sending"
    WAITING = "waiting"
    STOPPED = "stopped"
    """It ends with a problem."""
    LOOKING = "looking"
    """Somebody looks where the study is; of this cohort it tells nothing, not even that it is there."""


class Stage(enum.StrEnum):
    """Stage of a cohort. `word` is for people; `to` ends the sentence "waiting for Graz to …"."""

    word: str
    to: str

    def __new__(cls, name: str, word: str, to: str) -> Stage:
        member = str.__new__(cls, name)
        member._value_ = name
        member.word, member.to = word, to
        return member

    INVITED = "invited", "Invited", "join"
    JOINED = "joined", "Joined", "accept the plan and the cohorts"
    ACCEPTED = "accepted", "Accepted", "check data"
    CHOOSING = "choosing", "Choosing data", "choose data"
    CHECKING = "checking", "Checking", "check data"
    READY = "ready", "Ready", "start"
    COMPUTING = "computing", "Computing", "answer"
    SENDING = "sending", "Sending", "answer"
    WAITING = "waiting", "Waiting", "go on"
    DONE = "done", "Done", "end"
    OFFLINE = "offline", "Offline", "come back"
    STOPPED = "stopped", "Stopped", "solve a problem"
    ENDED = "ended", "Ended", "end"
    REVOKED = "revoked", "Invitation revoked", "be invited again"
