"""The two consents: what is opened and leaves before them, and what `--yes` covers."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from client_dishonest import PLAN, Cohort
from client_scripted import Scripted
from client_trials import Member, Trial, ended

from tests.patience import until
from unpooled_client.commands import run as run_command
from unpooled_client.commands.screen import JsonScreen
from unpooled_client.state import ledger
from unpooled_client.state.events import Agreed, Checked, Exit, Failed, Finished, ReleaseNeeded, ReviewNeeded
from unpooled_client.state.journal import Journal
from unpooled_client.study import background
from unpooled_client.study.engine import Engine, Until
from unpooled_client.study.joining import UNANSWERED, Unanswered

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
    trial: Trial, opened: Opened, tmp_path: Path
) -> None:
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


def test_nothing_of_the_data_leaves_before_the_release(trial: Trial) -> None:
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


def test_what_was_accepted_is_not_asked_again(trial: Trial) -> None:
    """A person who accepted the plan and then found bad files is asked for the release only."""
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


CHANGES: dict[str, dict[str, Any]] = {
    "the roster": {"another": True},
    "the plan": {"plan": replace(PLAN, min_samples=1)},
    "the plan, the roster": {"plan": replace(PLAN, min_samples=1), "another": True},
}


@pytest.fixture
def cohort(scripted: Scripted, tmp_path: Path) -> Cohort:
    return Cohort(scripted, tmp_path)


def yes(cohort: Cohort, **says: Any) -> int:
    """The exit code of `join --wait --yes`."""
    cohort.keep()
    cohort.server.says(200, cohort.says("open", **says))
    return run_command._follow(Engine(cohort.state, until=Until.AGREED), JsonScreen(), yes=True)


def test_the_first_agreement_is_covered(cohort: Cohort) -> None:
    assert yes(cohort) == Exit.DONE
    agreement = cohort.state.load().agreement
    assert agreement is not None and agreement.roster == cohort.roster()


def test_of_what_was_accepted_nothing_is_asked(cohort: Cohort) -> None:
    assert yes(cohort.agreed()) == Exit.DONE


@pytest.mark.parametrize("changed", CHANGES)
def test_a_change_is_not_covered(cohort: Cohort, changed: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = cohort.agreed().saved.agreement
    assert yes(cohort, **CHANGES[changed]) == Exit.USAGE
    assert cohort.state.load().agreement == before
    said = capsys.readouterr().out
    assert f"{changed} changed and must be accepted again, and there is nobody to ask" in said
    assert f"unpooled-client join --wait {cohort.state.as_option}" in said
    assert "--yes does not answer this" in said


@pytest.mark.parametrize("changed", CHANGES)
def test_a_client_that_says_yes_to_all_would_accept_it(
    cohort: Cohort, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "accept_unseen", Engine.accept)
    before = cohort.agreed().saved.agreement
    assert yes(cohort, **CHANGES[changed]) == Exit.DONE
    assert cohort.state.load().agreement != before


def test_a_run_in_the_background_ends_the_same_way(cohort: Cohort) -> None:
    cohort.agreed().keep()
    cohort.server.says(200, cohort.says("open", another=True))
    background.start(cohort.state, ["run", "--yes", "--quiet", "--state", str(cohort.state.path)])
    failed = await_end(Journal(cohort.state.log))
    assert (failed.exit, failed.code) == (Exit.USAGE, UNANSWERED)
    assert "the roster changed" in failed.message and "--yes does not answer this" in failed.remedy


def await_end(journal: Journal) -> Failed:
    failed: list[Failed] = []

    def has_failed() -> bool:
        failed.extend(event for event in journal.new() if isinstance(event, Failed))
        return bool(failed)

    until(has_failed, lambda: "the run goes on")
    return failed[0]


@pytest.mark.parametrize("released, is_covered", [(b"", True), (b"p" * 32, False)])
def test_what_leaves_under_a_changed_plan_is_not_released(
    cohort: Cohort, released: bytes, is_covered: bool
) -> None:
    cohort.agreed().saved = replace(cohort.saved, released=released)
    cohort.keep()
    engine = Engine(cohort.state)
    session = engine._session = engine._begin()
    session.asked = asked = ReleaseNeeded(PLAN.hash().hex(), (), {})
    engine.accept_unseen(asked)
    session.api.close()
    if is_covered:
        assert session.decision.result()
    else:
        assert isinstance(session.decision.exception(), Unanswered)
