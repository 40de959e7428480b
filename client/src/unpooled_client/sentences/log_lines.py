"""Choice of the events that are worth a line of a log: forty lines suffice for any study, however large or
long.

What happens once has its lines. A step has one when it begins, and one when all of it is answered; its
iterations do not count as steps of their own. What keeps recurring (progress, who the study is waiting for, a
server that does not answer) has a line the first time, and then at growing intervals. The last lines are kept
for the results, or for what went wrong.
"""

from __future__ import annotations

from unpooled_client.sentences import sentences
from unpooled_client.state import events

MOST = 40
"""Most lines for one study, including those that name the result files."""

_BEFORE_THE_END = 26
_BEFORE_THE_STEPS = 20
"""Up to so many lines, whatever happens for the first time has one, unless it is a step over variants."""
_FINDINGS = 3
_SHORTEST = 20.0
"""Fewest seconds between two lines about what recurs."""
_GROWTH, _MANY = 2.0, 8
"""Factor by which the run's duration grows from one of these lines to the next; squared if at most _MANY are
left.
"""
_FOR_STEPS, _FOR_PROGRESS = 4, 10
"""Number of remaining lines reserved for steps that begin and end; and for these and their progress."""
_ENDS = {events.Reachable: events.Unreachable, events.Resumed: events.Paused}


class Sparing:
    """Chooses the lines of one run."""

    def __init__(self) -> None:
        self._told = 0
        self._known: set[object] = set()
        """Keys that have had their line."""
        self._lasting: set[type[events.Event]] = set()
        """Kinds of events that were reported to have begun, but not yet to have ended."""
        self._began: float | None = None
        self._due = 0.0

    def lines(self, event: events.Event, now: float) -> list[str]:
        """The lines that an event is worth at `now`, seconds of a clock."""
        if self._began is None:
            self._began, self._due = now, now + _SHORTEST
        if not self._is_worth(event, now):
            return []
        if isinstance(event, events.ReviewNeeded | events.ReleaseNeeded):
            lines = [sentences.in_a_line(event)]
        else:
            lines = sentences.lines(event)
        if isinstance(event, events.Checked) and len(lines) > _FINDINGS + 2:
            more = f"{len(lines) - 1 - _FINDINGS} more findings: unpooled-client check shows them all"
            lines = [*lines[:_FINDINGS], more, lines[-1]]
        if type(event) is not events.Proposal:  # all that `join` is for
            self._told += len(lines)
        return lines

    def _is_worth(self, event: events.Event, now: float) -> bool:
        match event:
            case events.Sent() | events.StepProgress(unit=events.BYTES):
                return False  # the ledger has them all; the last line has what was received
            case events.StepProgress(total=None):
                return self._is_first(event.step, _BEFORE_THE_STEPS) or self._is_due(now, _FOR_PROGRESS)
            case events.StepProgress():
                return self._tells_of_variants(event, now)
            case events.Waiting():
                return self._is_first(event.what, _BEFORE_THE_STEPS) or self._is_due(now, _FOR_PROGRESS)
            case events.Unreachable() | events.Paused():
                told = self._is_first(type(event), _BEFORE_THE_STEPS) or self._is_due(now, _FOR_PROGRESS)
                self._lasting |= {type(event)} if told else set()
                return told
            case events.Reachable() | events.Resumed():
                begin = _ENDS[type(event)]
                told = begin in self._lasting
                self._lasting.discard(begin)
                return told
        return True

    def _tells_of_variants(self, event: events.StepProgress, now: float) -> bool:
        """Tell whether a step over the variants gets a line now: first when its remaining time is known."""
        is_end = event.is_whole and event.step == event.title
        is_known = event.is_whole or event.left is not None
        if is_known and self._is_first((event.step, is_end), _BEFORE_THE_END):
            return True
        is_soon = event.left is not None and event.left < _SHORTEST
        # No step comes after one that is iterated.
        return is_known and not is_soon and self._is_due(now, _FOR_STEPS if event.step == event.title else 0)

    def _is_first(self, what: object, limit: int) -> bool:
        """Tell whether `what` has had no line yet while lines remain for its kind; mark it as known if so."""
        is_first = what not in self._known and self._told < limit
        self._known |= {what} if is_first else set()
        return is_first

    def _is_due(self, now: float, spared: int) -> bool:
        """Tell whether another recurring line is due, and more than `spared` lines are left."""
        left = _BEFORE_THE_END - self._told
        if now < self._due or left <= spared or self._began is None:
            return False
        growth = _GROWTH if left > _MANY else _GROWTH**2
        # Ever rarer, in step with how long it takes: a run of days has as many lines as one of minutes.
        self._due = max(now + _SHORTEST, self._began + growth * (now - self._began))
        return True
