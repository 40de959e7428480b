"""The page of the step Join: who asks for what, with whom, and the answer. No data file is opened before."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QMessageBox

from unpooled_client.state.events import Event, Exit, Failed
from unpooled_client.state.stage import Stage
from unpooled_client.window import documents
from unpooled_client.window.child import Child, Ended
from unpooled_client.window.connection import ConnectionTest
from unpooled_client.window.model import Card, Progress, Tone, trouble
from unpooled_client.window.parts import Document, Page
from unpooled_client.window.study import Study

_ANEW = (
    "The earlier state of this cohort, with its key, is lost for good, and this computer joins with a "
    "new key. All cohorts must accept again. If sums were released already, the study ends for all.\n\n"
    "If the other computer can go on, go on there instead."
)
_DECIDE = Card(
    Tone.NOW,
    "Accept the plan and the roster?",
    "Read both, and compare the fingerprints by telephone. After accepting you choose the data files; they "
    "are checked on this computer, and you see what would leave it before anything does.",
)
_DECIDE_ANEW = Card(
    Tone.NOW,
    "Accept what has changed?",
    "Plan or roster are no longer what you accepted, for instance because a cohort joined again. Read both "
    "again, and compare the fingerprints by telephone. Your data files stay chosen; under the same plan, "
    "what you released stays released.",
)


class JoinPage(Page):
    """Joins as a child process, and asks the person what the child asks."""

    def __init__(self, study: Study) -> None:
        super().__init__("Join")
        self._study = study
        self._child: Child | None = None
        self._trouble: Card | None = None
        self.progress = Progress()
        """What the joining told; it may not be in the log, if another client has that."""
        self.document = Document("Plan and roster")
        self.body.addWidget(self.document, 1)
        self.test_button = self.add_button("&Test the connection", self._test)
        self.anew_button = self.add_button("Join &anew…", self._join_anew)
        self.again_button = self.add_button("Try a&gain", self.join, default=True)
        self.decline_button = self.add_button("&Decline", lambda: self._answer("no"))
        self.accept_button = self.add_button("&Accept plan and roster", lambda: self._answer("yes"))
        self.refresh()

    def join(self, *more: str) -> None:
        """Join, and wait for the others; what was joined before goes on."""
        self.progress, self._trouble = Progress(), None
        if self._study.saved is None:
            more = ("-", *more)
        self._child = self._study.call(
            "join",
            "--wait",
            "--json",
            *more,
            told=self._hear,
            ended=self._end,
            first_line=self._study.invitation.to_text() if self._study.saved is None else "",
            answers=True,
        )
        self._study.changed.emit()

    @property
    def is_joining(self) -> bool:
        return self._child is not None and self._child.is_running

    def _join_anew(self) -> None:
        asked = QMessageBox.warning(
            self,
            "Join anew?",
            _ANEW,
            QMessageBox.StandardButton.Ok | QMessageBox.StandardButton.Cancel,
            QMessageBox.StandardButton.Cancel,
        )
        if asked == QMessageBox.StandardButton.Ok:
            self.join("--join-anew")

    def _test(self) -> None:
        ConnectionTest(self, self._study).open()

    def _hear(self, values: dict[str, Any]) -> None:
        self.progress.add(Event.from_json(values))
        self._study.changed.emit()

    def _end(self, ended: Ended) -> None:
        if ended.code and self.progress.failed is None:
            self._trouble = trouble(ended.errors)
        self._study.refresh()

    def _answer(self, answer: str) -> None:
        if self._child is not None and self.progress.asks is not None:
            self.progress.asks = None
            self._child.say(answer)
            self._study.changed.emit()

    def refresh(self) -> None:
        """Show how the joining stands, or what was agreed to."""
        agreed = self._study.where.stage is not Stage.JOIN and not self.is_joining
        asks, failed = self.progress.asks is not None, self.progress.failed
        if not agreed:
            self.card.show_card(self._trouble or self._card())
        else:
            self.card.show_card(Card(Tone.GOOD, "You accepted this plan and this roster"))
        self._show_document(agreed)
        self.accept_button.setVisible(asks)
        self.decline_button.setVisible(asks)
        self.again_button.setVisible(not agreed and not self.is_joining)
        self.test_button.setVisible(not agreed and not asks)
        self.anew_button.setVisible(failed is not None and _is_elsewhere(failed))

    def _card(self) -> Card:
        if (asks := self.progress.asks) is not None:
            return _DECIDE_ANEW if asks.changed else _DECIDE
        if self.progress.card is not None:
            return self.progress.card
        return Card(Tone.WAITING, f"Asking {self._study.invitation.server}")

    def _show_document(self, agreed: bool) -> None:
        server = self._study.invitation.server
        found = self._study.saved
        if agreed and found is not None and found.agreement is not None:
            html = documents.agreement(found.agreement, found.cohort, found.invitation.compensator)
            self.document.show_html(html)
        elif self.progress.proposal is not None:
            study = self.progress.study or self._study.title
            self.document.show_html(documents.proposal(self.progress.proposal, study=study, server=server))


def _is_elsewhere(failed: Failed) -> bool:
    return failed.exit == Exit.REFUSED and failed.code == "joined-elsewhere"
