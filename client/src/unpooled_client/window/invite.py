"""The page on which an invitation is pasted. It is read at once, and goes nowhere until Join is pressed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QLabel, QPlainTextEdit

from unpooled.protocol.invitation import Invitation, InvitationError
from unpooled_client.state.folder import NO_COMPENSATOR
from unpooled_client.study.invitation import text_of_file
from unpooled_client.window.documents import NO_COMPENSATOR_SAID
from unpooled_client.window.model import Card, Tone
from unpooled_client.window.parts import Facts, Page, label

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
        caption.setProperty("kind", "strong")
        self.text = QPlainTextEdit()
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("Invitation")
        self.text.setPlaceholderText("unpooled1:…")
        self.text.setFixedHeight(8 * self.fontMetrics().lineSpacing())
        self.text.textChanged.connect(self._read)
        caption.setBuddy(self.text)
        self.says = Facts("What the invitation says")
        for widget in (label(_HELP, "muted"), caption, self.text, self.says):
            self.body.addWidget(widget)
        self.body.addStretch(1)
        self.add_tool("Open a &file…", self._open, icon="file")
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
        self.says.setVisible(self.invitation is not None)
        self.join_button.setEnabled(self.invitation is not None)
        if self.invitation is not None:
            found = self.invitation
            facts = (("Server", found.server), ("Study", found.study))
            none = found.compensator == NO_COMPENSATOR
            said = NO_COMPENSATOR_SAID if none else found.compensator
            self.says.put([*facts, ("Compensator's fingerprint", said)])

    def _press(self) -> None:
        if self.invitation is not None:
            self._join(self.invitation)


def _card(problem: str) -> Card:
    what, _, remedy = problem.partition(". ")
    return Card(Tone.PROBLEM, "This is no invitation", f"{what[:1].upper()}{what[1:]}", remedy=remedy)
