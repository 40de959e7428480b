"""The steps of a study at the left: what is done, what is now, what is to come."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from unpooled_client.state.stage import Stage
from unpooled_client.window.look.icons import draw
from unpooled_client.window.look.style import look
from unpooled_client.window.model import StageLine
from unpooled_client.window.parts import ICONS

_LINE = Qt.ItemDataRole.UserRole


class _Painter(QStyledItemDelegate):
    """The sign of its state, its name, and below that the state in words."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        line: StageLine = index.data(_LINE)
        rect, state = option.rect, option.state
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_Selected:
            painter.setPen(look().colour("focus") if _has_focus(state) else Qt.PenStyle.NoPen)
            painter.setBrush(look().colour("accent-soft"))
            painter.drawRoundedRect(
                rect.adjusted(1, 1, -1, -1), look().pixels("radius"), look().pixels("radius")
            )
        name, colour = ICONS[line.tone]
        side, edge = look().pixels("4"), look().pixels("3")
        where = QRectF(rect.x() + edge, rect.center().y() - side / 2, side, side)
        draw(painter, name, look().colour(colour), where)
        inside = rect.adjusted(2 * edge + side, look().pixels("2"), -edge, -look().pixels("2"))
        self._paint_words(painter, option.font, line, inside)

    def _paint_words(self, painter: QPainter, font: QFont, line: StageLine, inside: QRect) -> None:
        names, words = _fonts(font)
        painter.setFont(names)
        painter.setPen(look().colour("text" if line.can_open else "muted"))
        painter.drawText(inside, Qt.AlignmentFlag.AlignTop, str(line.stage))
        painter.setFont(words)
        painter.setPen(look().colour("muted"))
        painter.drawText(inside, Qt.AlignmentFlag.AlignBottom, line.tone.word)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        names, words = map(QFontMetrics, _fonts(option.font))
        line: StageLine = index.data(_LINE)
        wide = max(names.horizontalAdvance(str(line.stage)), words.horizontalAdvance(line.tone.word))
        room = look().pixels("4") + 3 * look().pixels("3")
        return QSize(wide + room + 4, names.height() + words.height() + 2 * look().pixels("2"))


def _has_focus(state: QStyle.StateFlag) -> bool:
    return bool(state & QStyle.StateFlag.State_HasFocus)


def _fonts(font: QFont) -> tuple[QFont, QFont]:
    names, words = QFont(font), QFont(font)
    names.setWeight(QFont.Weight.DemiBold)
    words.setPixelSize(look().pixels("small"))
    return names, words


class Steps(QListWidget):
    """One line for each step; those that cannot be opened yet cannot be chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("steps")
        self.setAccessibleName("Steps of the study")
        self.setItemDelegate(_Painter(self))
        self.setSpacing(2)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for stage in Stage:
            self.addItem(QListWidgetItem(str(stage)))
        self.lines: Sequence[StageLine] = ()

    def put(self, lines: Sequence[StageLine]) -> None:
        # Else the list would flicker, and lose its place for a screen reader, every 400 ms.
        if lines == self.lines:
            return
        self.lines = lines
        for line in lines:
            item = self.item(line.stage.number)
            item.setData(_LINE, line)
            item.setText(line.text)
            flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            item.setFlags(flags if line.can_open else Qt.ItemFlag.NoItemFlags)
        self.setFixedWidth(self.sizeHintForColumn(0) + 2 * look().pixels("3") + 4)
