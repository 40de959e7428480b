"""Sentences and tables in the window, and what is said where there can be no window."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from window_desk import Desk

import unpooled_client
from tests.patience import PATIENCE
from unpooled_client.window.form import DataForm, option_of
from unpooled_client.window.model import Tone
from unpooled_client.window.system import PACKAGES, lacking
from unpooled_client.window.tables import Cell, Column, Table, number, strong
from unpooled_client.window.wording import FIELDS, in_window, name_and_option

SOURCES = Path(unpooled_client.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z0-9]|unpooled-client [a-z]")


def sentences() -> list[str]:
    """Every text of the engine's that has an option in it, docstrings apart."""
    found = []
    for folder in ("data", "study", "network", "state", "sentences", "compare"):
        for file in (SOURCES / folder).rglob("*.py"):
            tree = ast.parse(file.read_text("utf-8"))
            said = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
            texts = (text for text in said if isinstance(text, str) and OPTION.search(text))
            found += [text for text in texts if " " in text.strip() and "\n\n" not in text]
    return found


def test_an_option_stands_small_beside_its_name() -> None:
    assert name_and_option("Least frequency (--maf)") == ("Least frequency", "--maf")
    assert name_and_option("Cohorts (all)") == ("Cohorts (all)", "")


def test_a_release_of_the_client_is_no_command() -> None:
    assert in_window("Install unpooled-client 0.2.0.") == "Install unpooled-client 0.2.0."


def test_there_are_such_sentences() -> None:
    assert len(sentences()) > 30


@pytest.mark.parametrize("text", sentences())
def test_an_option_is_called_what_its_field_is_called(text: str) -> None:
    told = re.sub(r"`[^`]*`?", "", in_window(text))  # commands of other programs
    assert not OPTION.search(told), told


def test_every_field_of_the_form_has_its_name() -> None:
    assert {option_of(name) for name in DataForm.__dataclass_fields__} <= FIELDS.keys()


@pytest.mark.parametrize(
    "said, shown",
    [
        ("Is it the right column (--pheno-name, --mpheno)?", "Is it the right column (“Phenotype column”)?"),
        ("use --one-class.", "use “This cohort has only cases, or only controls”."),
        ("the --keep file has no line", "“Only the samples in” has no line"),
        ("Give --table FILE.", "Give the table."),
        ("`unpooled-client doctor` says more.", "“Test the connection” says more."),
        ("Start with: unpooled-client join --wait --state DIR", "Start with: the step Join"),
        ("Write it with `plink2 --make-bed`.", "Write it with `plink2 --make-bed`."),
        ("Choose another with --out.", "Choose another with the folder for the results."),
    ],
)
def test_sentences_stay_sentences(said: str, shown: str) -> None:
    assert in_window(said) == shown


OPEN = [sys.executable, "-m", "unpooled_client", "window"]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="about Linux")


def opened(**environment: str) -> subprocess.CompletedProcess[str]:
    """The command `window`, as a program, on a system with that environment."""
    dropped = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return subprocess.run(OPEN, env=kept | environment, capture_output=True, text=True, timeout=PATIENCE)


@LINUX
def test_without_a_screen() -> None:
    ended = opened()
    assert ended.returncode == 2
    assert "There is no screen here" in ended.stderr and "command line does the same" in ended.stderr


def test_without_qt(tmp_path: Path) -> None:
    (tmp_path / "PySide6.py").touch()  # found first, and has none of Qt's modules
    ended = opened(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert ended.returncode == 2
    assert 'pip install "unpooled-client[window]"' in ended.stderr and "Traceback" not in ended.stderr


@LINUX
@pytest.mark.parametrize(
    "library, given",
    [("libxcb-cursor.so.0", {"DISPLAY": ":77"}), ("libEGL.so.1", {"QT_QPA_PLATFORM": "offscreen"})],
)
def test_a_missing_library_is_named_with_its_package(
    library: str, given: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / library).touch()  # found first, and no library
    ended = opened(LD_LIBRARY_PATH=str(tmp_path), **given)
    assert ended.returncode == 2
    assert library in ended.stderr and "Traceback" not in ended.stderr
    debian, fedora = PACKAGES[library]
    assert f" {debian}" in ended.stderr and f" {fedora}" in ended.stderr
    assert "command line does the same" in ended.stderr


def test_an_unknown_library_is_named_all_the_same() -> None:
    assert "libodd.so.7" in lacking("libodd.so.7: cannot open shared object file: No such file or directory")


COLUMNS = (Column("Name", 1), Column("Size", is_number=True))
ROWS = [
    [Cell("nine", tone=Tone.PROBLEM), number("9", 9)],
    [strong("ten", "below it"), number("10", 10)],
    ["a thousand", number("1,000", 1000)],
]


@pytest.fixture
def table(desk: Desk) -> Callable[..., Table]:
    def make(**how: Any) -> Table:
        made = Table("Sizes", COLUMNS, **how)
        desk.bot.addWidget(made)
        made.resize(300, 300)
        made.put(ROWS)
        made.show()
        return made

    return make


def test_numbers_are_sorted_by_their_size(table: Callable[..., Table]) -> None:
    made = table()
    for order, first in ((Qt.SortOrder.AscendingOrder, "9"), (Qt.SortOrder.DescendingOrder, "1,000")):
        made.sortByColumn(1, order)
        assert made.row_texts(0)[1] == first


def test_what_a_person_is_at_stays_when_rows_change(table: Callable[..., Table]) -> None:
    made = table()
    made.choose(1)
    made.put([["new", number("1", 1)], *ROWS])
    assert made.row_texts(made.currentIndex().row())[0] == "ten, below it"
    assert made.chosen == 2
    made.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    made.choose_put(3)
    assert made.chosen == 3 and made.currentIndex().row() == 0


def test_it_is_read_with_the_keyboard_and_copied(desk: Desk, table: Callable[..., Table]) -> None:
    made = table()
    desk.bot.keyClick(made, Qt.Key.Key_Down)
    assert made.chosen == 1
    desk.bot.keyClick(made, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "ten, below it\t10"


def test_a_sign_is_a_word_too(table: Callable[..., Table]) -> None:
    made = table()
    told = made.model().index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert told == "needs you, nine"


def test_sentences_take_the_lines_they_need(table: Callable[..., Table]) -> None:
    made = table(wraps=True)
    made.put([["a sentence that is far too long for one line of this table " * 3, number("1", 1)]])
    wide = made.rowHeight(0)
    made.resize(900, 300)
    QApplication.processEvents()
    assert made.rowHeight(0) < wide
