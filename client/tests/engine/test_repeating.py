"""A study that is repeated: from a failure to the results, with one answer of each cohort."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from client_dishonest import Cohort
from client_scripted import Scripted
from client_trials import Member, Trial, ended

from tests.patience import PATIENCE, until
from unpooled.plan.plan import NO_KEY
from unpooled_client.state.events import Exit, Failed, Finished, ReleaseNeeded, Repeated, ReviewNeeded
from unpooled_client.state.folder import StateFolder, current_folders, known_folders
from unpooled_client.study.engine import Engine, Until

MakeStudy = Callable[..., Trial]
NO_VARIANT = {"geno": 0.0, "maf": 0.5, "hwe": 0.99}
"""None is so good: the pool's counts end the study."""
MENDED = {"geno": 1.0, "maf": 0.0, "hwe": 0.0}


def repeat(trial: Trial, **changes: Any) -> Trial:
    """The coordinator presses the button, and changes the plan."""
    found = trial.platform.call("GET", f"studies/{trial.id}")
    own = ("compensator_key", "version", "panel_digest")
    plan = {name: value for name, value in found["plan"].items() if name not in own} | changes
    made = trial.call("POST", "repeat", json={"name": found["name"], "plan": plan})
    return Trial(trial.platform, made["id"], trial.members)


@pytest.fixture
def trial(study: MakeStudy) -> Trial:
    """A study that has failed."""
    made = study(**NO_VARIANT)
    made.run_all()
    assert made.state == "failed"
    return made


def since(member: Member, count: int, *kinds: type) -> list[Any]:
    return [event for event in member.events[count:] if isinstance(event, kinds)]


def test_from_a_failure_to_the_results_with_one_answer_each(trial: Trial, pooled: dict[str, bytes]) -> None:
    repetition = repeat(trial, **MENDED)
    before = [len(member.events) for member in trial.members]
    trial.run_all()  # the same command as before
    assert repetition.state == "done"
    for member, count in zip(trial.members, before, strict=True):
        assert isinstance(member.events[-1], Finished), member.events[-1]
        [asked] = since(member, count, ReviewNeeded, ReleaseNeeded)
        assert asked.repeats == "a trial"
        assert [line.label for line in asked.changes[-2:]] == ["Plan hash", "Name of the study"]
        assert asked.changes[-1].after == "a trial (2)"
        [told] = since(member, count, Repeated)
        assert told.study == repetition.id
        state = StateFolder(Path(told.folder)).load()
        assert state.invitation.token != member.invitation.token
        assert state.signing_key == member.state.load().signing_key
        assert state.invitation.token not in member.state.log.read_text()
        assert state.invitation.token not in (Path(told.folder) / "client.log").read_text()
        assert member.results() == pooled


def test_what_is_decided_once_is_not_asked_again(trial: Trial) -> None:
    repetition = repeat(trial, **MENDED)
    trial.run_all()
    member = trial.members[0]
    count = len(member.events)
    trial.platform.call("DELETE", f"studies/{trial.id}")  # the old study is not even asked any more
    assert isinstance(member.run(), Finished), member.events[-1]
    assert not since(member, count, ReviewNeeded, ReleaseNeeded)
    assert [told.study for told in since(member, count, Repeated)] == [repetition.id]
    assert repetition.state == "done"


def test_where_something_else_leaves_it_is_asked_too(trial: Trial) -> None:
    repeat(trial, **MENDED, chromosomes=["1", "2"])
    before = [len(member.events) for member in trial.members]
    trial.run_all()
    for member, count in zip(trial.members, before, strict=True):
        kinds = [type(event) for event in since(member, count, ReviewNeeded, ReleaseNeeded)]
        assert kinds == [ReviewNeeded, ReleaseNeeded]
        assert isinstance(member.events[-1], Finished)


def test_a_study_that_is_done_is_delivered_and_then_repeated(
    study: MakeStudy, pooled: dict[str, bytes]
) -> None:
    trial = study()
    trial.run_all()
    repetition = repeat(trial, maf=0.2)
    trial.run_all()
    assert repetition.state == "done"
    member = trial.members[0]
    assert member.results() == pooled  # the old results stay where they are
    again = member.out.with_name(f"unpooled-{repetition.id}")
    assert (again / "study.assoc").read_bytes() != (member.out / "study.assoc").read_bytes()


