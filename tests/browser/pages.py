"""A window of the browser, in the words of who looks at it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, ViewportSize, expect

from ..patience import PATIENCE

PICTURES = None if os.environ.get("CI") else Path(__file__).parents[2] / ".cache" / "screenshots"
"""Folder of screenshots for people to look at; None in CI, where they would take minutes."""
SIZES: dict[str, ViewportSize] = {
    "small": {"width": 390, "height": 844},
    "laptop": {"width": 1366, "height": 768},
}
# The second frame has what parts of a page draw once they know their size.
DRAWN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
SERIOUS = ("serious", "critical")
MILLISECONDS = 1000 * PATIENCE

expect.set_options(timeout=MILLISECONDS)


class Pages:
    """One window. `complaints` collects what must never happen, whatever a test looks at."""

    def __init__(self, page: Page, address: str, axe: str) -> None:
        self.page, self.address, self._axe = page, address, axe
        self.complaints: list[str] = []
        self.asked: list[Request] = []
        page.set_default_timeout(MILLISECONDS)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        # A request that is refused, such as the first one for the session, is no fault of the page's.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(f"console: {message.text}")

    def _on_request(self, request: Request) -> None:
        self.asked.append(request)
        if not request.url.startswith((self.address, f"blob:{self.address}", "data:")):
            self.complaints.append(f"asked outside the origin: {request.url}")

    def open(self, path: str) -> None:
        self.page.goto(path)

    def sign_in(self, name: str, password: str) -> None:
        self.open("/")
        self.heading("Sign in")
        self.fill("User name", name)
        self.fill("Password", password)
        self.press("Sign in")

    def heading(self, text: str) -> None:
        """Wait for the page with this title."""
        expect(self.page.get_by_role("heading", level=1, name=text, exact=True)).to_be_visible()

    def sees(self, text: str) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible()

    def press(self, name: str, within: Locator | None = None) -> None:
        (within or self.page).get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).click()

    def fill(self, label: str, text: str, within: Locator | None = None) -> None:
        (within or self.page).get_by_label(label, exact=True).fill(text)

    def choose(self, label: str) -> None:
        """A radio button or a check box."""
        self.page.get_by_label(label, exact=True).check()

    def type(self, text: str = "", then: str = "Tab") -> None:
        """Use the keyboard alone: type into the focused element, then press a key."""
        self.page.keyboard.type(text)
        self.page.keyboard.press(then)

    def has_focus(self, role: Any, name: str) -> None:
        expect(self.page.get_by_role(role, name=name, exact=True)).to_be_focused()

    def until_focus(self, role: Any, name: str, most: int = 60) -> None:
        """Press Tab until this has the focus."""
        wanted = self.page.get_by_role(role, name=name, exact=True)
        expect(wanted).to_be_visible()
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if wanted.evaluate("(element) => element === document.activeElement"):
                return
        raise AssertionError(f"{name} cannot be reached by keyboard")

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def is_at(self, page: str) -> None:
        """The tabs and the links say that this one is open."""
        link = self.page.get_by_role("link", name=page, exact=True)
        expect(link).to_have_attribute("aria-current", "page")

    def download(self, file: str, folder: Path) -> Path:
        """A result file, by its link."""
        return self.saved(folder, lambda: self.follow(f"Download {file}"))

    def saved(self, folder: Path, click: Callable[[], None]) -> Path:
        """Save the file that a click downloads, and return its path."""
        with self.page.expect_download() as started:
            click()
        saved = folder / started.value.suggested_filename
        started.value.save_as(saved)
        return saved

    def save_picture(self, about: str, as_what: str, folder: Path) -> Path:
        """Save a picture, of which the first words are given, as a figure of its own."""
        self.page.get_by_role("button", name=f"Make a figure with {about}").click()
        expect(self.dialog.get_by_role("img")).to_be_visible()
        saved = self.saved(folder, lambda: self.press(f"Save {as_what}"))
        self.press("Close")
        return saved

    def look(self, name: str) -> None:
        """Take pictures of the page as it is, light and dark, on a laptop and a small screen. AssertionError
        for what axe-core finds serious or critical, and for what does not fit."""
        expect(self.page.locator("div[aria-busy=true]")).to_have_count(0)  # all of it has come
        # A page has the same elements and colours in each language, of which only the lengths differ.
        is_english = self.page.evaluate("document.documentElement.lang") == "en"
        for scheme in ("light", "dark") if PICTURES or is_english else ("light",):
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            is_dark = scheme == "dark"  # which differs in its colours only
            for size, viewport in SIZES.items() if PICTURES or not is_dark else ():
                self.page.set_viewport_size(viewport)
                self.picture(f"{name}-{scheme}-{size}", whole=True)
                wide = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                assert wide <= 0, f"{name} is {wide} pixels too wide for a {size} screen"
            if is_english:
                self._check_accessibility("color-contrast" if is_dark else None)
        self.page.set_viewport_size(SIZES["laptop"])

    def picture(self, name: str, *, whole: bool = False) -> None:
        """Keep a picture of what is seen, or of the whole page, once it is drawn."""
        if PICTURES:
            self.page.evaluate(DRAWN)
            self.page.screenshot(path=PICTURES / f"{name}.png", full_page=whole)

    def _check_accessibility(self, rule: str | None) -> None:
        if not self.page.evaluate("'axe' in window"):  # one page shows one address after the other
            self.page.evaluate(self._axe)
        found: list[dict[str, Any]] = self.page.evaluate(
            "(rule) => axe.run(rule ? { runOnly: [rule] } : {}).then((found) => found.violations)", rule
        )
        serious = [
            f"{rule['id']}: {rule['help']}\n" + "\n".join(node["html"] for node in rule["nodes"])
            for rule in found
            if rule["impact"] in SERIOUS
        ]
        assert not serious, "\n".join(serious)
