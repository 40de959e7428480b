"""The page for those who run the platform."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from .pages import Pages
from .studies import create_study_of_variants
from .test_people import FIRST, create_account


def test_administrators_see_how_the_platform_stands(pages: Pages, window: Callable[[], Pages]) -> None:
    create_account(pages, "onlooker", "observer")
    create_study_of_variants(pages, "Not over yet")
    pages.follow("Platform")
    pages.sees("All that the platform needs is there.")
    row = pages.page.get_by_role("row", name="Not over yet")
    expect(row.get_by_text("Draft")).to_be_visible()
    with pages.page.expect_response("**/api/v1/platform/sweep") as answered:
        pages.press("Look at all studies now")
    assert answered.value.status == 204
    pages.look("platform")
    other = window()
    other.open("/")
    other.sign_in("onlooker", FIRST)
    other.heading("Studies")
    other.open("/platform")
    other.sees("Only administrators see how the platform stands.")
    expect(other.page.locator("main").get_by_role("button")).to_have_count(0)
