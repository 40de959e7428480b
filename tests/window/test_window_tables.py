"""Tables: sorted by what is meant, read with the keyboard, copied as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from window_desk import Desk

from unpooled_client.window.model import Tone
from unpooled_client.window.tables import Cell, Column, Table, number, strong

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
