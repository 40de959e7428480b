"""Every state in which a person may find a study: what the window says, and what it offers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest
from client_cable import Cable
from client_trials import Member, Trial, joined
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from test_engine_faults import kill_after, lines
from window_desk import Desk, keep

from tests.patience import PATIENCE
from tests.plinks import plink2
from unpooled.protocol import VERSION
from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import Event, Exit, Failed, Paused, Proposal, ReviewNeeded, Started
from unpooled_client.state.folder import Saved, StateFolder, folder_of
from unpooled_client.state.journal import Journal
from unpooled_client.state.stage import Stage
from unpooled_client.study import background, before_run
from unpooled_client.study.engine import Engine, Until
from unpooled_client.window.connection import ConnectionTest
from unpooled_client.window.model import Tone

MakeStudy = Callable[..., Trial]


def released(member: Member, *others: Member) -> StateFolder:
    """The folder of a study that was joined, agreed to, checked and released, in a moment."""
    folder = folder_of(member.invitation)
    joined(*others)
    mine = dataclasses.replace(member, events=[])
    last = mine.run(Engine(folder, invitation=mine.invitation, until=Until.AGREED))
    assert mine.told(ReviewNeeded), last
    assert before_run.check_for_study(folder, DataOptions(bfile=member.bfile), 1).ok
    before_run.release(folder, folder.load())
    return folder


def tones(desk: Desk) -> list[str]:
    """The states at the left, in words."""
    lines = [desk.view.steps.item(k).text() for k in range(desk.view.steps.count())]
    return [line.partition(": ")[2] for line in lines]


def come_anew(member: Member) -> Event:
    """This cohort's state is lost, and it joins with a new key; the last event of that."""
    # The server takes a new instance for a second client for a minute; a test need not wait so long.
    old = member.state.load()
    member.state.save(dataclasses.replace(Saved.new(member.invitation), instance=old.instance))
    return member.run(member.engine(join_anew=True, until=Until.JOINED))


def test_waiting_says_for_whom_and_shows_the_plan_meanwhile(desk: Desk, trial: Trial) -> None:
    desk.window.join(trial.members[0].invitation)
    desk.reads("Waiting for cohort2, cohort3 since")
    assert "chi-square" in desk.view.join.document.toPlainText()
    assert tones(desk) == [Tone.WAITING.word, *[Tone.LATER.word] * 5]
    assert not desk.view.join.accept_button.isVisible()
    desk.look("state-waiting")


def test_an_unreachable_server_is_tried_on(desk: Desk, trial: Trial, cable: Cable) -> None:
    desk.window.join(cable.through(trial.members[0]).invitation)
    desk.reads("Waiting for cohort2, cohort3 since")
    cable.cut()
    desk.reads("The server has not answered since", "keeps trying", cable.url)
    desk.look("state-unreachable")
    desk.press(desk.view.join.test_button)
    found = desk.view.join.findChild(ConnectionTest)
    desk.until(lambda: found.is_done)
    assert "Server" in found.document.toPlainText()
    found.reject()
    cable.mend()
    desk.reads("Waiting for cohort2, cohort3 since")


