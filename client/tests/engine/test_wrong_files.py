"""One cohort's wrong files, from the invitation to the results: the others do nothing for it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from client_trials import Member, Trial, ended, moved
from client_typed import typed

from unpooled.errors import DataProblem
from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import Accepted, Exit, Failed, Finished, ReleaseNeeded, ReviewNeeded
from unpooled_client.study import before_run

MakeStudy = Callable[..., Trial]


def begun(trial: Trial, folder: Path) -> tuple[Member, Path, list[Member], list[threading.Thread]]:
    """The cohort with the wrong files, its right ones, and the others, who take part beside."""
    wrong, *others = trial.members
    right, wrong.bfile = wrong.bfile, moved(wrong.bfile, folder)
    return wrong, right, others, [member.beside() for member in others]


def asked_of(member: Member) -> list[type]:
    return [type(event) for event in member.told(ReviewNeeded, ReleaseNeeded, Accepted)]


def test_only_the_cohort_with_the_wrong_files_does_anything(
    trial: Trial, pooled: dict[str, bytes], tmp_path: Path
) -> None:
    wrong, right, others, threads = begun(trial, tmp_path)

    failed = wrong.run()
    assert isinstance(failed, Failed), failed
    assert (failed.exit, failed.code) == (Exit.DATA, "list-apart")
    assert "has 0 of the" in failed.message and "genome build" in failed.message
    assert "The other cohorts wait, and need do nothing." in failed.remedy
    assert failed.told_server == ""
    seen = trial.platform.call("GET", f"studies/{trial.id}")
    assert seen["state"] == "open"
    assert seen["lists_said"][0].startswith("cohort1: It has 0 of the")
    assert {row["name"]: row["state"] for row in seen["cohorts"]}["cohort1"] == "accepted"
    assert all(thread.is_alive() for thread in threads)

    wrong.bfile = right
    assert isinstance(wrong.run(), Finished), wrong.events[-1]
    ended(*threads)
    assert wrong.results() == others[0].results() == others[1].results() == pooled
    assert asked_of(wrong) == [ReviewNeeded, ReleaseNeeded, Accepted, ReleaseNeeded]
    for member in others:
        assert asked_of(member) == [ReviewNeeded, ReleaseNeeded, Accepted]
        assert not member.told(Failed)
        assert "genome build" not in member.state.log.read_text()


def test_the_same_at_the_command_line_with_yes(
    trial: Trial, pooled: dict[str, bytes], tmp_path: Path
) -> None:
    wrong, right, _, threads = begun(trial, tmp_path)
    first = typed(*wrong.command("--yes")[3:])
    assert first.returncode == Exit.DATA
    assert first.stderr.count("has little in common with the other cohorts' lists") == 1
    assert "Traceback" not in first.stderr
    again = typed(*wrong.command("--yes")[3:])
    assert again.returncode == Exit.DATA, "the same files again"
    wrong.bfile = right
    last = typed(*wrong.command("--yes")[3:])
    assert last.returncode == Exit.DONE, last.stderr
    ended(*threads)
    assert wrong.results() == pooled


def test_files_that_change_in_their_place_are_released_again_but_not_by_yes(
    trial: Trial, pooled: dict[str, bytes], tmp_path: Path
) -> None:
    wrong, right, _, threads = begun(trial, tmp_path)
    assert isinstance(wrong.run(), Failed)
    shutil.copy(f"{right}.bim", f"{wrong.bfile}.bim")
    stopped = typed(*wrong.command("--yes")[3:])
    assert stopped.returncode == Exit.USAGE
    assert "must be released" in stopped.stderr
    assert isinstance(wrong.run(), Finished)
    ended(*threads)
    assert wrong.results() == pooled


def test_offline_check_takes_other_files_until_something_was_answered(trial: Trial, tmp_path: Path) -> None:
    wrong, right, _, threads = begun(trial, tmp_path)
    assert isinstance(failed := wrong.run(), Failed)
    for mode in ((), ("--offline",)):
        told = typed("status", "--state", wrong.state.path, *mode).stdout
        assert failed.message in told and failed.remedy in told
        assert f"run {wrong.state.as_option} --bfile PREFIX" in told  # the same files would not do
    assert before_run.check_for_study(wrong.state, DataOptions(bfile=right), 1).ok
    assert not wrong.state.load().is_released
    assert "Problem" not in typed("status", "--state", wrong.state.path, "--offline").stdout
    assert isinstance(wrong.run(wrong.engine(options=None)), Finished)
    ended(*threads)
    with pytest.raises(DataProblem, match="chang"):
        before_run.check_for_study(wrong.state, DataOptions(bfile=wrong.bfile), 1)


def test_beside_a_list_the_client_finds_out_itself_and_tells_a_code(study: MakeStudy, tmp_path: Path) -> None:
    rows = Path(f"{study().members[0].bfile}.bim").read_bytes().splitlines(keepends=True)
    # A list names no variant twice, and no place that is none.
    by_id = {row.split()[1]: row for row in rows if int(row.split()[3]) > 0}
    trial = study(panel_list=b"".join(by_id.values()), panel_mode="list")
    wrong, right, others, threads = begun(trial, tmp_path)
    failed = wrong.run()
    assert isinstance(failed, Failed)
    assert (failed.exit, failed.told_server) == (Exit.DATA, "overlap")
    assert "variants that the study's list names" in failed.message and "genome build" in failed.message
    assert not wrong.told(ReleaseNeeded)
    row = next(row for row in trial.call("GET", "invitations") if row["name"] == "cohort1")
    assert row["problem"] == "overlap" and not row["problem_name"]
    wrong.bfile = right
    assert isinstance(wrong.run(), Finished), wrong.events[-1]
    ended(*threads)
    for member in others:
        assert asked_of(member) == [ReviewNeeded, ReleaseNeeded, Accepted]
    assert wrong.results() == others[0].results()
