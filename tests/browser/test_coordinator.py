"""What a coordinator does with a browser and nothing else, from the first run to the download."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from unpooled.protocol.invitation import Invitation

from ..federation import Cohort
from .conftest import Site
from .pages import Pages

NAMES = ("Graz", "Munich", "Tartu")


@pytest.fixture
def clients() -> Iterator[list[Cohort]]:
    """The cohorts that a test has started."""
    started: list[Cohort] = []
    yield started
    for cohort in started:
        if not cohort.party.has_ended:
            cohort.party.kill()


def create_study(pages: Pages, name: str) -> None:
    """Fill in the form for a new study, with two mistakes on the way."""
    pages.follow("New study")
    pages.heading("New study")
    pages.look("new-study")
    pages.fill("Name of the study", name)
    pages.fill("Fewest people at each cohort", "20")
    pages.fill("Fewest cases, and controls, at each", "one")
    pages.press("Create study")
    pages.sees("got “one”; want a number")  # said by the page
    pages.fill("Fewest cases, and controls, at each", "1")
    pages.press("Create study")
    pages.sees("name the phenotype in 1 to 200 characters")  # said by the server, beside its field
    pages.look("new-study-refused")
    pages.fill("Trait", "asthma")
    pages.press("Create study")
    pages.heading(name)


def invite(pages: Pages, name: str) -> str:
    """The invitation that is shown."""
    pages.fill("Name", name)
    pages.press("Invite")
    shown = pages.dialog.get_by_label("Invitation", exact=True).input_value()
    pages.look("invitation")
    pages.press("Close", pages.dialog)
    expect(pages.dialog).to_be_hidden()
    return shown


def test_a_study_from_the_first_run_to_the_download(
    administrator: Pages,
    site: Site,
    clients: list[Cohort],
    small: tuple[Path, ...],
    rehearse: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    pages = administrator
    pages.sees("No study yet")
    pages.look("studies-empty")
    create_study(pages, "Asthma in three places")
    pages.sees("3 of 3 cohorts are not invited yet.")
    expect(pages.page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    for name, prefix in zip(NAMES, small, strict=True):
        invitation = Invitation.from_text(invite(pages, name))
        clients.append(Cohort(site, name, tmp_path / name, prefix, invitation))
    pages.look("cohorts-invited")
    for cohort in clients:
        cohort.party.spawn()
    pages.follow("Progress")
    pages.sees("Count genotypes")
    pages.look("progress-running")
    expect(pages.page.get_by_role("heading", name="Done")).to_be_visible(timeout=120_000)
    for page in ("Plan", "Privacy and traffic", "Log", "Results"):
        pages.follow(page)
        expect(pages.page.get_by_role("link", name=page, exact=True)).to_have_attribute(
            "aria-current", "page"
        )
        pages.look(f"done-{page.partition(' ')[0].lower()}")
    pages.sees("Genomic inflation")
    found = pages.download("study.assoc", tmp_path)
    bfiles = [word for prefix in small for word in ("--bfile", prefix)]
    rehearse(*bfiles, "--min-samples", 20, "--min-per-class", 1, "--out", tmp_path / "rehearsed")
    assert found.read_bytes() == (tmp_path / "rehearsed.assoc").read_bytes()
    polls = [request for request in pages.asked if request.url.endswith("/progress")]
    assert any("if-none-match" in request.all_headers() for request in polls)


def test_a_session_that_ends_loses_nothing_that_was_typed(administrator: Pages, site: Site) -> None:
    pages = administrator
    pages.open("/studies/new")
    pages.fill("Name of the study", "Half a study")
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


def test_an_observer_sees_and_changes_nothing(
    administrator: Pages, window: Callable[[], Pages], site: Site
) -> None:
    pages = administrator
    pages.follow("People")
    pages.fill("User name", "watcher")
    pages.fill("First password", "another long one 2")
    pages.page.get_by_label("Role", exact=True).select_option("observer")
    pages.press("Create account")
    expect(pages.page.get_by_role("rowheader", name="watcher")).to_be_visible()
    pages.look("people")
    pages.follow("Studies")
    create_study(pages, "Watched")
    pages.follow("Plan")
    pages.fill("User name of an observer", "watcher")
    pages.press("Add")
    expect(pages.page.get_by_role("button", name="Remove watcher")).to_be_visible()
    observer = window()
    observer.sign_in("watcher", "another long one 2")
    observer.heading("Studies")
    expect(observer.page.get_by_role("link", name="New study")).to_have_count(0)
    observer.follow("Watched")
    observer.sees("You may watch this study, not change it.")
    observer.look("observer")
    for page in ("Plan", "Cohorts", "Progress", "Results", "Privacy and traffic", "Log"):
        observer.follow(page)
        expect(observer.page.locator("main").get_by_role("button")).to_have_count(0)


def test_a_normalization_study_by_the_form(administrator: Pages) -> None:
    pages = administrator
    pages.follow("New study")
    pages.choose("Tables")
    pages.fill("Name of the study", "Two markers")
    pages.press("Create study")
    pages.sees("want at least one column of numbers")
    table = {"name": "markers.csv", "mimeType": "text/csv", "buffer": b"glucose,hba1c\n5.1,38\n"}
    pages.page.get_by_label("Or take them from a CSV file").set_input_files(table)
    expect(pages.page.get_by_label("Name in the first line", exact=True)).to_have_count(2)
    pages.look("new-study-tables")
    pages.press("Create study")
    pages.heading("Two markers")
    pages.follow("Plan")
    pages.sees("2 columns")
