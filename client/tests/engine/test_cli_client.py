"""The command line: exit statuses, what goes to which stream, and nobody to ask."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from client_trials import Member, Trial, ended, joined
from client_typed import typed as client

from tests.patience import PATIENCE
from unpooled_client.state.events import Exit

MakeStudy = Callable[..., Trial]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A profile in which no study was joined."""
    return str(tmp_path_factory.mktemp("profile"))


def test_help_names_every_command_and_status() -> None:
    done = client("--help")
    assert done.returncode == 0
    for word in ("check", "join", "run", "status", "ledger", "Exit status"):
        assert word in done.stdout


@pytest.mark.parametrize(
    "command", ["check", "columns", "join", "run", "status", "results", "doctor", "ledger", "completion"]
)
def test_every_command_has_help(command: str) -> None:
    done = client(command, "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["run"], "no study was joined"),
        (["status"], "no study was joined"),
        (["ledger"], "no study was joined"),
        (["run", "nonsense"], "unpooled1:"),
        (["run", "unpooled1:abcd", "--bfile", "x"], "cut off"),
        (["run", "--threads", "0"], "threads"),
        (["fly"], "fly"),
        (["chek"], "Did you mean check?"),
        (["join", "nofile.txt"], "there is no such file"),
        (["join", " unpooled1:\n abcd "], "cut off"),
        (["join", "x" * 400], "unpooled1:"),
    ],
    ids=str,
)
def test_a_wrong_command_ends_with_2_and_one_message(home: str, arguments: list[str], part: str) -> None:
    done = client(*arguments, HOME=home, XDG_STATE_HOME=home)
    assert done.returncode == 2
    assert part in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_several_studies_are_listed_with_names_and_states(tmp_path: Path) -> None:
    from unpooled.plan.plan import NO_KEY, Plan
    from unpooled.protocol.invitation import Invitation
    from unpooled.protocol.messages import Roster
    from unpooled_client.state.folder import Agreement, Saved, StateFolder

    agreed = Agreement(
        "Asthma", Plan("chi-square", "asthma", 3, NO_KEY), Roster((("Graz", bytes(32)),)), False
    )
    folders = []
    for study, saved in (("s1", {"agreement": agreed, "cohort": "Graz"}), ("s2", {})):
        invitation = Invitation("https://studies.example.org", study, "t" * 43, " ".join(["ab12"] * 8))
        folders.append(StateFolder(tmp_path / "unpooled" / "studies" / study))
        with folders[-1].locked():
            folders[-1].save(dataclasses.replace(Saved.new(invitation), **saved))
    for command in (["run"], ["review"], ["results"]):
        done = client(*command, HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path))
        assert done.returncode == 2 and not done.stdout
        assert "Asthma, cohort Graz. Choose the data files." in done.stderr
        assert "Study s2, not joined yet. Accept the plan and the roster." in done.stderr
        assert all(folder.as_option in done.stderr for folder in folders)
    shown = client("status", "--offline", HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path))
    assert shown.returncode == 0 and "Asthma (s1)" in shown.stdout and "s2" in shown.stdout


def test_a_token_that_was_copied_in_part_is_not_repeated(home: str) -> None:
    done = client("join", "npooled1:c2VjcmV0IHRva2Vu", HOME=home, XDG_STATE_HOME=home)
    assert done.returncode == 2 and "there is no such file" in done.stderr
    assert "c2VjcmV0" not in done.stderr + done.stdout


def test_with_nobody_to_ask_the_plan_is_shown_and_nothing_goes_on(trial: Trial) -> None:
    member, *others = trial.members
    joined(*others)
    done = client(*member.command()[3:])
    assert done.returncode == 2
    assert "WHO TAKES PART" in done.stderr
    assert "--yes" in done.stderr
    assert member.state.load().agreement is None


def test_results_on_standard_output_and_progress_on_standard_error(trial: Trial, tmp_path: Path) -> None:
    member, *others = trial.members
    threads = [other.beside() for other in others]
    note = tmp_path / "invitation.txt"
    note.write_text(member.invitation.to_text() + "\n")
    command = member.command("--yes")[3:]
    done = client("run", note, *command[2:])
    assert done.returncode == 0, done.stderr
    assert {Path(line).name for line in done.stdout.splitlines()} == {
        path.name for path in member.out.iterdir()
    }
    assert "Count genotypes" in done.stderr
    assert len([*done.stderr.splitlines(), *done.stdout.splitlines()]) <= 40
    ended(*threads)
    told = client("status", "--state", member.state.path, "--json")
    assert json.loads(told.stdout)[0]["from_server"]["state"] == "done"
    assert "done" in client("status", "--state", member.state.path).stdout
    assert client("status", "--state", member.state.path, "--offline").returncode == 0
    book = client("ledger", "--state", member.state.path)
    assert "no line was changed" in book.stdout
    assert len(client("ledger", "--state", member.state.path, "--json").stdout.splitlines()) >= 5
    lines = member.state.ledger.read_text().splitlines()
    member.state.ledger.write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    assert client("ledger", "--state", member.state.path).returncode == 3


MODES = {"lines": (), "quiet": ("--quiet",), "json": ("--json",), "terminal": ()}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize("mode", MODES)
def test_an_error_is_printed_once_and_decides_the_status(mode: str, study: MakeStudy, tmp_path: Path) -> None:
    def written(what: str, status: Exit, member: Member, *more: str, files: bool = True) -> None:
        arguments = member.command("--yes", *more)[3:]
        arguments = arguments if files else [word for word in arguments if word not in ("--bfile", data)]
        done = client(*arguments, *MODES[mode], terminal=mode == "terminal")
        text = done.stdout + done.stderr
        assert (done.returncode, text.count(what)) == (status, 1), text
        assert "Traceback" not in text
        if mode == "json":
            assert json.loads(done.stdout.splitlines()[-1])["event"] == "failed" and not done.stderr

    trial = study()
    member, *others = trial.members
    data = str(member.bfile)
    joined(*others)
    (tmp_path / "bad.fam").write_text("too few columns\n")
    written("no data files are given", Exit.USAGE, member, files=False)
    written("bad.fam:1", Exit.DATA, member, "--fam", str(tmp_path / "bad.fam"))
    assert "bad.fam" not in trial.log()
    trial.call("POST", "abort")
    written("Aborted by the coordinator", Exit.STUDY_ENDED, member)
    stranger = dataclasses.replace(member.invitation, token="y" * 43)
    stranger_member = dataclasses.replace(member, invitation=stranger, folder=tmp_path / "another")
    written("does not know this cohort's token", Exit.REFUSED, stranger_member)
    assert not stranger_member.state.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent otherwise there")
def test_an_interrupt_ends_with_5(trial: Trial) -> None:
    member = trial.members[0]
    process = member.process()
    await_line(member, process, "waiting")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5
    assert "picks up" in errors


def await_line(member: Member, process: subprocess.Popen[str], event: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["event"] == event:
            return
    raise AssertionError(process.communicate()[1])