def test_a_client_that_is_killed_on_the_way_goes_on(trial: Trial, pooled: dict[str, bytes]) -> None:
    repeat(trial, **MENDED)
    victim, *others = trial.members
    threads = [member.beside() for member in others]
    process = subprocess.Popen(
        [*victim.command("--json")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("yes\n")
    process.stdin.flush()
    for line in process.stdout:
        if json.loads(line)["event"] == "repeated":
            break
    process.kill()
    process.communicate()
    count = len(victim.events)
    assert isinstance(victim.run(), Finished), victim.events[-1]
    assert not since(victim, count, ReviewNeeded, ReleaseNeeded)
    ended(*threads)
    assert victim.results() == pooled


def test_who_declines_joins_nothing(trial: Trial) -> None:
    repetition = repeat(trial, **MENDED)
    member = trial.members[0]
    last = member.run(answer=lambda engine, _: engine.decline())
    assert isinstance(last, Failed) and last.code == "declined"
    assert not member.state.load().repeated_in
    assert "joined" not in repetition.log()


def test_yes_does_not_answer_for_a_repetition(trial: Trial) -> None:
    repetition = repeat(trial, **MENDED)
    process = trial.members[0].process()
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.USAGE
    assert "the coordinator repeats the study: it must be accepted, and there is nobody to ask" in output
    assert "joined" not in repetition.log()


def test_a_study_left_for_its_repetition_is_no_longer_meant(trial: Trial) -> None:
    member = trial.members[0]
    repeat(trial, **MENDED)
    member.run(member.engine(until=Until.JOINED))  # nothing is followed
    assert len(known_folders(member.folder)) == len(current_folders(member.folder)) == 1
    member.beside()
    until(lambda: member.told(Repeated), lambda: str(member.events))
    assert len(known_folders(member.folder)) == 2
    [current] = current_folders(member.folder)
    assert str(current.path) == member.told(Repeated)[0].folder


# A server that lies


@pytest.fixture
def cohort(scripted: Scripted, tmp_path: Path) -> Cohort:
    return Cohort(scripted, tmp_path)


def after_an_end(cohort: Cohort, lie: dict[str, Any] | None = None) -> list[Any]:
    """Return the events of a client whose study has ended, and whose server shows this as its repetition."""
    cohort.agreed().keep()
    first = cohort.says("failed") | {"is_repeated": True}
    for _ in range(2):  # joining asks twice
        cohort.server.says(200, first)
    cohort.server.says(200, {"study": "study2", "token": "n" * 43})
    again = cohort.says("open")
    again["study"] = {**again["study"], "id": "study2"}
    again |= {"cohort_state": "invited", "cohort_key": "", "roster": None, "roster_hash": "", **(lie or {})}
    cohort.server.says(200, again)
    events = []
    engine = Engine(cohort.state)
    for event in engine.run():
        events.append(event)
        if isinstance(event, ReviewNeeded):
            engine.decline()
    return events


def test_an_honest_repetition_is_asked_about(cohort: Cohort) -> None:
    events = after_an_end(cohort)
    assert [event.repeats for event in events if isinstance(event, ReviewNeeded)], events[-1]


def other_compensator(cohort: Cohort) -> dict[str, Any]:
    agreement = cohort.saved.agreement or cohort.agreed().saved.agreement
    assert agreement is not None
    plan = replace(agreement.plan, compensator_key=NO_KEY)
    key = {"key": plan.compensator_key.hex(), "one_operator": False}
    return {"compensator": key, "plan": plan.to_json(), "plan_hash": plan.hash().hex()}


@pytest.mark.parametrize("where", ["everywhere", "plan only"])
def test_a_repetition_with_another_compensator_gets_nothing(cohort: Cohort, where: str) -> None:
    lie = other_compensator(cohort)
    if where == "plan only":
        lie.pop("compensator")
    events = after_an_end(cohort, lie)
    assert isinstance(events[-1], Failed) and events[-1].exit == Exit.REFUSED
    assert "compensator" in events[-1].message
    assert not [event for event in events if isinstance(event, ReviewNeeded)]
    asked = [(method, path.partition("?")[0]) for method, path, _, _ in cohort.server.requests]
    assert not [path for method, path in asked if method != "GET" and not path.endswith("/repetition")]
    assert not cohort.state.load().repeated_in


def test_a_repetition_as_another_cohort_gets_nothing(cohort: Cohort) -> None:
    events = after_an_end(cohort, {"cohort": "Somewhere"})
    assert isinstance(events[-1], Failed) and "for the cohort Somewhere" in events[-1].message
