"""Events that the engine reports to its interface: the command line prints them, a window draws them.

Every event is a frozen dataclass that can be written as one line of JSON (`to_json`) and read again
(`from_json`). Times are seconds since 1970; sizes are bytes. Nothing in them leaves the computer.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from unpooled.asking.question import without_turn
from unpooled.described.facts import Change
from unpooled.described.what_leaves import Leaving
from unpooled.errors import UnpooledError
from unpooled.plan.plan import Plan
from unpooled.protocol.messages import Roster
from unpooled.protocol.sealing import fingerprint


class Exit(IntEnum):
    """Exit codes of the command line, and the kinds of an end."""

    DONE = 0
    DATA = 1
    USAGE = 2
    REFUSED = 3
    STUDY_ENDED = 4
    INTERRUPTED = 5
    INTERNAL = 6
    COMPUTER = 7


@dataclass(frozen=True)
class Event:
    """Base of all events."""

    def to_json(self) -> dict[str, Any]:
        """Plain values with the event's name first, e.g. {"event": "step-progress", …}."""
        fields = {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"event": name_of(type(self))} | fields

    @staticmethod
    def from_json(values: dict[str, Any]) -> Event:
        """The event that `to_json` wrote; ValueError if it is none of this program's."""
        kind = _kinds().get(values.get("event", ""))
        if kind is None:
            raise ValueError(f"got {values.get('event')!r}; want the name of an event")
        try:
            return kind(**{name: _told(name, value) for name, value in values.items() if name != "event"})
        except (TypeError, KeyError, AttributeError, UnpooledError) as error:
            raise ValueError(f"{values['event']}: {error}") from error


@dataclass(frozen=True)
class Started(Event):
    """A run begins: the process that does it, on which computer, and the version of this program."""

    pid: int
    host: str
    version: str


@dataclass(frozen=True)
class Joined(Event):
    """This cohort is in the study; `fingerprint` is of its own signing key."""

    study: str
    name: str
    cohort: str
    fingerprint: str
    server: str
    again: bool
    """True if the client resumes from a state that it found."""


@dataclass(frozen=True)
class UpdateChecked(Event):
    """The server was asked, as a person wished, for a newer release of this client: its answer in words."""

    is_newer: bool
    text: str


@dataclass(frozen=True)
class Waiting(Event):
    """Nothing to do until others have acted."""

    what: str
    """Description for people: "the other cohorts to join"."""
    names: tuple[str, ...]
    """The cohorts that are waited for, as far as the server says."""
    since: float
    waits: tuple[str, ...] = ()
    """Parties that must act, each with its task in the server's words: "Munich to join"."""


@dataclass(frozen=True)
class Unreachable(Event):
    """The server does not answer; the client keeps trying."""

    server: str
    reason: str
    since: float


@dataclass(frozen=True)
class Reachable(Event):
    """The server answers again."""

    server: str
    after: float
    """Seconds without an answer."""


@dataclass(frozen=True)
class Proposal(Event):
    """Request of a study to this cohort."""

    plan: Plan
    plan_hash: str
    """Recomputed here from the plan."""
    compensator: str
    """Fingerprint of the compensator's key: the same in the invitation, the plan and the server's answer.

    Empty where there is none.
    """
    one_operator: bool
    """Server and compensator are run by the same people: masks then hide nothing from them."""
    leaves: tuple[Leaving, ...]
    description: str = field(default="", kw_only=True)
    """The coordinator's words about the study. They are no part of the plan, and no hash holds them."""


@dataclass(frozen=True)
class ReviewNeeded(Proposal):
    """A person must look at this and call `Engine.accept` or `Engine.decline` before the run goes on."""

    roster: Roster
    roster_hash: str
    cohort: str
    """The name that this cohort has in the roster."""
    changed: str = ""
    """Parts that differ from those accepted earlier, in words: "the plan, the roster". Empty if nothing was
    accepted.
    """
    changes: tuple[Change, ...] = ()
    """The same line by line."""
    repeats: str = ""
    """The name of the study that ended, if this one repeats it: the roster is then what it is to be again."""


@dataclass(frozen=True)
class Repeated(Event):
    """This cohort takes part in the study that repeats the one that ended, with a state of its own."""

    study: str
    name: str
    folder: str


@dataclass(frozen=True)
class Agreed(Event):
    """This cohort's person has accepted the plan and the roster, now or earlier; data files may be opened."""

    plan_hash: str
    roster_hash: str


PEOPLE, ROWS = "people", "rows"
"""Units that sums are over."""
BYTES = "bytes"
"""Unit of a step that is about sums that come back."""


@dataclass(frozen=True)
class FewApart:
    """An earlier study of this cohort with a sum over nearly the same people as one of a new study."""

    study: str
    """The new study, by the name that people know."""
    whose: str
    """The people of its sum, in words."""
    earlier: str
    """The earlier study, likewise."""
    than: str
    """The people of its sum."""
    more: int
    """Number of people or rows in the new one only."""
    fewer: int
    """Number of people or rows in the earlier one only."""
    unit: str
    """Unit that is counted: PEOPLE or ROWS."""

    @property
    def apart(self) -> int:
        return self.more + self.fewer


