"""The page on which an invitation is pasted. It is read at once, and goes nowhere until Join is pressed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QFormLayout, QLabel, QPlainTextEdit, QWidget

from unpooled.protocol.invitation import Invitation, InvitationError
from unpooled_client.study.invitation import text_of_file
from unpooled_client.window.model import Card, Tone
from unpooled_client.window.parts import Page, button, label

_HELP = (
    "Paste the invitation that the coordinator gave you, one long string that begins with unpooled1:, or "
    "open the file that holds it. It is a password: keep it to yourself. No data file is opened in this step."
)


class InvitePage(Page):
    """Paste, look at what it says, join."""

    def __init__(self, join: Callable[[Invitation], None], back: Callable[[], None]) -> None:
        super().__init__("Join a study")
        self._join = join
        self.invitation: Invitation | None = None
        caption = QLabel("&Invitation")
        self.text = QPlainTextEdit()
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("Invitation")
        self.text.setPlaceholderText("unpooled1:…")
        self.text.setFixedHeight(8 * self.fontMetrics().lineSpacing())
        self.text.textChanged.connect(self._read)
        caption.setBuddy(self.text)
        self.server, self.study, self.compensator = label(), label(), label()
        self._says = QWidget()
        facts = QFormLayout(self._says)
        facts.setContentsMargins(0, 0, 0, 0)
        facts.addRow("Server", self.server)
        facts.addRow("Study", self.study)
        facts.addRow("Compensator's fingerprint", self.compensator)
        for widget in (label(_HELP), caption, self.text, self._says):
            self.body.addWidget(widget)
        self.body.addStretch(1)
        self.row.insertWidget(0, button("Open a &file…", self._open))
        self.back_button = self.add_button("&Back", back)
        self.join_button = self.add_button("&Join", self._press, default=True)
        self._read()

    def clear(self) -> None:
        """Forget the invitation: it is a password."""
        self.text.clear()
        self.text.setFocus()

    def _open(self) -> None:
        found, _ = QFileDialog.getOpenFileName(self, "File with the invitation", "", "All files (*)")
        if found:
            self.text.setPlainText(text_of_file(Path(found)))

    def _read(self) -> None:
        """Say at once what is wrong with the text, or what it says."""
        text, problem, self.invitation = self.text.toPlainText(), "", None
        if text.strip():
            try:
                self.invitation = Invitation.from_text(text)
            except InvitationError as error:
                problem = str(error)
        self.card.show_card(_card(problem) if problem else None)
        self._says.setVisible(self.invitation is not None)
        self.join_button.setEnabled(self.invitation is not None)
        if self.invitation is not None:
            self.server.setText(self.invitation.server)
            self.study.setText(self.invitation.study)
            self.compensator.setText(self.invitation.compensator)

    def _press(self) -> None:
        if self.invitation is not None:
            self._join(self.invitation)


def _card(problem: str) -> Card:
    what, _, remedy = problem.partition(". ")
    return Card(Tone.PROBLEM, "This is no invitation", f"{what[:1].upper()}{what[1:]}", remedy=remedy)