def test_all_by_keyboard(desk: Desk, trial: Trial) -> None:
    """Mnemonics and the focus lead from the list of studies to the run, and back."""
    me, *others = trial.members
    joined(*others)
    desk.type(Qt.Key.Key_J, Qt.KeyboardModifier.AltModifier)
    desk.until(desk.window.invite.text.hasFocus)
    QApplication.clipboard().setText(me.invitation.to_text())
    desk.type(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    desk.type(Qt.Key.Key_J, Qt.KeyboardModifier.AltModifier)
    desk.reads("Accept the plan and the roster?")
    desk.type(Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier)
    desk.at(Stage.DATA)
    desk.until(desk.view.data.genotypes.edit.hasFocus)
    desk.bot.keyClicks(desk.view.data.genotypes.edit, f"{me.bfile}.bed")
    desk.type(Qt.Key.Key_C, Qt.KeyboardModifier.AltModifier)
    desk.reads("Ready")
    desk.type(Qt.Key.Key_Return)
    desk.at(Stage.REVIEW)
    desk.reads("Nothing of your data has left")
    desk.until(desk.view.review.release_button.isEnabled)
    desk.type(Qt.Key.Key_R, Qt.KeyboardModifier.AltModifier)
    desk.at(Stage.RUN)
    desk.until(desk.view.run.start_button.hasFocus)
    desk.type(Qt.Key.Key_Return)
    desk.reads("Waiting for cohort2, cohort3 since")
    desk.type(Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    desk.at(Stage.JOIN)
    desk.type(Qt.Key.Key_6, Qt.KeyboardModifier.ControlModifier)
    assert desk.page is desk.view.join  # there are no results yet
    desk.type(Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    desk.until(desk.window.home.table.hasFocus)


def test_an_invitation_used_on_another_computer_and_joined_anew(desk: Desk, trial: Trial) -> None:
    member = trial.members[0]
    member.run(member.engine(until=Until.JOINED))
    # The server takes a new instance for a second client for a minute; a test need not wait so long.
    new = dataclasses.replace(Saved.new(member.invitation), instance=member.state.load().instance)
    folder = folder_of(member.invitation)
    folder.path.mkdir(parents=True)
    folder.save(new)
    desk.window.join(member.invitation)
    desk.reads("used on another computer", "join anew")
    desk.look("state-elsewhere")
    said: list[str] = []

    def answer(with_button: QMessageBox.StandardButton) -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        said.append(box.text())
        keep(box.grab(), "join-anew-light")
        box.button(with_button).click()

    for button in (QMessageBox.StandardButton.Cancel, QMessageBox.StandardButton.Ok):
        desk.until(desk.view.join.again_button.isVisible)
        QTimer.singleShot(100, partial(answer, button))
        desk.press(desk.view.join.anew_button)
    assert len(said) == 2 and "All cohorts must accept again" in said[0]
    desk.reads("Waiting for cohort2, cohort3 since")
    assert folder.load().signing_key != member.state.load().signing_key


def test_a_client_that_is_too_old(desk: Desk, trial: Trial, cable: Cable) -> None:
    cable.swap = f"Unpooled-Protocol: {VERSION}".encode(), b"Unpooled-Protocol: 0"
    desk.window.join(cable.through(trial.members[0]).invitation)
    desk.reads("This program is too old for the server", "what this one has kept stays", "IT department")
    desk.look("state-too-old")


def test_declining_ends_it_and_can_be_thought_over(desk: Desk, trial: Trial) -> None:
    me, *others = trial.members
    joined(*others)
    desk.window.join(me.invitation)
    desk.press(desk.view.join.decline_button)
    desk.reads("You declined", "data was sent", "try again")
    desk.look("state-declined")
    desk.press(desk.view.join.again_button)
    desk.reads("Accept the plan and the roster?")


def test_bad_files_are_told_with_their_place_and_nothing_typed_is_lost(
    desk: Desk, trial: Trial, tmp_path: Path
) -> None:
    me, *others = trial.members
    joined(*others)
    for kind in ("bed", "bim", "fam"):
        data = Path(f"{me.bfile}.{kind}").read_bytes()
        (tmp_path / f"bad.{kind}").write_bytes(data.replace(b" 2\n", b" X\n") if kind == "fam" else data)
    desk.agree(me)
    desk.press(desk.view.data.check_button)
    desk.reads("Choose the genotypes")
    desk.look("data-lacks")
    desk.bot.keyClicks(desk.view.data.genotypes.edit, "x")
    assert not desk.card
    desk.view.data.genotypes.set_path(str(tmp_path / "bad.bed"))
    desk.press(desk.view.data.check_button)
    desk.at(Stage.CHECK)
    desk.reads("Not ready")
    assert "bad.fam" in desk.view.check.findings.text
    assert not desk.view.check.next_button.isEnabled()
    assert tones(desk)[Stage.CHECK.number] == Tone.PROBLEM.word
    desk.look("state-bad-files")
    desk.press(desk.view.check.back_button)
    desk.at(Stage.DATA)
    assert desk.view.data.genotypes.path == str(tmp_path / "bad")
    desk.view.data.more.setChecked(True)
    desk.look("data-more")
    desk.view.data.texts["king_cutoff"].setText("0.2")
    desk.view.data.lists["read_freq"].set_path(str(tmp_path / "no.afreq"))
    desk.press(desk.view.data.check_button)
    desk.reads("This did not work", "no.afreq")


def test_genotypes_in_a_vcf(
    desk: Desk, trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window asks for what a VCF does not say, and only then; the checked copy lies in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    me, *others = trial.members
    joined(*others)
    exported = ("--export", "vcf", "bgz", "id-paste=iid", "--out", tmp_path / "g")
    plink2("--bfile", me.bfile, *exported)
    desk.agree(me)
    data = desk.view.data
    assert not data.psam.isVisible()
    data.genotypes.set_path(str(tmp_path / "g.vcf.gz"))
    assert data.psam.isVisible() and data.dosage.isVisible() and not data.sample.isVisible()
    desk.press(data.check_button)
    desk.reads("Not ready")
    desk.press(desk.view.check.back_button)
    data.psam.set_path(f"{me.bfile}.fam")
    data.dosage.setCurrentText("GT")
    desk.look("data-vcf")
    shown, files = [], desk.view.check.files
    put = files.put
    monkeypatch.setattr(files, "put", lambda bar: (shown.append(bar), put(bar)))
    desk.press(data.check_button)
    desk.until(lambda: len(files.bars) > 3)
    desk.look("check-files")
    desk.until(desk.view.check.next_button.isEnabled)
    told = {(bar.title, bar.note) for bar in shown}
    assert told >= {("g.vcf.gz", "copying: 300 of 300 variants"), ("genotypes.pvar", "read")}
    assert "read from a copy" in desk.view.check.findings.text
    assert list((tmp_path / "cache").rglob("genotypes.pgen"))


def test_phenotype_and_covariates_from_files(desk: Desk, study: MakeStudy, tmp_path: Path) -> None:
    """The columns of a file are looked into, and the values seen are told, before anything is checked."""
    trial = study(
        test="linear",
        trait="quantitative",
        phenotype="bmi",
        files=["assoc"],
        covariates=[{"name": "age"}, {"name": "sex_at_birth"}],
    )
    me, *others = trial.members
    joined(*others)
    people = [line.split()[:2] for line in Path(f"{me.bfile}.fam").read_text().splitlines()]
    columns = [
        ["FID", "IID", "BMI", "age"],
        *([*ids, f"{20 + k / 7:.2f}", str(30 + k % 40)] for k, ids in enumerate(people)),
    ]
    file = tmp_path / "people.txt"
    file.write_text("".join("\t".join(row) + "\n" for row in columns), encoding="utf-8")
    desk.agree(me)
    data = desk.view.data
    data.genotypes.set_path(str(me.bfile))
    data.pheno.set_path(str(tmp_path / "nothing.txt"))
    assert "no such file" in data.pheno_note.text() and not data.pheno_name.isEnabled()
    data.pheno.set_path(str(file))
    data.covar.edit.setFocus()
    desk.until(data.pheno_name.isEnabled)
    desk.bot.keyClicks(QApplication.focusWidget(), "x")
    assert data.covar.path == "x"  # the file's columns came meanwhile, and took no focus
    data.covar.edit.clear()
    desk.until(lambda: "Values seen: 20.00" in data.pheno_note.text())
    assert data.pheno_name.currentText() == "BMI"
    assert not data.covar.path  # it lacks one
    data.covar.set_path(str(file))
    data.pheno_name.setCurrentText("no column of this file")
    assert data.pheno_name.currentText() == "BMI"
    assert "Not in the file: sex_at_birth" in data.covar_note.text()
    desk.look("data-columns")
    desk.press(data.check_button)
    desk.reads("Not ready")
    assert "sex_at_birth" in desk.view.check.findings.text


def test_a_roster_that_changed_after_the_release_is_accepted_anew(desk: Desk, trial: Trial) -> None:
    """The run in the background has nobody to ask: it ends, and the window leads back to what is asked."""
    me, *others = trial.members
    folder = released(me, *others)
    assert isinstance(come_anew(others[0]), Proposal)
    desk.window.open_study(folder)
    desk.press(desk.view.run.start_button)
    desk.at(Stage.JOIN)
    desk.reads("Accept what has changed?")
    assert "Changed since you accepted: the roster." in desk.view.join.document.toPlainText()
    desk.look("state-roster-changed")
    ends = [event for event in events_in(folder) if isinstance(event, Failed)]
    assert [(end.exit, end.code) for end in ends] == [(Exit.USAGE, "unanswered")]
    desk.press(desk.view.join.decline_button)
    desk.reads("You declined")
    desk.press(desk.view.join.again_button)
    desk.press(desk.view.join.accept_button)
    desk.at(Stage.RUN)
    desk.press(desk.view.run.start_button)
    desk.reads("Waiting for cohort2, cohort3 since")


def events_in(folder: StateFolder) -> list[Event]:
    """Return the events of all runs, the earlier ones too."""
    found = []
    for line in folder.log.read_text("utf-8").splitlines():
        with contextlib.suppress(ValueError):
            found.append(Event.from_json(json.loads(line.partition(" ")[2])))
    return found


def test_a_study_that_failed_says_why(desk: Desk, trial: Trial, beside: Callable[..., None]) -> None:
    """A cohort that comes back with another key after the first released sum ends the study for all."""
    me, other, third = trial.members
    folder = released(me, other, third)
    beside(other)
    desk.window.open_study(folder)
    desk.press(desk.view.run.start_button)
    for line in lines(third):
        if line.get("title") == "Count genotypes":  # the number of people, the first sum, is released
            break
    assert isinstance(come_anew(third), Failed)
    desk.reads("The study has ended without results", "came back with another key", "can repeat it")
    desk.look("state-failed")
    assert tones(desk)[Stage.RUN.number] == Tone.PROBLEM.word
    assert not desk.view.run.start_button.isVisible()
    desk.window.show_home()
    assert "ended without results" in desk.window.home.table.text


def test_paused_closed_killed_and_gone_on(desk: Desk, trial: Trial, beside: Callable[..., None]) -> None:
    """The run outlives the window; after a restart of the computer the window starts it again by itself."""
    me, other, third = trial.members
    folder = released(me, other, third)
    beside(other)
    desk.window.open_study(folder)
    desk.view.run.threads.setValue(1)
    desk.press(desk.view.run.start_button)
    kill_after(third, "panel-agreed")
    desk.reads("Waiting for cohort3 since")
    desk.look("state-waiting-for-one")
    desk.press(desk.view.run.stop_button)
    desk.reads("Stopped", "picks up where")
    desk.look("state-stopped")
    trial.call("POST", "pause")
    desk.press(desk.view.run.start_button)
    desk.until(lambda: desk.view.study.is_alive and not desk.view.study.progress.is_over)
    desk.window.close()
    desk.until(lambda: any(isinstance(event, Paused) for event in Journal(folder.log).new()))
    assert background.is_running(folder)
    desk.sit_down()
    desk.press(desk.window.home.open_button)
    desk.reads("The study is paused")
    desk.look("state-paused")
    desk.window.close()
    kill_all(folder)
    trial.call("POST", "resume")
    desk.sit_down()
    assert "Interrupted" in desk.window.home.table.text
    desk.press(desk.window.home.open_button)
    desk.reads("goes on by itself")
    assert desk.view.run.threads.value() == 1
    desk.look("state-gone-on")
    beside(third)
    desk.at(Stage.RESULTS)


def kill_all(folder: StateFolder) -> None:
    """End the run as a computer does that loses its power: at once, with every process of it."""
    started = [event for event in Journal(folder.log).new() if isinstance(event, Started)]
    run = psutil.Process(started[-1].pid)
    for process in [*run.children(recursive=True), run]:
        process.kill()
        process.wait(PATIENCE)
    assert not background.is_running(folder)
