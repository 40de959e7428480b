"""A real browser before a real platform, as `unpooled up` runs it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from unpooled_webapp.application import PAGE

from ..conftest import needed
from ..federation import Cohort, UnpooledUp
from ..patience import until
from ..services import fresh_stores
from .pages import Pages

ROOT = Path(__file__).parents[2]
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Without them the browser would ask its maker's hosts for news.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Site(UnpooledUp):
    """A platform that nobody has used yet: its first administrator is made in the browser."""

    administrator = ("administrator", "only for these tests")
    is_new = True

    def start(self) -> None:
        self.up.environment = self.environment
        self.up.start()
        until(lambda: "first-run-token\n" in self.up.said(), self.up.said)

    @property
    def first_run(self) -> str:
        """The address that was printed, with the token from the file that was named: nobody sits there."""
        ((page, file),) = re.findall(r"First run: open (\S+)#TOKEN .*:\n(.+)", self.up.said())
        return f"{page}#{Path(file).read_text().strip()}"


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("browser") / "site", fresh_stores())
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="package")  # its event loop must be gone before tests that use Django themselves
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    needed(program, "Chromium", "chromium")
    needed(PAGE.exists(), "the browser application", "must", "scripts/build-frontend")
    needed(AXE.exists(), "axe-core", "must", "scripts/build-frontend")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def window(browser: Browser, site: Site) -> Iterator[Callable[[], Pages]]:
    """Opens windows, each with cookies of its own, in which nothing may go wrong: no error in the console, no
    address outside the origin."""
    opened: list[Pages] = []

    def open_window() -> Pages:
        context = browser.new_context(base_url=site.address, accept_downloads=True)
        opened.append(Pages(context.new_page(), site.address, AXE.read_text()))
        return opened[-1]

    yield open_window
    for pages in opened:
        pages.page.context.close()
    assert [complaint for pages in opened for complaint in pages.complaints] == []


class Clients(list[Cohort]):
    """The cohorts of a test, which end with it."""

    def __init__(self, site: Site, folder: Path) -> None:
        super().__init__()
        self.site, self.folder = site, folder


@pytest.fixture
def clients(site: Site, tmp_path: Path) -> Iterator[Clients]:
    started = Clients(site, tmp_path)
    yield started
    for cohort in started:
        if cohort.party.process is not None and not cohort.party.has_ended:
            cohort.party.kill()


@pytest.fixture
def pages(site: Site, window: Callable[[], Pages]) -> Pages:
    """The window of the administrator, who is made in the first one."""
    shown = window()
    if site.is_new:
        shown.open(site.first_run)
        shown.heading("Create the administrator")
        shown.look("first-run")
        shown.fill("User name", site.administrator[0])
        shown.fill("Password", site.administrator[1])
        shown.press("Create the administrator")
        shown.sees("No study yet")
        expect(shown.page.get_by_role("button", name="Try a demo study")).to_be_enabled()
        shown.look("studies-empty")
        site.is_new = False
    else:
        shown.sign_in(*site.administrator)
    shown.heading("Studies")
    return shown
