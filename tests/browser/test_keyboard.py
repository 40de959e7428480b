"""Everything works without a mouse, and with keyboard shortcuts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from unpooled.simulate import simulate

from ..federation import Trial
from .conftest import Site
from .pages import Pages
from .studies import with_pictures


def test_a_study_is_created_and_a_cohort_invited_by_keyboard(pages: Pages) -> None:
    keyboard = pages.page.keyboard
    pages.open("/")
    pages.heading("Studies")
    pages.type()
    pages.has_focus("link", "Skip to content")
    keyboard.press("Enter")
    pages.until_focus("link", "New study")
    keyboard.press("Enter")
    pages.has_focus("heading", "New study")
    expect(pages.page.get_by_label("Name of the study", exact=True)).to_be_visible()

    pages.type()
    pages.has_focus("radio", "Association")
    keyboard.press("ArrowDown")
    expect(pages.page.get_by_label("Structure", exact=True)).to_be_checked()
    keyboard.press("ArrowUp")
    pages.type()
    expect(pages.page.get_by_role("button", name="Chi-square with QC")).to_be_focused()
    pages.until_focus("textbox", "Name of the study")
    pages.type("By keyboard")
    pages.until_focus("textbox", "Minimum people per cohort")
    pages.type("many", then="Enter")
    pages.has_focus("textbox", "Trait")  # the first field that is wrong
    pages.type("asthma")
    pages.until_focus("link", "Minimum people per cohort")  # the others are listed beside the button
    keyboard.press("Enter")
    pages.has_focus("textbox", "Minimum people per cohort")
    keyboard.press("Control+A")
    pages.type("20", then="Enter")
    pages.has_focus("heading", "By keyboard")

    pages.until_focus("link", "Plan")
    keyboard.press("Enter")
    pages.sees("The plan can be changed until a sum over the cohorts is asked for.")
    pages.until_focus("link", "Cohorts")
    keyboard.press("Enter")
    pages.until_focus("textbox", "Names")
    pages.type("Graz")
    pages.has_focus("button", "Invite")
    keyboard.press("Enter")
    expect(pages.dialog.get_by_label("Invitation", exact=True)).to_be_focused()
    about = [
        ("textbox", "Message to the data manager"),
        ("checkbox", "Put the invitation into the message"),
        ("button", "Copy message"),
        ("link", "Write it as a mail"),
        ("button", "Copy"),
        ("button", "Save as file"),
        ("button", "Close"),
    ]
    for role, name in about:
        keyboard.press("Tab")
        pages.has_focus(role, name)
    for _ in range(5):  # on, by way of the browser's own buttons, and never behind the dialog
        keyboard.press("Tab")
        behind = "document.activeElement.matches('body *:not(dialog, dialog *)')"
        assert not pages.page.evaluate(behind), pages.page.evaluate("document.activeElement.outerHTML")
    for _ in range(3):
        keyboard.press("Escape")  # it is shown only once, and not lost by accident
    expect(pages.dialog.get_by_role("heading")).to_have_text("Invitation of Graz")
    pages.until_focus("button", "Close")
    keyboard.press("Enter")
    expect(pages.dialog).to_be_hidden()
    pages.until_focus("button", "Revoke the invitation of Graz")
    keyboard.press("Enter")
    expect(pages.dialog.get_by_role("heading")).to_be_focused()
    keyboard.press("Enter")  # a key that is still held does nothing
    expect(pages.dialog).to_be_visible()
    keyboard.press("Escape")
    pages.has_focus("button", "Revoke the invitation of Graz")


@pytest.fixture
def study(pages: Pages, site: Site, tmp_path: Path) -> Iterator[Trial]:
    """A study that is done, with several loci."""
    made = simulate(
        tmp_path, cohorts=(150, 160, 170), variants=1500, effects=(5.0, 0.2), seed=3, pooled=False
    )
    site.coordinator.sign_in(*site.administrator)
    trial = site.study(made.cohorts)
    with with_pictures(trial):
        yield trial


def test_the_sheet_and_the_switch(pages: Pages) -> None:
    page = pages.page
    pages.open("/guide")
    pages.heading("Guide")
    page.keyboard.press("?")
    expect(pages.dialog.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    expect(pages.dialog).to_contain_text("New study")
    pages.look("shortcuts")
    page.keyboard.press("n")  # behind the sheet nothing happens
    pages.dialog.get_by_label("Use these keys", exact=True).uncheck()
    page.keyboard.press("Escape")
    expect(pages.dialog).to_be_hidden()
    page.reload()
    pages.heading("Guide")
    page.keyboard.press("?")
    page.keyboard.press("n")
    expect(pages.dialog).to_be_hidden()
    pages.heading("Guide")
    pages.press("Keyboard shortcuts")
    pages.dialog.get_by_label("Use these keys", exact=True).check()
    pages.press("Close", pages.dialog)
    pages.has_focus("button", "Keyboard shortcuts")
    page.keyboard.press("n")
    pages.has_focus("heading", "New study")


def test_nothing_happens_while_somebody_types(pages: Pages) -> None:
    page = pages.page
    pages.open("/studies/new")
    field = page.get_by_label("Name of the study", exact=True)
    field.press_sequentially("gs n?/")
    expect(field).to_have_value("gs n?/")
    pages.heading("New study")
    field.fill("")
    page.get_by_role("heading", name="New study").click()
    page.keyboard.press("Alt+n")
    pages.heading("New study")
    page.keyboard.press("g")
    page.keyboard.press("s")
    pages.has_focus("heading", "Studies")


def test_through_a_study_and_its_loci(pages: Pages, study: Trial) -> None:
    page = pages.page
    pages.open(f"/studies/{study.id}/results")
    expect(page.get_by_role("application", name="Manhattan plot")).to_be_visible()
    table = page.get_by_role("table", name="Loci and variants")
    first, second = table.locator("tbody tr").nth(0), table.locator("tbody tr").nth(1)
    expect(second).to_be_visible()
    page.keyboard.press("j")
    expect(first).to_have_attribute("data-wanted", "true")
    expect(page).to_have_url(re.compile("region="))
    page.keyboard.press("j")
    expect(second).to_have_attribute("data-wanted", "true")
    page.keyboard.press("k")
    expect(first).to_have_attribute("data-wanted", "true")
    lead = first.get_by_role("button").inner_text()
    expect(page.get_by_role("status").filter(has_text=re.compile(rf"^{lead}, 1 of \d+$"))).to_have_count(1)
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("region="))
    page.keyboard.press("/")
    expect(page.get_by_label("Gene, variant or place", exact=True)).to_be_focused()
    page.get_by_role("heading", name="Loci and variants").click()
    for key, title in (("1", "Plan"), ("6", "Log"), ("4", "Results")):
        page.keyboard.press(key)
        pages.is_at(title)
