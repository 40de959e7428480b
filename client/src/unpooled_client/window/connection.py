"""The dialog that tells what is wrong on the way to the server: the command `doctor`, as it is."""

from __future__ import annotations

from html import escape

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from unpooled_client.window.busy import BusySign
from unpooled_client.window.child import Child, Ended
from unpooled_client.window.look.style import look
from unpooled_client.window.parts import Document, label
from unpooled_client.window.study import Study


class ConnectionTest(QDialog):
    """Runs the test, and shows a line for each thing looked at, with the remedy."""

    def __init__(self, parent: QWidget, study: Study) -> None:
        super().__init__(parent)
        server = study.invitation.server
        self.setWindowTitle("Test of the connection")
        self.resize(700, 400)
        self.document = Document("What was found")
        self.document.show_html(f"<p>Looking at this computer, and the way to {escape(server)}…</p>")
        self._busy = BusySign()
        self._busy.say("Testing")
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(*[look().pixels("5")] * 4)
        column.setSpacing(look().pixels("3"))
        column.addWidget(label("Test of the connection", "heading"))
        column.addWidget(self._busy)
        column.addWidget(self.document)
        column.addWidget(close)
        # The state has the way on which the server was reached before.
        of = ["--state", str(study.folder.path)] if study.saved is not None else ["--server", server]
        self._child = Child(self, ["doctor", *of], ended=self._show)
        self.finished.connect(lambda _: self._child.end())

    @property
    def is_done(self) -> bool:
        return not self._child.is_running

    def _show(self, ended: Ended) -> None:
        self._busy.say("")
        self.document.show_html(
            f"<pre style='white-space: pre-wrap'>{escape(ended.output or ended.errors)}</pre>"
        )
