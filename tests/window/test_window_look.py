"""The window's look: the browser's tokens, light and dark as the system is, its own face and icons."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QFontInfo, QImage
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget
from window_desk import Desk

from unpooled_client.window.look import icons, tokens
from unpooled_client.window.look.style import look
from unpooled_client.window.model import Bar, Tone
from unpooled_client.window.parts import ICONS, Bars

FRONTEND = Path(__file__).parents[2] / "frontend"
LOOK = Path(tokens.__file__).parent


@pytest.mark.parametrize(
    "browser, window", [("src/styles/tokens.css", "tokens.css"), ("public/icon.svg", "icons/application.svg")]
)
def test_browser_and_window_have_the_same_tokens_and_icon(browser: str, window: str) -> None:
    original, copy = FRONTEND / browser, LOOK / window
    assert copy.read_bytes() == original.read_bytes(), f"cp {original} {copy}"


def test_every_token_of_the_browser_is_read() -> None:
    lines = [line.strip() for line in tokens.FILE.read_text("utf-8").splitlines()]
    pairs = {line[2 : line.index(":")] for line in lines if line.startswith("--") and "light-dark(#" in line}
    assert tokens.colours(dark=False).keys() == pairs == tokens.colours(dark=True).keys()
    assert tokens.sizes()["body"] == 15 and tokens.sizes()["radius"] == 6


def test_it_is_light_or_dark_as_the_system_is_and_follows(desk: Desk) -> None:
    for scheme, dark in ((Qt.ColorScheme.Dark, True), (Qt.ColorScheme.Light, False)):
        desk.system_is(scheme)
        seen = desk.window.grab().toImage().pixelColor(QPoint(4, 4))
        assert seen == QColor(tokens.colours(dark=dark)["page"])


def test_texts_are_in_the_bundled_face(desk: Desk) -> None:
    title = desk.window.home.title
    assert QFontInfo(QApplication.font()).family() == QFontInfo(title.font()).family() == "Inter"
    assert title.font().pixelSize() > QApplication.font().pixelSize()


def test_keys_make_all_text_larger_and_smaller(desk: Desk) -> None:
    before = QLabel("x").fontMetrics().height()
    for _ in range(3):
        desk.type(Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    assert QLabel("x").fontMetrics().height() > before
    for _ in range(3):
        desk.type(Qt.Key.Key_Minus, Qt.KeyboardModifier.ControlModifier)
    assert QLabel("x").fontMetrics().height() == before


def test_signs_differ_without_their_colour(desk: Desk) -> None:
    def shape(tone: Tone) -> bytes:
        drawn = icons.pixmap(ICONS[tone][0], QColor("black"), 16).toImage()
        return bytes(drawn.convertToFormat(QImage.Format.Format_Alpha8).constBits())

    assert len({shape(tone) for tone in Tone}) == len(Tone)


def test_every_icon_is_drawn_somewhere() -> None:
    sources = "".join(file.read_text("utf-8") for file in LOOK.parent.rglob("*.py"))
    assert not [file.stem for file in (LOOK / "icons").iterdir() if f'"{file.stem}"' not in sources]


def test_of_several_steps_all_bars_are_seen(desk: Desk) -> None:
    page, bars = QWidget(), Bars()
    desk.bot.addWidget(page)
    column = QVBoxLayout(page)
    column.addWidget(bars)
    column.addStretch(1)
    page.resize(600, 400)
    page.show()
    for step in ("Count people", "Count genotypes", "Fit model"):
        bars.put(Bar(step, step, 1, 2, "1 of 2"))
    desk.until(lambda: bars.bars["Fit model"].isVisible() and not bars.verticalScrollBar().maximum())
    assert bars.height() >= 3 * bars.bars["Fit model"].height()


def test_buttons_have_the_colours_of_the_scheme(desk: Desk) -> None:
    """Icons are drawn anew when the system turns dark."""
    button = desk.window.home.join_button
    inks = []
    for scheme in (Qt.ColorScheme.Dark, Qt.ColorScheme.Light):
        desk.system_is(scheme)
        image = button.icon().pixmap(16).toImage()
        inks.append(image.pixelColor(8, 8))
    assert inks == [QColor(tokens.colours(dark=dark)[button.ink]) for dark in (True, False)]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal there")
def test_qt_takes_no_none_that_it_was_not_given(desk: Desk) -> None:
    """PySide6 6.12.0 did: after some ten thousand calls the program was ended."""
    label, before = QLabel(), sys.getrefcount(None)
    for _ in range(1000):
        label.setEnabled(True)
    assert sys.getrefcount(None) > before - 500


def test_distances_follow_text(desk: Desk) -> None:
    before = look().pixels("4")
    look().zoom(2)
    assert look().pixels("4") == pytest.approx(2 * before, abs=1)
    look().zoom(0.5)
