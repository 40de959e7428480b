"""Every fixed list of words: states, phases. People read them in the API, in the log and in the manifest."""

from __future__ import annotations

from django.db.models import TextChoices


class StudyState(TextChoices):
    """draft → open → ready → running ⇄ paused → done | aborted | failed."""

    DRAFT = "draft", "Draft"
    OPEN = "open", "Open for cohorts"
    READY = "ready", "Ready"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    DONE = "done", "Done"
    ABORTED = "aborted", "Aborted"
    FAILED = "failed", "Failed"


BEFORE_START = (StudyState.DRAFT, StudyState.OPEN, StudyState.READY)
LIVE = (StudyState.RUNNING, StudyState.PAUSED)
OVER = (StudyState.DONE, StudyState.ABORTED, StudyState.FAILED)


class PauseKind(TextChoices):
    """Why a study is paused. Those of HELD do not end by themselves."""

    NONE = "", "Not paused"
    ASKED = "asked", "Paused by its coordinator"
    AWAY = "away", "A cohort stays away"
    PROBLEM = "problem", "A cohort reports a problem"
    COMPENSATOR = "compensator", "The compensator does not answer"
    DISK = "disk", "The platform cannot write to its disk"
    RELEASE = "release", "Another release began it"


HELD = (PauseKind.ASKED, PauseKind.RELEASE)
"""While a study is paused for one of these, nothing is asked, released or summed."""


class RoundState(TextChoices):
    """open → complete → released → aggregated."""

    OPEN = "open", "Waiting for shares"
    COMPLETE = "complete", "All shares are here"
    RELEASED = "released", "The sum of masks is asked for"
    AGGREGATED = "aggregated", "Summed"


class BranchState(TextChoices):
    """A procedure at work: asking, or waiting → due, and so on until it has ended → taken."""

    ASKING = "asking", "Waits for the sums of a round"
    WAITING = "waiting", "Waits for branches of its own"
    DUE = "due", "What it waited for is there"
    ENDED = "ended", "Ended"
    TAKEN = "taken", "Ended, and its value was taken"


UNFINISHED = (RoundState.OPEN, RoundState.COMPLETE, RoundState.RELEASED)


class CohortState(TextChoices):
    """invited → joined → accepted → checked → ready, derived from what the cohort has sent."""

    INVITED = "invited", "Invited"
    JOINED = "joined", "Joined"
    ACCEPTED = "accepted", "Accepted plan and roster"
    READY = "ready", "Ready"
    REVOKED = "revoked", "Invitation revoked"


class Phase(TextChoices):
    """Phase that a request belongs to, for traffic."""

    JOINING = "joining", "Joining"
    PANEL = "panel", "Agreeing on variants"
    ROUNDS = "rounds", "Questions and shares"
    RESULTS = "results", "Delivery of results"


COMPENSATOR = "compensator"  # the party's name in traffic
RESERVED = (COMPENSATOR, "server", "platform")  # names of parties; no cohort may be called so
