"""A study by single commands, join → check → review → run in the background, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from client_trials import Member, Trial, ended

from tests.patience import PATIENCE, until
from tests.starting import Program, run
from unpooled_client.data.options import DataOptions
from unpooled_client.sentences.sentences import grouped
from unpooled_client.state.events import Agreed, Finished, Joined, ReviewNeeded, Started
from unpooled_client.state.files import StateError
from unpooled_client.state.journal import Journal
from unpooled_client.state.stage import Stage, stage_of
from unpooled_client.study import background, before_run


def client(*arguments: object, says: str = "") -> subprocess.CompletedProcess[str]:
    return run(Program("unpooled_client", [*map(str, arguments)]), says=says)


def test_a_study_step_by_step(trial: Trial, pooled: dict[str, bytes]) -> None:
    member, *others = trial.members
    threads = [other.beside() for other in others]
    state = ("--state", member.state.path)

    unknown = client("check", *state, "--bfile", member.bfile)
    assert unknown.returncode == 2 and "no study" in unknown.stderr

    first = client("join", "-", *state, says=member.invitation.to_text())
    assert first.returncode == 0, first.stderr
    assert first.stderr.strip().endswith(
        f"Continue with: unpooled-client join --wait {member.state.as_option}"
    )
    alone = client("join", "--wait", *state)
    assert alone.returncode == 2 and "there is nobody to ask" in alone.stderr
    assert "Continue with" not in alone.stderr and "Usage" not in alone.stderr
    joined = client("join", "-", "--wait", "--json", *state, says=f"{member.invitation.to_text()}\nyes\n")
    assert joined.returncode == 0, joined.stderr
    told = [json.loads(line)["event"] for line in joined.stdout.splitlines()]
    assert told[-1] == "agreed" and "review-needed" in told
    assert stage_of(member.state.load()) == Stage.DATA

    bad = client("check", *state, "--bfile", member.bfile.with_name("absent"))
    assert bad.returncode == 1
    early = client("run", "--detach", *state)
    assert early.returncode == 2 and "nobody to ask" in early.stderr
    page = member.out.with_name("check.html")
    good = client("check", *state, "--bfile", member.bfile, "--html", page)
    assert good.returncode == 0, good.stdout
    _, agreement = before_run.agreement_of(member.state)
    assert grouped(agreement.plan.hash().hex()) in page.read_text("utf-8")
    assert stage_of(member.state.load()) == Stage.REVIEW
    shown = client("review", *state)
    assert shown.returncode == 0 and "unpooled-client review --release" in shown.stdout
    assert stage_of(member.state.load()) == Stage.REVIEW
    assert client("review", "--release", *state).returncode == 0
    assert stage_of(member.state.load()) == Stage.RUN
    _check_otherwise_and_release_again(member)

    begun = client("run", "--detach", "--out", member.out, *state)
    assert begun.returncode == 0, begun.stderr
    _await_end(member)
    assert member.results() == pooled
    assert stage_of(member.state.load()) == Stage.RESULTS
    ended(*threads)


def _check_otherwise_and_release_again(member: Member) -> None:
    """Check other files or options while nothing was sent: this withdraws the release of those before."""
    shown = member.state.load()
    before_run.check_for_study(member.state, DataOptions(bfile=member.bfile, missing_phenotype=-8), 1)
    assert stage_of(member.state.load()) == Stage.REVIEW
    with pytest.raises(StateError, match="changed in the meantime"):
        before_run.release(member.state, shown)
    before_run.check_for_study(member.state, DataOptions(bfile=member.bfile), 1)
    before_run.release(member.state, member.state.load())
    before_run.check_for_study(member.state, DataOptions(bfile=member.bfile), 1)
    assert stage_of(member.state.load()) == Stage.RUN


def _await_end(member: Member) -> None:
    until(lambda: not background.is_running(member.state), member.state.log.read_text)


def test_a_run_in_the_background_is_stopped_and_goes_on(trial: Trial, pooled: dict[str, bytes]) -> None:
    member, *others = trial.members
    run = [*member.command("--yes")[3:]]
    assert not background.is_running(member.state)
    first = background.start(member.state, run)
    journal = Journal(member.state.log)
    _await(journal, Joined)
    assert background.is_running(member.state)
    background.stop(member.state)
    assert not background.is_running(member.state)
    second = background.start(member.state, run)
    assert first != second
    threads = [other.beside() for other in others]
    events = _await(journal, Finished)
    assert isinstance(events[0], Started) and events[0].pid == second  # the first run's are no longer told
    assert {ReviewNeeded, Agreed} <= {type(event) for event in events}
    assert member.results() == pooled
    ended(*threads)


def _await(journal: Journal, kind: type) -> list[object]:
    events: list[object] = []

    def is_told() -> bool:
        events.extend(journal.new())
        return any(isinstance(event, kind) for event in events)

    until(is_told, lambda: str(events))
    return events


def test_a_run_outlives_the_process_that_started_it(trial: Trial, tmp_path: Path) -> None:
    """The starter ends as a closed terminal ends it: with its whole process group."""
    member = trial.members[0]
    invitation = member.invitation.to_text()
    words = ["-" if word == invitation else word for word in member.command("--yes", "--detach")[3:]]
    starter = subprocess.Popen(
        [*background.program(), *words], start_new_session=True, stdin=subprocess.PIPE, text=True
    )
    starter.communicate(f"{invitation}\n", PATIENCE)
    assert starter.returncode == 0
    if sys.platform != "win32":
        import signal

        with contextlib.suppress(ProcessLookupError):  # as it should be: nobody is left in its group
            os.killpg(starter.pid, signal.SIGKILL)
    (started,) = [event for event in Journal(member.state.log).new() if isinstance(event, Started)]
    assert sys.platform == "win32" or os.getsid(started.pid) == started.pid  # so the signal was not for it
    assert background.is_running(member.state)
    assert not {invitation, "-"} & set(psutil.Process(started.pid).cmdline())  # others may see that
    background.stop(member.state)
