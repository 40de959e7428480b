"""Plans that change and studies that are repeated, and what is told to who looks elsewhere."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from client_trials import Member, Trial, ended, moved
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from test_window_states import MakeStudy, released
from window_desk import Desk

from tests.patience import PATIENCE
from unpooled_client.state.events import PEOPLE, ReleaseNeeded, ReviewNeeded
from unpooled_client.state.folder import default_root, known_folders
from unpooled_client.state.people import People, Whose
from unpooled_client.state.stage import Stage
from unpooled_client.window.model import Tone
from unpooled_client.window.news import news
from unpooled_client.window.where import Where


def until_run(desk: Desk, member: Member) -> None:
    """Everything before the run, and its start."""
    desk.agree(member)
    desk.bot.keyClicks(desk.view.data.genotypes.edit, f"{member.bfile}.bed")
    desk.check_and_start()


def run_beside(*members: Member) -> list[threading.Thread]:
    return [member.beside() for member in members]


def test_a_changed_plan_is_shown_line_by_line_and_accepted_once(desk: Desk, study: MakeStudy) -> None:
    trial = study(name="Asthma in adults")
    trial.platform.call("PATCH", f"studies/{trial.id}", json={"auto_start": False})
    me, *others = trial.members
    threads = run_beside(*others)
    until_run(desk, me)
    trial.await_log("all cohorts are ready")
    trial.platform.call(
        "PATCH", f"studies/{trial.id}", json={"plan": {"min_samples": 25}, "auto_start": True}
    )
    desk.at(Stage.JOIN)
    desk.reads("Accept what has changed?")
    shown = desk.view.join.changes.text
    assert "Each cohort has at least" in shown
    assert "20 people" in shown and "25 people" in shown
    desk.look("plan-changed")
    desk.press(desk.view.join.accept_button)
    desk.at(Stage.RUN)
    desk.press(desk.view.run.start_button)
    desk.at(Stage.RESULTS)
    ended(*threads)


def test_a_study_that_is_repeated_goes_on_with_one_button(desk: Desk, study: MakeStudy) -> None:
    trial = study(name="Asthma in adults", geno=0.0, maf=0.5, hwe=0.99)
    me, *others = trial.members
    threads = run_beside(*others)
    until_run(desk, me)
    desk.reads("The study has ended without results")
    ended(*threads)
    desk.press(desk.view.run.repeat_button)
    desk.reads("The coordinator has not repeated this study")

    found = trial.platform.call("GET", f"studies/{trial.id}")
    own = ("compensator_key", "version", "panel_digest")
    plan = {name: value for name, value in found["plan"].items() if name not in own}
    plan |= {"geno": 1.0, "maf": 0.0, "hwe": 0.0}
    trial.call("POST", "repeat", json={"name": found["name"], "plan": plan})
    threads = run_beside(*others)
    desk.press(desk.view.run.repeat_button)
    desk.reads("Take part again?")
    assert "The coordinator repeats the study" in desk.view.join.document.toPlainText()
    assert desk.view.join.changes.count >= 3
    desk.look("repeated")
    desk.press(desk.view.join.accept_button)
    desk.until(lambda: desk.view.study.title == "Asthma in adults (2)")
    desk.at(Stage.RESULTS)
    ended(*threads)
    desk.window.show_home()
    desk.look("home-repeated")
    said = desk.window.home.table.text
    assert "done, The results are here" in said and "done, Goes on in the study that repeats it" in said
    assert len(known_folders()) == 2


def test_wrong_files_are_replaced_where_they_were_chosen(
    desk: Desk, study: MakeStudy, tmp_path: Path
) -> None:
    trial = study(name="Asthma in adults")
    me, *others = trial.members
    right, me.bfile = me.bfile, moved(me.bfile, tmp_path)
    threads = run_beside(*others)
    until_run(desk, me)
    desk.reads("variants are not the others", "genome build")
    desk.reads("Choose the right files under Data. The other cohorts wait, and need do nothing.")
    desk.look("list-apart")

    desk.type(Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    desk.at(Stage.DATA)
    desk.view.data.genotypes.edit.clear()
    desk.bot.keyClicks(desk.view.data.genotypes.edit, f"{right}.bed")
    desk.check_and_start()
    desk.at(Stage.RESULTS)
    for thread, member in zip(threads, others, strict=True):
        thread.join(PATIENCE)
        assert len(member.told(ReviewNeeded, ReleaseNeeded)) == 2


def test_few_people_apart_from_an_earlier_study_are_released_knowingly(desk: Desk, study: MakeStudy) -> None:
    trial = study(name="Asthma in adults")
    me, *others = trial.members
    lines = [line.split() for line in Path(f"{me.bfile}.fam").read_text().splitlines()]
    ids = [f"{fid} {iid}".encode() for fid, iid, *_ in lines[1:]]
    earlier = Whose("0/Graz", "Asthma in all", PEOPLE, ids, {"everybody": np.ones(len(ids), bool)})
    assert not People(default_root()).enter(earlier, ())
    threads = run_beside(*others)
    desk.agree(me)
    desk.bot.keyClicks(desk.view.data.genotypes.edit, f"{me.bfile}.bed")
    desk.press(desk.view.data.check_button)
    desk.press(desk.view.check.next_button)
    desk.reads("Few people are apart", "1 person differs: 1 only in “Asthma in adults”", "“Asthma in all”")
    review = desk.view.review
    assert review.knowingly.isVisible() and not review.release_button.isEnabled()
    desk.look("few-apart")
    review.knowingly.setChecked(True)
    desk.press(review.release_button)
    desk.press(desk.view.run.start_button)
    desk.at(Stage.RESULTS)
    ended(*threads)


RUNS = Where(Stage.RUN, Tone.NOW, "The run goes on")
WAITS = Where(Stage.JOIN, Tone.WAITING, "Waiting for Munich since 09:00")


@pytest.mark.parametrize(
    "before, now, told",
    [
        (None, Where(Stage.RESULTS, Tone.GOOD, "The results are here"), ""),
        (RUNS, RUNS, ""),
        (RUNS, Where(Stage.RUN, Tone.WAITING, "Waiting for Munich"), ""),
        (RUNS, Where(Stage.RESULTS, Tone.GOOD, "The results are here"), "The results are here."),
        (RUNS, Where(Stage.RUN, Tone.PROBLEM, "The study has ended"), "The study has ended."),
        (WAITS, Where(Stage.JOIN, Tone.NOW, "Accept the plan", True), "You are waited for: accept the plan."),
        (RUNS, Where(Stage.JOIN, Tone.NOW, "It changed", True), "You are waited for: it changed."),
    ],
    ids=str,
)
def test_the_end_and_ones_turn_are_news(before: Where | None, now: Where, told: str) -> None:
    found = news("Asthma", before, now)
    assert (found.text if found else "") == told
    assert found is None or found.title == "Asthma"


def test_an_end_is_told_to_who_looks_elsewhere(desk: Desk, study: MakeStudy) -> None:
    trial: Trial = study(name="Asthma in adults")
    me, *others = trial.members
    folder = released(me, *others)
    desk.window.open_study(folder)
    desk.press(desk.view.run.start_button)
    desk.reads("Waiting for cohort2, cohort3 since")
    desk.until(lambda: "Waiting for" in desk.window.studies.found[0].where.text)
    elsewhere = QWidget()
    desk.bot.addWidget(elsewhere)
    elsewhere.show()
    elsewhere.activateWindow()
    desk.until(lambda: not desk.window.isActiveWindow())
    trial.call("POST", "abort", json={"reason": "found a mistake in the phenotype"})
    desk.until(lambda: bool(desk.window.tray.said))
    assert [one.title for one in desk.window.tray.said] == ["Asthma in adults"]
    assert desk.window.tray.said[0].tone is Tone.PROBLEM
    desk.reads("The study has ended without results", "aborted")
    desk.look("state-aborted")
