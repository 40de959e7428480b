"""What `--yes` covers: the plan and the roster that are accepted first, and none that come after them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from client_dishonest import PLAN, Cohort
from client_scripted import Scripted

from tests.patience import until
from unpooled_client.commands import run as run_command
from unpooled_client.commands.screen import JsonScreen
from unpooled_client.state.events import Exit, Failed, ReleaseNeeded
from unpooled_client.state.journal import Journal
from unpooled_client.study import background
from unpooled_client.study.engine import Engine, Until
from unpooled_client.study.joining import UNANSWERED, Unanswered

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


def test_what_was_accepted_is_not_asked_again(cohort: Cohort) -> None:
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
