"""Keyboard shortcuts: what they do, where they do nothing, and how they are turned off."""

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


@pytest.fixture
def study(administrator: Pages, site: Site, tmp_path: Path) -> Iterator[Trial]:
    """A study that is done, with several loci."""
    made = simulate(
        tmp_path, cohorts=(150, 160, 170), variants=1500, effects=(5.0, 0.2), seed=3, pooled=False
    )
    site.coordinator.sign_in(*site.administrator)
    trial = site.study(made.cohorts)
    with with_pictures(trial):
        yield trial


def test_the_sheet_and_the_switch(administrator: Pages) -> None:
    pages, page = administrator, administrator.page
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


def test_nothing_happens_while_somebody_types(administrator: Pages) -> None:
    pages, page = administrator, administrator.page
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


def test_through_a_study_and_its_loci(administrator: Pages, study: Trial) -> None:
    pages, page = administrator, administrator.page
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
