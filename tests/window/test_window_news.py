"""Who does not look at the window is told that a study has ended, or that it waits for them."""

from __future__ import annotations

import pytest
from client_trials import Trial
from PySide6.QtWidgets import QWidget
from test_window_states import MakeStudy, released
from window_desk import Desk

from unpooled_client.state.stage import Stage
from unpooled_client.window.model import Tone
from unpooled_client.window.news import news
from unpooled_client.window.where import Where

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
        (
            RUNS,
            Where(Stage.JOIN, Tone.NOW, "It changed", True),
            "You are waited for: it changed.",
        ),
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
