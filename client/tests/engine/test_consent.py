"""The two consents: no data file is opened before the first, nothing of the data leaves before the second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client_trials import Member, Trial, ended

from unpooled_client.state import ledger
from unpooled_client.state.events import Agreed, Checked, Failed, Finished, ReleaseNeeded, ReviewNeeded
from unpooled_client.study.engine import Engine

MakeStudy = Callable[..., Trial]
BEFORE_RELEASE = {"Public signing key"}


class Opened:
    """The files that this process opens, by an audit hook: no way to open one in Python escapes it."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        sys.addaudithook(self._hook)  # for good: nothing takes a hook away

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            self.paths.append(os.fsdecode(arguments[0]))

    def of(self, bfile: Path) -> set[str]:
        return {Path(path).suffix for path in self.paths if path.startswith(f"{bfile}.")}


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened()


def test_no_data_file_is_opened_before_plan_and_roster_are_accepted(
    study: MakeStudy, opened: Opened, tmp_path: Path
) -> None:
    trial = study()
    member, *others = trial.members
    member.bfile = _copy(member.bfile, tmp_path / "own")
    threads = [other.beside() for other in others]
    opened.paths.clear()
    seen: dict[type, set[str]] = {}

    def answer(engine: Engine, asked: ReviewNeeded | ReleaseNeeded) -> None:
        seen[type(asked)] = opened.of(member.bfile)
        engine.accept(asked)

    assert isinstance(member.run(answer=answer), Finished)
    ended(*threads)
    assert seen == {ReviewNeeded: set(), ReleaseNeeded: {".bed", ".bim", ".fam"}}


def _copy(bfile: Path, to: Path) -> Path:
    for suffix in (".bed", ".bim", ".fam"):
        Path(f"{to}{suffix}").write_bytes(Path(f"{bfile}{suffix}").read_bytes())
    return to


def test_nothing_of_the_data_leaves_before_the_release(study: MakeStudy) -> None:
    trial = study()
    member, *others = trial.members
    threads = [other.beside() for other in others]
    sent: list[set[str]] = []

    def answer(engine: Engine, asked: ReviewNeeded | ReleaseNeeded) -> None:
        sent.append(_quantities(member))
        engine.accept(asked) if isinstance(asked, ReviewNeeded) else engine.decline()

    last = member.run(answer=answer)
    assert isinstance(last, Failed)
    assert (last.exit, last.told_server) == (3, "declined")
    assert sent == [BEFORE_RELEASE, BEFORE_RELEASE]
    assert _quantities(member) == {*BEFORE_RELEASE, "Code of a problem"}
    assert not member.state.load().is_released
    trial.abort(*threads)


def _quantities(member: Member) -> set[str]:
    return {entry.quantity for entry in ledger.read(member.state.ledger)}


def test_what_was_accepted_is_not_asked_again(study: MakeStudy) -> None:
    """A person who accepted the plan and then found bad files is asked for the release only."""
    trial = study()
    member, *others = trial.members
    threads = [other.beside() for other in others]
    good, member.bfile = member.bfile, member.bfile.with_name("absent")
    assert isinstance(member.run(), Failed)
    member.bfile = good
    member.events.clear()
    assert isinstance(member.run(), Finished)
    assert not member.told(ReviewNeeded)
    assert len(member.told(Agreed)) == len(member.told(Checked)) == len(member.told(ReleaseNeeded)) == 1
    assert member.told(ReleaseNeeded)[0].sizes["samples"] == 80
    ended(*threads)
