"""A coordinator changes a plan that cohorts have accepted, and repeats a study that has ended."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Route, expect

from unpooled.simulate import simulate

from ..federation import Cohort
from ..launch import PUT_SHARE
from ..patience import PATIENCE, until
from .conftest import Clients
from .pages import Pages
from .studies import (
    BY_ITSELF,
    all_accepted,
    all_end,
    begin_study_of_variants,
    create,
    invite_all,
    row,
    spawn,
    until_done,
)

FEWEST = "Minimum people per cohort"


def answer_yes(cohorts: Sequence[Cohort]) -> list[str]:
    """Each person reads what is asked and accepts it, once; what the clients told."""
    command = [sys.executable, "-m", "unpooled_client", "join", "--wait", "--json", "--state"]
    asked = [
        subprocess.Popen(
            [*command, str(cohort.folder / "state")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for cohort in cohorts
    ]
    for process in asked:  # first all of them: each waits for the others
        assert process.stdin is not None
        process.stdin.write("yes\n")
        process.stdin.flush()
    told = [process.communicate(timeout=PATIENCE)[0] for process in asked]
    assert [process.returncode for process in asked] == [0] * len(cohorts), told
    return told


def test_a_floor_that_a_cohort_misses_is_mended_by_one_change(
    pages: Pages, clients: Clients, small: tuple[Path, ...]
) -> None:
    begin_study_of_variants(pages, "Asthma above the floor")
    pages.fill(FEWEST, "100000")
    create(pages, "Asthma above the floor")
    invite_all(pages, clients, small)
    pages.follow("Plan")
    pages.sees("The plan can be changed until a sum over the cohorts is asked for.")
    pages.follow("Change")
    pages.fill(FEWEST, "100001")
    expect(pages.page.get_by_text("All cohorts will have to accept")).to_have_count(0)  # nobody has joined
    pages.follow("Cancel")
    spawn(clients)
    for cohort in clients:
        assert cohort.party.wait() == 1, cohort.party.said()
    pages.sees("3 cohorts have stopped on a problem: Graz, Munich")
    pages.follow("What to do")
    for cohort in clients:
        expect(row(pages, cohort.name)).to_contain_text(f"Who can act: the data manager of {cohort.name}.")
    pages.look("three-stopped")
    pages.follow("Plan")

    pages.follow("Change")
    expect(pages.page.get_by_text("All cohorts will have to accept")).to_have_count(0)
    fewest = pages.page.get_by_label(FEWEST, exact=True)
    expect(fewest).to_be_focused()
    expect(fewest).to_have_accessible_description(re.compile("has fewer people than the plan asks"))
    pages.fill(FEWEST, "20")
    pages.sees("All cohorts will have to accept the changed plan.")
    pages.sees("0 of 3 have accepted the plan as it is.")
    pages.look("change-plan")
    pages.press("Save")
    pages.sees("The plan was changed.")
    pages.look("changed-plan")
    expect(pages.page.get_by_text("Who can act: the data manager")).to_have_count(0)
    pages.follow("Log")
    pages.sees("changed the plan. Each cohort has at least: 100000 people")

    for told in answer_yes(clients):
        assert told.count('"event": "review-needed"') == 1
        assert '"label": "Each cohort has at least"' in told
    spawn(clients)
    until_done(pages)
    pages.follow("Plan")
    pages.sees("The study has ended. To change its plan, repeat it.")
    expect(pages.page.get_by_role("link", name="Change", exact=True)).to_have_count(0)
    all_end(clients)


def test_a_change_of_the_name_is_nobodys_to_accept(
    pages: Pages, clients: Clients, small: tuple[Path, ...]
) -> None:
    all_accepted(pages, clients, small, "Asthma misspelt")
    pages.follow("Plan")
    pages.sees("3 of 3 cohorts have accepted it; if it is changed, they accept again.")
    pages.follow("Change")
    forecasts: list[Route] = []
    pages.page.route("**/api/v1/foreseen", lambda forecast: forecasts.append(forecast))
    save = pages.page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_visible()
    with pages.page.expect_request("**/api/v1/foreseen"):
        pages.page.reload()
    pages.sees("Once nothing is missing")
    place = save.bounding_box()
    for forecast in forecasts:
        forecast.continue_()
    pages.page.unroute("**/api/v1/foreseen")
    pages.sees("What leaves a cohort")
    assert save.bounding_box() == place  # a click that has begun ends on it
    pages.fill("Name of the study", "Asthma, spelt well")
    pages.press("Save")
    pages.heading("Asthma, spelt well")
    pages.sees("3 of 3 cohorts have accepted it; if it is changed, they accept again.")
    expect(pages.page.get_by_text("The plan was changed.")).to_have_count(0)

    pages.follow("Change")
    pages.fill(FEWEST, "21")
    pages.sees("3 of 3 have accepted the plan as it is.")
    pages.press("Save")
    pages.sees("The plan was changed.")
    for cohort in clients:  # they run with the answer yes to what is asked first, and to nothing that follows
        assert cohort.party.wait() == 2
        assert "the plan changed and must be accepted again" in cohort.party.said()
    pages.follow("Progress")
    pages.press("Abort")
    pages.press("Abort", pages.dialog)


def test_a_study_that_ended_is_changed_and_repeated(
    pages: Pages, clients: Clients, small: tuple[Path, ...]
) -> None:
    all_accepted(pages, clients, small, "Asthma once more")
    pages.follow("Progress")
    pages.press("Abort")
    pages.press("Abort", pages.dialog)
    pages.sees("The same cohorts take part by one answer each.")
    all_end(clients, 4)

    pages.follow("Change and repeat")
    pages.sees("Graz, Munich, Tartu are invited by themselves")
    expect(pages.page.get_by_label("Name of the study", exact=True)).to_have_value("Asthma once more")
    pages.page.get_by_label(BY_ITSELF).check()
    pages.fill(FEWEST, "21")
    pages.look("repeat")
    pages.press("Repeat the study")
    pages.heading("Asthma once more (2)")
    expect(pages.page.get_by_role("row", name="Graz")).to_be_visible()
    pages.look("repeated-cohorts")
    pages.follow("Plan")
    pages.follow("Asthma once more")
    pages.heading("Asthma once more")
    pages.sees("It is repeated as “Asthma once more (2)”.")
    pages.look("repeated")
    pages.page.get_by_role("link", name="Open its repetition").first.click()
    pages.heading("Asthma once more (2)")

    for told in answer_yes(clients):
        assert told.count('"event": "review-needed"') == 1
    for cohort in clients:  # the same command as ever
        cohort.party.spawn()
    until_done(pages)
    all_end(clients)
    results = clients[0].folder / "results" / "asthma-once-more.assoc"
    until(results.exists, clients[0].party.said)


def test_a_study_is_repeated_without_a_cohort_that_left_in_the_middle(
    pages: Pages, clients: Clients, tmp_path: Path
) -> None:
    name = "Asthma of four"
    files = simulate(tmp_path / "four", cohorts=(60, 60, 60, 60), variants=200, seed=3, pooled=False).cohorts
    begin_study_of_variants(pages, name)
    pages.fill("Cohorts", "4")
    create(pages, name)
    *others, left = invite_all(pages, clients, files, ("Graz", "Munich", "Oslo", "Tartu"))
    left.gate(PUT_SHARE).close()
    spawn(clients)
    pages.follow("Progress")
    pages.sees("waiting for Tartu to answer")
    left.party.kill()

    pages.follow("Cohorts")
    pages.press("Repeat without it Tartu")
    pages.sees("The difference of the two is Tartu alone.")
    pages.sees("Whoever runs the server can subtract what this study has summed so far")
    pages.look("repeat-without")
    pages.press("Repeat without it", pages.dialog)
    pages.heading(f"{name} (2)")
    expect(row(pages, "Graz")).to_be_visible()
    expect(row(pages, "Tartu")).to_have_count(0)

    all_end(others, 2)  # what has changed is not answered unseen
    for told in answer_yes(others):
        assert told.count('"event": "review-needed"') == 1
        assert '"label": "Takes part: Tartu"' in told
    spawn(others)
    until_done(pages)
    all_end(others)
