"""Tables of the window: sortable, read row by row with the keyboard, copied as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6 import QtWidgets
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QKeySequence, QPainter, QResizeEvent

from unpooled_client.window.look.icons import draw
from unpooled_client.window.look.style import look
from unpooled_client.window.model import Tone
from unpooled_client.window.parts import ICONS

Index: TypeAlias = QModelIndex | QPersistentModelIndex

_ROOT = QModelIndex()
_CELL, _ORDER = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True)
class Column:
    """A column; `share` of the width that is left over by those which are as wide as what is in them."""

    title: str
    share: int = 0
    is_number: bool = False


@dataclass(frozen=True)
class Cell:
    """Content of one cell: its text, smaller words below it, and a sign with a meaning."""

    text: str
    detail: str = ""
    tone: Tone | None = None
    strong: bool = False
    order: Any = None
    """Sort key, if it is not the text."""

    @property
    def words(self) -> str:
        """All of it, for copying and for a screen reader."""
        parts = [self.tone.word if self.tone is not None else "", self.text, self.detail]
        return ", ".join(part for part in parts if part)


Row: TypeAlias = Sequence[Cell | str]


class Rows(QAbstractTableModel):
    """Rows as they are shown; nobody changes them."""

    def __init__(self, parent: QObject, columns: Sequence[Column]) -> None:
        super().__init__(parent)
        self.columns = columns
        self.cells: list[list[Cell]] = []

    def put(self, cells: list[list[Cell]]) -> None:
        self.beginResetModel()
        self.cells = cells
        self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self.cells)

    def columnCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        cell = self.cells[index.row()][index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell.text
            case Qt.ItemDataRole.AccessibleTextRole | Qt.ItemDataRole.ToolTipRole:
                return cell.words
            case _ if role == _CELL:
                return cell
            case _ if role == _ORDER:
                return cell.text if cell.order is None else cell.order
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self.columns[section].is_number else _LEFT
        return self.columns[section].title if role == Qt.ItemDataRole.DisplayRole else None


class _Painter(QtWidgets.QStyledItemDelegate):
    """Draws cells as the browser does: a line below each row, room around the text, words below words."""

    def __init__(self, view: Table) -> None:
        super().__init__(view)
        self._view = view

    def paint(self, painter: QPainter, option: QtWidgets.QStyleOptionViewItem, index: Index) -> None:
        cell, rect = index.data(_CELL), option.rect
        state = option.state
        if state & QtWidgets.QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, look().colour("accent-soft"))
        painter.setPen(look().colour("line"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        inside = self._inside(rect, cell)
        if cell.tone is not None:
            self._paint_sign(painter, cell.tone, rect)
        height = self._paint_text(painter, cell, inside, index.column())
        if cell.detail:
            painter.setFont(self._small)
            painter.setPen(look().colour("muted"))
            painter.drawText(inside.adjusted(0, height, 0, 0), self._flags(index.column()), cell.detail)

    def _paint_sign(self, painter: QPainter, tone: Tone, rect: QRect) -> None:
        name, colour = ICONS[tone]
        side, line = look().pixels("4"), QFontMetrics(self._view.font()).height()
        where = QRectF(rect.x() + self._across, rect.y() + self._down + (line - side) / 2, side, side)
        draw(painter, name, look().colour(colour), where)

    def _paint_text(self, painter: QPainter, cell: Cell, inside: QRect, column: int) -> int:
        """Draw the text; how high it is."""
        font = self._font(cell)
        painter.setFont(font)
        painter.setPen(look().colour("text"))
        metrics, flags = QFontMetrics(font), self._flags(column)
        text = cell.text
        if not self._view.wraps:
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, inside.width())
        painter.drawText(inside, flags, text)
        return metrics.boundingRect(inside, flags, text).height()

    def sizeHint(self, option: QtWidgets.QStyleOptionViewItem, index: Index) -> QSize:
        cell, column = index.data(_CELL), index.column()
        given = self._view.columnWidth(column) if self._view.wraps else 1 << 16
        room = self._inside(QRect(0, 0, given, 1 << 16), cell)
        flags = self._flags(column)
        text = QFontMetrics(self._font(cell)).boundingRect(room, flags, cell.text)
        below = QFontMetrics(self._small).boundingRect(room, flags, cell.detail) if cell.detail else QRect()
        wide = max(text.width(), below.width()) + (given - room.width()) + 2
        return QSize(wide, text.height() + below.height() + 2 * self._down + 1)

    @property
    def _across(self) -> int:
        return look().pixels("2") + 2

    @property
    def _down(self) -> int:
        return look().pixels("2") - 1

    @property
    def _small(self) -> QFont:
        font = QFont(self._view.font())
        font.setPixelSize(look().pixels("small"))
        return font

    def _font(self, cell: Cell) -> QFont:
        font = QFont(self._view.font())
        font.setWeight(QFont.Weight.DemiBold if cell.strong else QFont.Weight.Normal)
        return font

    def _inside(self, rect: QRect, cell: Cell) -> QRect:
        sign = look().pixels("4") + look().pixels("2") if cell.tone is not None else 0
        return rect.adjusted(self._across + sign, self._down, -self._across, -self._down)

    def _flags(self, column: int) -> int:
        side = Qt.AlignmentFlag.AlignRight if self._view.is_number(column) else Qt.AlignmentFlag.AlignLeft
        wrap = Qt.TextFlag.TextWordWrap if self._view.wraps else Qt.TextFlag.TextSingleLine
        return int(side | Qt.AlignmentFlag.AlignTop) | int(wrap)


class Table(QtWidgets.QTableView):
    """Rows under titles. `wraps`: sentences, on as many lines as they need; else one line a row."""

    def __init__(self, name: str, columns: Sequence[Column], *, wraps: bool = False) -> None:
        super().__init__()
        self.wraps = wraps
        self._rows, self._sorted = Rows(self, columns), QSortFilterProxyModel(self)
        self._sorted.setSourceModel(self._rows)
        self._sorted.setSortRole(_ORDER)
        self.setModel(self._sorted)
        self.setItemDelegate(_Painter(self))
        self.setAccessibleName(name)
        self.setSelectionBehavior(QtWidgets.QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QtWidgets.QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QtWidgets.QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.verticalHeader().hide()
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)
        if wraps:
            self.verticalHeader().setSectionResizeMode(QtWidgets.QHeaderView.ResizeMode.ResizeToContents)
        look().changed.connect(self._fit)

    def put(self, rows: Sequence[Row]) -> None:
        """Show these rows; the row that a person is at stays, if its texts are still there."""
        cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
        if cells == self._rows.cells:
            return
        at = self.row_texts(self.currentIndex().row()) if self.currentIndex().isValid() else []
        self._rows.put(cells)
        self._fit()
        self.choose(next((k for k in range(self.count) if self.row_texts(k) == at), 0))

    def put_under(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Show these rows under other titles."""
        self._rows.columns = columns
        self._rows.put([])
        self.put(rows)

    @property
    def count(self) -> int:
        return self._sorted.rowCount()

    @property
    def chosen(self) -> int | None:
        """Index of the selected row, as the rows were put; None if no row is selected."""
        index = self.currentIndex()
        return self._sorted.mapToSource(index).row() if index.isValid() else None

    def choose(self, row: int) -> None:
        if 0 <= row < self.count:
            self.setCurrentIndex(self._sorted.index(row, 0))

    def choose_put(self, row: int) -> None:
        """Go to the row that was put as this one, wherever it is sorted to."""
        self.setCurrentIndex(self._sorted.mapFromSource(self._rows.index(row, 0)))

    def on_chosen(self, call: Callable[[], None]) -> None:
        self.selectionModel().currentRowChanged.connect(lambda *_: call())
        self._sorted.modelReset.connect(call)

    def row_texts(self, row: int) -> list[str]:
        return [self._sorted.index(row, k).data(_CELL).words for k in range(len(self._rows.columns))]

    @property
    def text(self) -> str:
        """All that it shows, a line for each row."""
        return "\n".join("\t".join(self.row_texts(row)) for row in range(self.count))

    def is_number(self, column: int) -> bool:
        return self._rows.columns[column].is_number

    def fit_height(self) -> None:
        """Be as high as the rows are, in a page that scrolls."""
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.resizeRowsToContents()
        rows = sum(self.rowHeight(row) for row in range(self.count))
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + rows + 2)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            chosen = sorted({index.row() for index in self.selectedIndexes()})
            QtWidgets.QApplication.clipboard().setText(
                "\n".join("\t".join(self.row_texts(row)) for row in chosen)
            )
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Give each column its width, and each row its height."""
        header, cells = self.horizontalHeader(), self._rows.cells
        for k in range(len(self._rows.columns)):
            self.setColumnHidden(k, bool(cells) and not any(row[k].words for row in cells))
        # A hidden column takes no share, and is no wider than nothing.
        columns = [Column("") if self.isColumnHidden(k) else c for k, c in enumerate(self._rows.columns)]
        fixed = [k for k, column in enumerate(columns) if not column.share]
        for k in fixed:
            wide = max(self._natural(k), header.sectionSizeHint(k))
            self.setColumnWidth(k, min(wide, self.viewport().width() // 3) if self.wraps else wide)
        left = max(0, self.viewport().width() - sum(self.columnWidth(k) for k in fixed))
        shares = sum(column.share for column in columns) or 1
        for k, column in enumerate(columns):
            if column.share:
                self.setColumnWidth(k, left * column.share // shares)
        if not self.wraps:
            cell = Cell("x", detail="x" if any(c.detail for row in self._rows.cells[:1] for c in row) else "")
            self.verticalHeader().setDefaultSectionSize(self._height_of(cell))

    def _natural(self, column: int) -> int:
        # The painter asks how text wraps: for the natural width it must not.
        wraps, self.wraps = self.wraps, False
        hints = [
            self.sizeHintForIndex(self._sorted.index(row, column)) for row in range(min(self.count, 200))
        ]
        self.wraps = wraps
        return max((hint.width() for hint in hints), default=0)

    def _height_of(self, cell: Cell) -> int:
        metrics = self.fontMetrics().height()
        return int(metrics * (1.9 if cell.detail else 1)) + 2 * look().pixels("2")


def strong(text: str, detail: str = "") -> Cell:
    return Cell(text, detail, strong=True)


def number(text: str, order: float) -> Cell:
    return Cell(text, order=order)
