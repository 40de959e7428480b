"""State that a cohort's client must not lose, in one folder per study and cohort.

    state.json     keys, seed, what was agreed to and released, digests of the data files: secret, atomic
    states/        the last two states of this cohort's own run, where these are large
                   (unpooled_client.study.resting)
    book           every question that was answered, and every sum told, by their digests
                   (unpooled_client.study.book)
    ledger.jsonl   everything that was sent (unpooled_client.state.ledger)
    client.log     every event with its time, and details of failures; never leaves this computer
    lock           held while a client runs, so that two never share a state

Beside these folders lies what is kept of all studies together: `unpooled_client.state.people`.

Everything else is asked of the server again, so a client that is killed at any time goes on when
started anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from filelock import FileLock, Timeout
from platformdirs import user_state_path

from unpooled.described.facts import Change, changes
from unpooled.described.what_leaves import Leaving, what_leaves
from unpooled.errors import UnpooledError
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Roster
from unpooled.protocol.sealing import SigningKey, fingerprint, member_key
from unpooled_client.state.events import Event, Failed, FewApart
from unpooled_client.state.files import StateError, make_private_folder, write_atomically
from unpooled_client.state.fingerprint import Fingerprint

_FORMAT = 2
NO_COMPENSATOR = fingerprint(NO_KEY)
"""Fingerprint that an invitation has where there is no compensator."""
_OPERATORS = {False: "run by different people", True: "run by the same people"}
_ABSENT = "not in the study"


@dataclass(frozen=True)
class Acceptance:
    """Record of consent: plan, roster, and the seed that was drawn for them."""

    plan_hash: bytes
    roster_hash: bytes
    seed: bytes = field(repr=False)
    sealed: bytes
    signature: bytes
    own: bytes = field(default=b"", repr=False)
    """A second seed, which nobody else ever has: for dealings. States of earlier releases have none."""
    secret: bytes = field(default=b"", repr=False)
    """The key of which the others have the public part, where shares are encrypted."""


@dataclass(frozen=True)
class Agreement:
    """The plan and the roster to which this cohort's person agreed, before any data file was opened."""

    study: str
    """The name that people know it by."""
    plan: Plan
    roster: Roster
    one_operator: bool
    """Server and compensator are run by the same people: masks then hide nothing from them."""

    @property
    def compensator(self) -> str:
        """Fingerprint of the compensator's key; empty where there is none."""
        return "" if self.plan.in_pairs else fingerprint(self.plan.compensator_key)

    def changed_since(self, old: Agreement | None) -> str:
        """Name the parts of an earlier agreement that changed, in words: "the plan, the roster"; empty
        without one.
        """
        words = {
            "study": "the study's name",
            "plan": "the plan",
            "roster": "the roster",
            "one_operator": "who runs server and compensator",
        }
        return ", ".join(words[name] for name in words if old and getattr(self, name) != getattr(old, name))

    def differences(self, old: Agreement | None) -> tuple[Change, ...]:
        """The same line by line, with the words of before and after."""
        if old is None:
            return ()
        facts = [
            ("Name of the study", old.study, self.study),
            ("Server and compensator", _OPERATORS[old.one_operator], _OPERATORS[self.one_operator]),
        ]
        keys = [{name: fingerprint(key) for name, key in each.roster.members} for each in (old, self)]
        names = sorted(keys[0].keys() | keys[1].keys())
        facts += [(f"Takes part: {name}", *(of.get(name, _ABSENT) for of in keys)) for name in names]  # type: ignore[misc]
        others = tuple(Change(*fact) for fact in facts if fact[1] != fact[2])
        return (*changes(old.plan, self.plan), *others)

    def leaves(self, sizes: Mapping[str, int] | None = None) -> tuple[Leaving, ...]:
        """Return what a person is shown before it leaves: under this agreement, of data of these sizes."""
        return what_leaves(self.plan, sizes, one_operator=self.one_operator)

    def to_json(self) -> dict[str, Any]:
        members = [[name, key.hex()] for name, key in self.roster.members]
        return {
            "study": self.study,
            "plan": self.plan.to_json(),
            "roster": members,
            "one_operator": self.one_operator,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Agreement:
        members = tuple((name, bytes.fromhex(key)) for name, key in values["roster"])
        return cls(values["study"], Plan.from_json(values["plan"]), Roster(members), values["one_operator"])


@dataclass(frozen=True)
class Saved:
    """The content of state.json."""

    invitation: Invitation
    instance: str
    signing_key: bytes = field(repr=False)
    cohort: str = ""
    network: dict[str, Any] = field(default_factory=dict)
    """Settings for reaching the server, in the form of `network.api.Network`."""
    agreement: Agreement | None = None
    options: dict[str, Any] = field(default_factory=dict)
    """The data options that passed the check, as `DataOptions.to_json` gives them."""
    files: dict[str, Fingerprint] = field(default_factory=dict)
    """The data files as they were then, by what they are."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Counts that describe the size of these files, as `study.reading.sizes_of` names them."""
    released: bytes = b""
    """Hash of the plan for which the person released what leaves of these files; empty before."""
    few_apart: tuple[FewApart, ...] = ()
    """The earlier studies from whose people those of these files differ by few."""
    few_released: tuple[FewApart, ...] = ()
    """Entries of `few_apart` that the person knew of when releasing."""
    acceptance: Acceptance | None = None
    out: str = ""
    """Folder for the results, once somebody named one."""
    delivered: bool = False
    """True if the results are in that folder."""
    problem: Failed | None = None
    """Why the last run ended, until something was done about it."""
    repeated_in: str = ""
    """Folder of the state in the study that repeats this one, once a person agreed to take part in that."""

    @classmethod
    def new(cls, invitation: Invitation) -> Saved:
        """A fresh identity: a signing key and an instance number from the operating system."""
        return cls(invitation, os.urandom(16).hex(), SigningKey.generate().private)

    @property
    def in_pairs(self) -> bool:
        """True if each two cohorts share masks, and there is no compensator.

        Before a plan was agreed to, it is what the invitation names.
        """
        if self.agreement is None:
            return self.invitation.compensator == NO_COMPENSATOR
        return self.agreement.plan.in_pairs

    @property
    def public_key(self) -> bytes:
        """Return what the roster has of this cohort."""
        signer = SigningKey(self.signing_key)
        return member_key(signer.both if self.in_pairs else signer.public)

    def to_json(self) -> dict[str, Any]:
        plain = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return plain | {
            "format": _FORMAT,
            "invitation": self.invitation.to_text(),
            "signing_key": self.signing_key.hex(),
            "agreement": self.agreement and self.agreement.to_json(),
            "files": {name: vars(file) for name, file in self.files.items()},
            "released": self.released.hex(),
            "few_apart": [vars(each) for each in self.few_apart],
            "few_released": [vars(each) for each in self.few_released],
            "acceptance": self.acceptance and {k: v.hex() for k, v in vars(self.acceptance).items()},
            "problem": self.problem and self.problem.to_json(),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Saved:
        """The state that `to_json` wrote, perhaps of an earlier release, whose states lack some values."""
        given = dict(values)
        if given.pop("format", None) != _FORMAT:
            raise ValueError("written by another version of this program")
        acceptance, agreement = given["acceptance"], given["agreement"]
        read = {
            "invitation": Invitation.from_text(given["invitation"]),
            "signing_key": bytes.fromhex(given["signing_key"]),
            "agreement": agreement and Agreement.from_json(agreement),
            "files": {name: Fingerprint(**file) for name, file in given["files"].items()},
            "released": bytes.fromhex(given["released"]),
            "few_apart": tuple(FewApart(**each) for each in given.get("few_apart", ())),
            "few_released": tuple(FewApart(**each) for each in given.get("few_released", ())),
            "acceptance": acceptance and Acceptance(**{k: bytes.fromhex(v) for k, v in acceptance.items()}),
            "problem": _problem(given.get("problem")),
        }
        return cls(**given | read)

    @property
    def is_released(self) -> bool:
        """True if a person released what leaves under the plan agreed to, knowing of every study in
        `few_apart`.
        """
        return self.has_released and set(self.few_apart) <= set(self.few_released)

    @property
    def has_released(self) -> bool:
        """True if a person released what leaves of these files under the plan agreed to."""
        return self.agreement is not None and self.released == self.agreement.plan.hash()


def _problem(told: dict[str, Any] | None) -> Failed | None:
    """Read what was told; None if another release wrote nothing, or wrote it otherwise."""
    with contextlib.suppress(ValueError):
        found = told and Event.from_json(told)
        return found if isinstance(found, Failed) else None
    return None


class StateFolder:
    """One folder of state, and the only way to it. Call `locked()` before writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file, self.ledger, self.log = path / "state.json", path / "ledger.jsonl", path / "client.log"
        self.book = path / "book"
        """Path of the record of answers: `unpooled_client.study.book`."""
        self.unsent = path / "unsent"
        """Path of answers until the server has them: `unpooled_client.study.unsent`."""
        self.derived = path / "derived"
        """Path of what was derived from this cohort's people: `unpooled_client.study.deriving`."""
        self.states = path / "states"
        """Folder of large states of this cohort's own run: `unpooled_client.study.resting`."""

    @property
    def as_option(self) -> str:
        """Option that names the folder on a command line."""
        path = str(self.path)
        return f"--state {subprocess.list2cmdline([path]) if os.name == 'nt' else shlex.quote(path)}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one running client; StateError if another one has it."""
        make_private_folder(self.path)
        # Whoever asks `is_locked` holds it for a moment.
        lock = FileLock(self.path / "lock", timeout=1, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise StateError(
                f"another client is running with the state in {self.path}. "
                "Let it go on, or stop it before you start this one."
            ) from error
        try:
            yield
        finally:
            lock.release()

    def is_locked(self) -> bool:
        """Tell whether a client is running with this folder."""
        if not (self.path / "lock").exists():
            return False
        try:
            with FileLock(self.path / "lock", timeout=0, thread_local=False):
                return False
        except Timeout:
            return True

    def exists(self) -> bool:
        return self.file.is_file()

    def is_private(self) -> bool:
        """Tell whether no other account of this computer may read or change the state.

        So it is on Windows by itself: a profile is its owner's alone.
        """
        return os.name != "posix" or not self.exists() or not self.file.stat().st_mode & 0o077

    def private_log(self) -> TextIO:
        """The log, open for appending; only this account may read it."""
        make_private_folder(self.path)
        # Appended: a run and the command that stops it may both have it open.
        descriptor = os.open(self.log, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")

    def load(self) -> Saved:
        """Load the saved state; StateError if it is missing, cannot be read, or others may read it."""
        self._refuse_shared()
        try:
            return Saved.from_json(json.loads(self.file.read_bytes()))
        except FileNotFoundError as error:
            raise StateError(
                f"there is no study in {self.path}. Start with: unpooled-client run INVITATION"
            ) from error
        except (OSError, ValueError, LookupError, TypeError, AttributeError, UnpooledError) as error:
            raise StateError(
                f"{self.file} cannot be read: {error}. Restore it from a backup. Without it this cohort "
                "joins anew: move the folder away and run the invitation again; that works until the first "
                "sum is released."
            ) from error

    def save(self, saved: Saved) -> None:
        """Replace the state by a new one that is complete on disk."""
        write_atomically(self.file, json.dumps(saved.to_json(), indent=1).encode(), private=True)
        self._refuse_shared()  # some disks keep no permissions

    def _refuse_shared(self) -> None:
        """Raise StateError if others may read the state, as ssh does for its keys: a silent repair would hide
        that the keys may be known.
        """
        if not self.is_private():
            raise StateError(
                f"other accounts of this computer may read {self.file}, which holds this cohort's keys. "
                f"If none of them did, run: chmod go= {self.file}\n"
                "If one may have, tell the coordinator. Where chmod changes nothing, as on some network "
                "disks, keep the state elsewhere: --state DIR."
            )


def default_root() -> Path:
    """Return the folder where this system keeps the state of programs."""
    return user_state_path("unpooled", appauthor=False) / "studies"


def known_folders(root: Path | None = None) -> list[StateFolder]:
    """The studies that this person's account takes part in, the latest first."""
    root = root or default_root()
    files = [path for path in root.glob("*/state.json") if path.is_file()]
    return [StateFolder(path.parent) for path in sorted(files, key=_modified, reverse=True)]


def current_folders(root: Path | None = None) -> list[StateFolder]:
    """The same, without the studies that are over because their repetition was joined."""
    return [folder for folder in known_folders(root) if not _is_left(folder)]


def _is_left(folder: StateFolder) -> bool:
    try:
        return bool(folder.load().repeated_in)
    except StateError:  # to be said of it when it is used
        return False


def folder_of(invitation: Invitation, root: Path | None = None) -> StateFolder:
    """The folder for an invitation: the one that knows its token, else a new one named after both."""
    root = root or default_root()
    token = hashlib.sha256(invitation.token.encode()).hexdigest()[:8]
    return StateFolder(root / f"{_slug(invitation.study)}-{token}")


def with_invitation(saved: Saved, invitation: Invitation) -> Saved:
    """The state under an invitation that was issued anew for the same study; StateError for another study."""
    old = saved.invitation
    if (old.study, old.compensator) != (invitation.study, invitation.compensator):
        raise StateError(
            "this folder holds the state of another study. Choose another folder with --state, "
            "or leave --state out: each study then has a folder of its own."
        )
    return dataclasses.replace(saved, invitation=invitation)


def _modified(path: Path) -> float:
    return path.stat().st_mtime


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", text)[:40]
