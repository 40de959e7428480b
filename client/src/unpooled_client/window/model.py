"""Model of what the window shows about a study, made from the engine's reports. Nothing here knows of Qt.

`Progress` adds up the events of a run, a `Card` says one thing that a person should know now, and
`stage_lines` gives the list at the left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from unpooled_client.sentences import sentences
from unpooled_client.state import events
from unpooled_client.state.stage import Stage
from unpooled_client.window.wording import in_window


class Tone(Enum):
    """Kind of news, by word and sign: none is told by colour alone."""

    GOOD = "done", "✓"
    NOW = "now", "▶"
    WAITING = "waiting", "…"
    WARNING = "look at this", "!"
    PROBLEM = "needs you", "✗"
    LATER = "not yet", "○"

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def sign(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class StageLine:
    """A stage at the left with its state in words."""

    stage: Stage
    tone: Tone
    can_open: bool

    @property
    def text(self) -> str:
        return f"{self.stage}: {self.tone.word}"


def stage_lines(at: Stage, tone: Tone) -> tuple[StageLine, ...]:
    """The stages of a study that has come to stage `at`, which is in the state `tone`."""

    def line(stage: Stage) -> StageLine:
        if stage is at:
            return StageLine(stage, tone, True)
        done = stage.number < at.number
        return StageLine(stage, Tone.GOOD if done else Tone.LATER, done)

    return tuple(map(line, Stage))


@dataclass(frozen=True)
class Card:
    """One thing to know: what, where, what to do, and who can do it."""

    tone: Tone
    title: str
    text: str = ""
    where: str = ""
    remedy: str = ""
    who: str = ""
    busy: bool = False
    """True if this computer is at work on it, and will report again by itself."""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Its details that are known, by name."""
        found = [("Where", self.where), ("What to do", self.remedy), ("Who can act", self.who)]
        return [(name, value) for name, value in found if value]


YOU, COORDINATOR = "You", "The coordinator of the study"

_KINDS = {
    events.Exit.DATA: ("The data cannot be used as they are", "in this cohort's files", YOU),
    events.Exit.USAGE: ("Something is missing", "on this computer", YOU),
    events.Exit.REFUSED: ("Refused", "between this computer and the server", f"{YOU}, or the coordinator"),
    events.Exit.STUDY_ENDED: ("The study has ended without results", "in the study", COORDINATOR),
    events.Exit.INTERRUPTED: ("Stopped", "on this computer", YOU),
    events.Exit.COMPUTER: ("This computer could not go on", "on this computer", YOU),
    events.Exit.INTERNAL: (
        "This program failed",
        "on this computer",
        f"{YOU}; if it persists, the program's makers",
    ),
}
_CODES = {
    "joined-elsewhere": (
        "This invitation was used on another computer",
        f"{YOU}, where the state is; if it is lost, you and the coordinator",
    ),
    "second-client": ("Another client of this cohort is running", YOU),
    "revoked-token": ("The invitation was revoked", COORDINATOR),
    "unknown-token": ("The invitation is not known to the server", COORDINATOR),
    "client-too-old": ("This program is too old for the server", f"{YOU}, or your IT department"),
    "server-too-old": ("The server is too old for this program", f"{COORDINATOR}, or the server's operator"),
    "other-version": ("Another release began this study", COORDINATOR),
    "list-apart": ("This cohort's variants are not the others'", YOU),
    "declined": ("You declined", YOU),
    "unanswered": ("You must accept something first", YOU),
}

_REMEDIES = {
    "joined-elsewhere": "Go on where the invitation was used before. If that computer, or its folder with "
    "the study's state, is lost, join anew: then all cohorts accept again, or the study ends if sums were "
    "released.",
    "declined": "To take part after all, try again.",
    "list-apart": "Choose the right files under Data. The other cohorts wait, and need do nothing.",
}
"""Remedies that replace the engine's words about the command line, by code."""


def failure(event: events.Failed) -> Card:
    """Why a run ended, and what now."""
    title, where, who = _KINDS.get(event.exit, _KINDS[events.Exit.INTERNAL])
    title, who = _CODES.get(event.code, (title, who))
    tone = Tone.WARNING if event.exit == events.Exit.INTERRUPTED else Tone.PROBLEM
    remedy = _REMEDIES.get(event.code, _sentence(event.remedy))
    sent = _sentence(event.remedy) if event.code == "declined" else ""
    text = " ".join(filter(None, [_sentence(event.message), sent, sentences.told(event)]))
    return Card(tone, title, text, where, remedy, who)


def trouble(text: str) -> Card:
    """A child process that ended without a word of the engine's: what it printed to people."""
    text = text.strip().removeprefix("Error: ") or "The program ended without saying why."
    return Card(Tone.PROBLEM, "This did not work", _sentence(text), "on this computer", who=YOU)


def _sentence(text: str) -> str:
    text = in_window(text)
    return text if text.startswith("http") else text[:1].upper() + text[1:]


