"""Everything works without a mouse: this test has none."""

from __future__ import annotations

from playwright.sync_api import expect

from .pages import Pages


def test_a_study_is_created_and_a_cohort_invited_by_keyboard(administrator: Pages) -> None:
    pages = administrator
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
    expect(pages.page.get_by_role("button", name="Chi-square with QC")).to_be_focused()
    pages.until_focus("textbox", "Name of the study")
    pages.type("By keyboard")
    pages.type("Without a mouse")
    pages.has_focus("radio", "Variants")
    keyboard.press("ArrowDown")
    expect(pages.page.get_by_label("Tables", exact=True)).to_be_checked()
    keyboard.press("ArrowUp")
    pages.until_focus("textbox", "Minimum people per cohort")
    pages.type("many", then="Enter")
    pages.has_focus("textbox", "Minimum people per cohort")  # the first field that is wrong
    keyboard.press("Control+A")
    pages.type("20", then="Enter")
    pages.has_focus("textbox", "Trait")  # the server's turn
    pages.type("asthma", then="Enter")
    pages.has_focus("heading", "By keyboard")

    pages.until_focus("link", "Plan")
    keyboard.press("Enter")
    pages.sees("The plan can be changed until a sum over the cohorts is asked for.")
    pages.until_focus("link", "Cohorts")
    keyboard.press("Enter")
    pages.until_focus("textbox", "Name")
    pages.type("Graz", then="Enter")
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