@dataclass(frozen=True)
class ReleaseNeeded(Event):
    """The data are checked, and nothing of them was sent. A person must release what will leave this computer
    (`Engine.accept`), or decline."""

    plan_hash: str
    leaves: tuple[Leaving, ...]
    sizes: dict[str, int]
    """Counts on which the sizes rest, as `unpooled_client.study.reading.sizes_of` names them."""
    few_apart: tuple[FewApart, ...] = ()
    """Earlier studies that must be released knowingly, if any: nobody accepts these unseen."""


@dataclass(frozen=True)
class Accepted(Event):
    """Release of what leaves, and delivery of the sealed seed."""

    plan_hash: str
    roster_hash: str


@dataclass(frozen=True)
class Checked(Event):
    """The data files were read. `report` is the data check's own; it stays at the cohort."""

    ok: bool
    report: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class PanelAgreed(Event):
    """The variants of the study are known, and this cohort has them."""

    variants: int
    own: int
    """Entries in this cohort's own list."""
    digest: str


@dataclass(frozen=True)
class StepProgress(Event):
    """Progress of this cohort's answers in a step; `total` is None if it cannot be known."""

    title: str
    done: int
    total: int | None
    unit: str
    """Unit that is counted: variants, questions or `BYTES`."""
    working: int
    """Questions at work at this moment, of every kind."""
    left: float | None = None
    """Seconds until the step is answered, at the pace so far; None where that cannot be known."""
    is_last: bool = False
    """True if no other step over all variants follows: `left` is then roughly the time of the whole study."""
    took: float = 0.0
    """Seconds so far, of a step that is counted in bytes."""

    @property
    def step(self) -> str:
        """The title without the iteration."""
        return without_turn(self.title)

    @property
    def is_whole(self) -> bool:
        """True if the whole step is answered."""
        return self.done == self.total


@dataclass(frozen=True)
class Sent(Event):
    """Something left the computer; the ledger has the same line."""

    quantity: str
    bytes: int
    form: str
    round: int | None = None


@dataclass(frozen=True)
class Paused(Event):
    """The study is paused, with the reason that the server gives."""

    reason: str


@dataclass(frozen=True)
class Resumed(Event):
    """The study goes on."""


@dataclass(frozen=True)
class Results(Event):
    """The result files of the study are here."""

    files: tuple[str, ...]
    folder: str


@dataclass(frozen=True)
class Transformed(Event):
    """The cohort's own data, transformed by the results, lie in a file beside them."""

    file: str
    what: str


@dataclass(frozen=True)
class Compared(Event):
    """This cohort's data alone were set against the results. The files lie beside these, and stay here."""

    files: tuple[str, ...]
    """Empty where that could not be done."""
    count: int
    """Number of variants, or of columns of a table."""
    apart: int = 0
    """Variants of which the pool's effect is beyond the limits of this cohort's."""
    reason: str = ""
    """Why it could not be done."""
    changed: bool = False
    """The data files are no longer those that were used."""
    phenotype: str = ""
    """Phenotype of this event, in a study of several."""
    frequencies: int = 0
    """Variants whose frequencies were compared; 0 where the results have none."""
    frequencies_far: int = 0
    """Number of these frequencies that are far from the pool's."""


@dataclass(frozen=True)
class Finished(Event):
    """The end, reached: what it took. Bytes include the headers of HTTP."""

    sent: int
    received: int
    seconds: dict[str, float]
    """Seconds by phase: joining, checking, computing, sending, waiting, results."""


@dataclass(frozen=True)
class Failed(Event):
    """The end, not reached: why, and what to do."""

    exit: Exit
    message: str
    remedy: str
    told_server: str = ""
    """The code that the server was told, if any."""
    code: str = ""
    """Why it was refused, by the server's name for it, such as revoked-token; or by this program's: declined,
    joined-elsewhere, or unanswered where there was nobody to ask. Empty for other ends."""
    told_name: str = ""
    """The plan's name of a quantity or a column that the server was told with the code, if any."""
    is_known: bool = False
    """True if `Checked` has already reported the same."""


def name_of(kind: type[Event]) -> str:
    """The event's name in JSON: StepProgress is "step-progress"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _kinds() -> dict[str, type[Event]]:
    kinds: dict[str, type[Event]] = {}
    waiting: list[type[Event]] = [Event]
    while waiting:
        found = waiting.pop().__subclasses__()
        kinds |= {name_of(kind): kind for kind in found}
        waiting += found
    return kinds


def _told(name: str, value: Any) -> Any:
    """The value of a field of that name, from JSON."""
    match name:
        case "plan":
            return Plan.from_json(value)
        case "roster":
            return Roster(tuple((member["name"], bytes.fromhex(member["key"])) for member in value))
        case "leaves":
            return tuple(Leaving(**leaving) for leaving in value)
        case "changes":
            return tuple(Change(**change) for change in value)
        case "few_apart":
            return tuple(FewApart(**apart) for apart in value)
        case "exit":
            return Exit(value)
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    match value:
        case Plan():
            return value.to_json()
        case Roster():
            return [
                {"name": n, "key": key.hex(), "fingerprint": fingerprint(key)} for n, key in value.members
            ]
        case Event() | Leaving() | Change() | FewApart():
            return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        case bytes():
            return value.hex()
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case Path():
            return str(value)
    return value