def waiting(event: events.Waiting) -> Card:
    """Somebody else's turn."""
    whom = ", ".join(event.names) or event.what
    why = ", ".join(event.waits) or event.what
    return Card(
        Tone.WAITING,
        f"Waiting for {whom} since {sentences.clock(event.since)}",
        f"For {why}. Nothing is wrong, and there is nothing for you to do." if event.names else "",
        who=f"{whom}; the coordinator can ask them" if event.names else COORDINATOR,
    )


def unreachable(event: events.Unreachable) -> Card:
    return Card(
        Tone.WAITING,
        f"The server has not answered since {sentences.clock(event.since)}",
        f"{_sentence(event.reason)}. This program keeps trying, and goes on by itself.",
        event.server,
        "Look at this computer's network and its proxy. “Test the connection” shows which part fails.",
        f"{YOU}, your IT department, or the operator of the server",
    )


def paused(event: events.Paused) -> Card:
    return Card(
        Tone.WAITING,
        "The study is paused",
        _sentence(event.reason),
        "in the study",
        "Leave this computer on; it goes on by itself when the study does.",
        COORDINATOR,
    )


@dataclass(frozen=True)
class Bar:
    """Progress of one step of the study; `total` is None if it cannot be known."""

    step: str
    """Its name, without the iteration."""
    title: str
    done: int
    total: int | None
    note: str
    """Text of the amount done, and of the remaining time if that is known."""


_KEPT: dict[type[events.Event], str] = {
    events.ReviewNeeded: "asks",
    events.Finished: "finished",
    events.Failed: "failed",
    events.Unreachable: "_trouble",
    events.Paused: "_paused",
    events.Waiting: "_waiting",
}
"""The events of which the latest counts, by where it is kept; and those that end what another began."""
_ENDED: dict[type[events.Event], str] = {
    events.Waiting: "asks",
    events.Agreed: "asks",
    events.Reachable: "_trouble",
    events.Resumed: "_paused",
    events.StepProgress: "_waiting",
    events.Sent: "_waiting",
    events.PanelAgreed: "_waiting",
    events.Results: "_waiting",
    events.ReviewNeeded: "_waiting",
    events.Finished: "_waiting",
}


@dataclass
class Progress:
    """Summary of the events of a study's latest run."""

    study: str = ""
    proposal: events.Proposal | None = None
    asks: events.ReviewNeeded | None = None
    """Plan and roster, which nobody has accepted yet."""
    sent: int = 0
    messages: int = 0
    finished: events.Finished | None = None
    failed: events.Failed | None = None
    log: list[str] = field(default_factory=list)
    last: events.Event | None = None
    _steps: dict[str, events.StepProgress] = field(default_factory=dict)
    _trouble: events.Unreachable | None = None
    _paused: events.Paused | None = None
    _waiting: events.Waiting | None = None

    def add_all(self, told: Iterable[events.Event]) -> None:
        for event in told:
            self.add(event)

    def add(self, event: events.Event) -> None:
        """Take note of one more event."""
        if isinstance(event, events.Started):
            self.__init__()  # type: ignore[misc]  # another run begins
        self.last = event
        self.log += sentences.lines(event)
        if name := _KEPT.get(type(event)):
            setattr(self, name, event)
        if name := _ENDED.get(type(event)):
            setattr(self, name, None)
        match event:
            case events.Joined():
                self.study = event.name
            case events.Proposal():  # and a review, which is one
                self.proposal = event
            case events.StepProgress():
                self._steps[event.step] = event
            case events.Sent():
                self.sent += event.bytes
                self.messages += 1

    @property
    def bars(self) -> list[Bar]:
        """The steps that this cohort answers, in the order in which they began."""
        return [Bar(step, e.title, e.done, e.total, _note(e)) for step, e in self._steps.items()]

    @property
    def traffic(self) -> str:
        """Sent and received, as far as it is known."""
        if self.finished is not None:
            sent, received = sentences.size(self.finished.sent), sentences.size(self.finished.received)
            return f"{sent} sent, {received} received"
        messages = "message" if self.messages == 1 else "messages"
        return f"{sentences.size(self.sent)} sent in {self.messages:,} {messages}" if self.messages else ""

    @property
    def is_over(self) -> bool:
        """True if this run has ended, well or not."""
        return self.finished is not None or self.failed is not None

    @property
    def was_interrupted(self) -> bool:
        """True if a run that is no longer heard from did not come to an end of its own."""
        ends = (events.Agreed, events.Proposal, events.Finished, events.Failed)
        return self.last is not None and not isinstance(self.last, ends)

    @property
    def card(self) -> Card | None:
        """The one thing to know now, or None while all goes its way."""
        if self.failed is not None:
            return failure(self.failed)
        if self.finished is not None:
            return None
        if self._trouble is not None:
            return unreachable(self._trouble)
        if self._paused is not None:
            return paused(self._paused)
        return waiting(self._waiting) if self._waiting is not None else None


def _note(event: events.StepProgress) -> str:
    left = sentences.left(event)
    return f"{sentences.amount(event)}, {left}" if left else sentences.amount(event)
