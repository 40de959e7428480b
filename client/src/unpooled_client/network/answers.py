"""Answers of the server: their form is checked here, and what a refusal means is raised.

ServerError
├── Unanswered      there is no answer (to a client that is not patient, or from a server unknown so far)
├── Unusable        the server's certificate or answer is of no use: trying again does not help
└── Refused         the server says no, with its code, message and remedy
    ├── TokenRefused    the token is unknown or was revoked (401)
    ├── Conflict        not in this state of the study (409)
    └── Over            the study has ended (410)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from unpooled.errors import CodecError, UnpooledError
from unpooled.panel.overlap import Overlap
from unpooled.plan.plan import Plan
from unpooled.protocol import messages
from unpooled.protocol.messages import Roster
from unpooled_client.network.connection import Answer, ServerError, Unusable

T = TypeVar("T")


class Refused(ServerError):
    """The server understood and said no."""

    def __init__(self, status: int, code: str, message: str, remedy: str = "") -> None:
        self.status, self.code = status, code
        super().__init__(message, remedy)


class TokenRefused(Refused):
    """The token is unknown or was revoked."""


class Conflict(Refused):
    """The request does not fit the state of the study."""


class Over(Refused):
    """The study has ended."""


@dataclass(frozen=True)
class ResultFile:
    """A result file as the server announces it."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Study:
    """The server's answer to `GET study`, checked for form; `study/trust.py` checks what it claims."""

    version: int
    id: str
    name: str
    state: str
    reason: str
    plan: Plan | None
    plan_hash: str
    cohort: str
    cohort_state: str
    cohort_key: bytes
    """This cohort's entry in the roster, as the server has it; empty before it has joined."""
    roster: Roster | None
    roster_hash: str
    compensator_key: bytes
    one_operator: bool
    panel_digest: str
    waiting_for: tuple[str, ...]
    waits: tuple[str, ...]
    """Parties that the study waits for, each with what it must do: "Munich to join"."""
    results: tuple[ResultFile, ...]
    description: str = ""
    """The coordinator's words, which no hash holds."""
    is_repeated: bool = False
    """The study is over, and this cohort is invited to the one that repeats it."""
    list_apart: Overlap | None = None
    """Overlap of this cohort's list with the others', if the cohort must give other files."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Study:
        study, plan, roster = values["study"], values["plan"], values["roster"]
        return cls(
            version=int(values["version"]),
            id=text_of(study["id"]),
            name=text_of(study["name"]),
            description=text_of(study.get("description") or ""),
            state=text_of(study["state"]),
            reason=text_of(study.get("reason") or ""),
            plan=Plan.from_json(plan) if plan else None,
            plan_hash=text_of(values.get("plan_hash") or ""),
            cohort=text_of(values["cohort"]),
            cohort_state=text_of(values["cohort_state"]),
            cohort_key=bytes.fromhex(values["cohort_key"]),
            roster=_roster(roster) if roster else None,
            roster_hash=text_of(values.get("roster_hash") or ""),
            compensator_key=bytes.fromhex(values["compensator"]["key"]),
            one_operator=bool(values["compensator"].get("one_operator")),
            panel_digest=text_of(values.get("panel_digest") or ""),
            waiting_for=tuple(map(text_of, values.get("waiting_for") or ())),
            waits=tuple(map(_wait, values.get("waits") or ())),
            results=tuple(map(_result_file, values.get("results") or ())),
            is_repeated=bool(values.get("is_repeated")),
            list_apart=Overlap.from_json(values["list_apart"]) if values.get("list_apart") else None,
        )


def text_of(value: Any) -> str:
    """Return a text of the server's without what would steer a terminal; TypeError if it is none."""
    if not isinstance(value, str):
        raise TypeError(f"got {type(value).__name__}; want text")
    return "".join(c for c in value if c.isprintable() or c == "\n")


def _wait(values: Any) -> str:
    who = [text_of(name) for name in values["who"]]
    return f"{' and '.join(filter(None, [', '.join(who[:-1]), *who[-1:]]))} to {text_of(values['to'])}"


def _result_file(values: Any) -> ResultFile:
    file = ResultFile(text_of(values["name"]), values["bytes"], text_of(values["sha256"]))
    # True would pass for a number: JSON has it, and it is an int to isinstance.
    if type(file.bytes) is not int or file.bytes < 0:
        raise TypeError(f"got a file of {file.bytes!r} bytes; want a number")
    return file


def _roster(members: Any) -> Roster:
    return Roster(tuple((text_of(member["name"]), bytes.fromhex(member["key"])) for member in members))


@dataclass(frozen=True)
class Counted:
    """Messages of this cohort that reached the server, and their bytes without headers."""

    messages: int
    bytes: int


def granted(answer: Answer) -> Answer:
    """Return an answer that is no refusal; raise what it means if it is one."""
    status = answer.status
    if status < 300:
        return answer
    if status < 400:
        raise Unusable(
            "the server's address has moved.", "Ask the coordinator for an invitation with the new address."
        )
    code, message, remedy = _explained(answer)
    match status:
        case 401:
            raise TokenRefused(
                status,
                code,
                "the server does not know this cohort's token, or it was revoked.",
                remedy or "Ask the coordinator for a new invitation.",
            )
        case 409:
            raise Conflict(status, code, message, remedy)
        case 410:
            raise Over(status, code, message, remedy)
    raise Refused(status, code, message, remedy)


def _explained(answer: Answer) -> tuple[str, str, str]:
    try:
        error = answer.json()["error"]
        return text_of(error["code"]), text_of(error["message"]), text_of(error.get("remedy") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        what = f"the answer has status {answer.status} and is not this platform's."
        return "", what, "Check that the invitation's address, and any proxy on the way, are right."


def parsed(answer: Answer, parse: Callable[[Any], T]) -> T:
    """Return what `parse` makes of an answer in JSON; Unusable if it has another form."""
    try:
        return parse(answer.json())
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, UnpooledError) as error:
        raise _unusable(error) from error


def decoded(answer: Answer, kind: type[T]) -> T:
    """The message of this kind in an answer; Unusable if it has another one."""
    try:
        found: T = messages.decode(answer.content, kind)
    except CodecError as error:
        raise _unusable(error) from error
    return found


def _unusable(error: Exception) -> Unusable:
    return Unusable(
        f"the server's answer cannot be read: {error}.",
        "Server and client may be of different versions: update this program, or tell the server's operator.",
    )
