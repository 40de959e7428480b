"""Accounts in the browser: sessions, passwords, roles, and what an observer may not."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from .conftest import Site
from .pages import Pages
from .studies import create_study_of_variants

FIRST, OWN, RESET = "another long one 2", "one of their own 3", "given once more 4"


def create_account(pages: Pages, name: str, role: str) -> None:
    pages.follow("People")
    pages.fill("User name", name)
    pages.fill("First password", FIRST)
    pages.page.get_by_label("Role", exact=True).select_option(role)
    pages.press("Create account")
    expect(pages.page.get_by_role("rowheader", name=name)).to_be_visible()


def test_a_session_that_ends_loses_nothing_that_was_typed(pages: Pages, site: Site) -> None:
    pages.open("/studies/new")
    pages.fill("Name of the study", "Half a study")
    with pages.page.expect_response(lambda answer: "asthma" in (answer.request.post_data or "")):
        pages.fill("Trait", "asthma")  # what is foreseen of it would notice the end of the session, too
    pages.page.context.clear_cookies(name="sessionid")
    pages.press("Create study")
    expect(pages.dialog.get_by_role("heading")).to_have_text("Your session has ended")
    pages.look("session-ended")
    pages.fill("Password", "wrong", pages.dialog)
    pages.press("Sign in", pages.dialog)
    expect(pages.dialog.get_by_role("alert")).to_contain_text("User name or password is wrong.")
    pages.fill("Password", site.administrator[1], pages.dialog)
    pages.press("Sign in", pages.dialog)
    expect(pages.dialog).to_be_hidden()
    expect(pages.page.get_by_label("Name of the study", exact=True)).to_have_value("Half a study")


def test_an_observer_sees_and_changes_nothing(pages: Pages, window: Callable[[], Pages]) -> None:
    create_account(pages, "watcher", "observer")
    create_study_of_variants(pages, "Watched")
    pages.follow("Plan")
    pages.fill("User name of an observer", "watcher")
    pages.press("Add")
    expect(pages.page.get_by_role("button", name="Remove watcher")).to_be_visible()
    observer = window()
    observer.sign_in("watcher", FIRST)
    observer.heading("Studies")
    expect(observer.page.get_by_role("link", name="New study")).to_have_count(0)
    observer.follow("Watched")
    observer.sees("You may watch this study, not change it.")
    observer.look("observer")
    for page in ("Plan", "Cohorts", "Progress", "Results", "Privacy and traffic", "Log"):
        observer.follow(page)
        expect(observer.page.locator("main").get_by_role("button")).to_have_count(0)
    observer.open("/people")
    observer.sees("Administrators manage accounts.")
    expect(observer.page.locator("main").get_by_role("button")).to_have_count(0)


def test_passwords_and_roles(pages: Pages, window: Callable[[], Pages]) -> None:
    create_account(pages, "newcomer", "observer")
    pages.look("people")
    theirs, other = window(), window()
    other.open("/")
    other.heading("Sign in")
    other.look("sign-in")
    for each in (theirs, other):
        each.sign_in("newcomer", FIRST)
        each.heading("Studies")
    theirs.follow("newcomer")
    theirs.fill("Current password", "not this one")
    theirs.fill("New password", OWN)
    theirs.press("Change password")
    theirs.sees("This is not your password.")
    theirs.look("account-refused")
    theirs.fill("Current password", FIRST)
    theirs.press("Change password")
    theirs.sees("Your password is changed.")
    theirs.follow("Studies")  # the session in which it was changed goes on
    theirs.sees("No study is open to you yet.")
    theirs.look("studies-observer-empty")
    expect(other.dialog.get_by_role("heading")).to_have_text("Your session has ended")

    pages.press("Change role of newcomer")
    pages.dialog.get_by_label("Role", exact=True).select_option("coordinator")
    pages.look("change-role")
    pages.press("Change role", pages.dialog)
    expect(pages.page.get_by_role("row", name="newcomer").get_by_text("Coordinator")).to_be_visible()
    theirs.open("/")
    expect(theirs.page.get_by_role("link", name="New study")).to_be_visible()

    pages.press("Reset password of newcomer")
    pages.fill("New password", "short", pages.dialog)
    pages.press("Reset password", pages.dialog)
    pages.sees("This password is too short.")
    pages.fill("New password", RESET, pages.dialog)
    pages.press("Reset password", pages.dialog)
    expect(pages.dialog).to_be_hidden()
    other.open("/")
    other.sign_in("newcomer", RESET)
    other.heading("Studies")

    pages.press("Close account of newcomer")
    pages.press("Close account", pages.dialog)
    expect(pages.page.get_by_role("rowheader", name="newcomer")).to_have_count(0)
    other.open("/")
    other.heading("Sign in")
