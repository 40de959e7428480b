"""What a client tells of what it is doing, as the coordinator of a real platform sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from client_trials import Member, Trial, ended, joined

from tests.patience import PATIENCE, until
from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import ReleaseNeeded, ReviewNeeded, Waiting
from unpooled_client.study.engine import Engine, Until

MakeStudy = Callable[..., Trial]


def stage(trial: Trial, member: Member) -> str:
    rows = trial.call("GET", "progress")["cohorts"]
    return next(row["stage"] for row in rows if row["name"] == member.name)


def until_stage(trial: Trial, member: Member, wanted: str) -> None:
    until(lambda: stage(trial, member) == wanted, lambda: f"not {wanted}: {stage(trial, member)}")


def test_what_a_person_is_asked_is_seen_and_what_it_ends_with(study: MakeStudy) -> None:
    trial = study()
    first, *others = trial.members
    assert stage(trial, first) == "invited"
    joined(*others)

    def slowly(engine: Engine, asked: ReviewNeeded | ReleaseNeeded) -> None:
        until_stage(trial, first, "joined" if isinstance(asked, ReviewNeeded) else "checking")
        engine.accept(asked)

    threads = [member.beside() for member in others]
    first.run(answer=slowly)
    ended(*threads)
    assert {stage(trial, member) for member in trial.members} == {"done"}


def test_a_problem_stops_a_cohort_and_its_next_run_does_not_wait_for_it(
    study: MakeStudy, tmp_path: Path
) -> None:
    trial = study()
    first, *others = trial.members
    joined(*others)
    lost = tmp_path / "nowhere"
    first.run(first.engine(options=DataOptions(bfile=lost)))
    assert stage(trial, first) == "stopped"
    first.run(first.engine(until=Until.AGREED))
    assert stage(trial, first) == "choosing"


def test_who_waits_is_told_who_is_to_do_what(study: MakeStudy) -> None:
    trial = study()
    first, second, third = trial.members
    second.run(second.engine(until=Until.JOINED))
    engine = first.engine()
    waiting = first.beside(engine)
    until_stage(trial, first, "joined")
    until(lambda: first.told(Waiting), lambda: str(first.events))
    assert first.told(Waiting)[0].names == (third.name,)
    assert first.told(Waiting)[0].waits == (f"{third.name} to join",)
    engine.stop()
    third.run(third.engine(until=Until.JOINED))  # is news, which ends the first one's asking at once
    waiting.join(PATIENCE)
