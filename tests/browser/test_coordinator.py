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
PASSWORD = "only for these tests"


@pytest.fixture
def administrator(pages: Pages, site: Site) -> Pages:
    """The window of somebody who has just become the administrator."""
    pages.open(site.first_run)
    pages.heading("Create the administrator")
    pages.look("first-run")
    pages.fill("User name", "ada")
    pages.fill("Password", PASSWORD)
    pages.press("Create the administrator")
    pages.heading("Studies")
    return pages


@pytest.fixture
def clients() -> Iterator[list[Cohort]]:
    """The cohorts that a test has started."""
    started: list[Cohort] = []
    yield started
    for cohort in started:
        if not cohort.party.has_ended:
            cohort.party.kill()


def create_study(pages: Pages) -> None:
    pages.follow("New study")
    pages.heading("New study")
    pages.look("new-study")
    pages.fill("Name of the study", "Asthma in three places")
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
    pages.heading("Asthma in three places")


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
    create_study(pages)
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
