"""The page of the step Join: who asks for what, with whom, and the answer. No data file is opened before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QMessageBox

from unpooled.protocol.messages import Roster, digest
from unpooled_client.state.events import Event, Exit, Failed, Repeated, ReviewNeeded
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.stage import Stage
from unpooled_client.window import documents, rows
from unpooled_client.window.child import Child, Ended
from unpooled_client.window.connection import ConnectionTest
from unpooled_client.window.model import Card, Progress, Tone, trouble
from unpooled_client.window.parts import Document, Page, Scrolled, label
from unpooled_client.window.study import Study
from unpooled_client.window.tables import Table

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


_DECIDE_REPEATED = Card(
    Tone.NOW,
    "Take part again?",
    "The coordinator repeats this study with the same cohorts. Below is what has changed. If you accept, "
    "this cohort takes part with the same data files. You see what leaves this computer again only if "
    "it is something else.",
)


class JoinPage(Page):
    """Joins as a child process, and asks the person what the child asks."""

    def __init__(self, study: Study, go_to: Callable[[StateFolder], None]) -> None:
        """`go_to`: shows the study that repeats this one, once that was accepted."""
        super().__init__("Join")
        self._study, self._go_to = study, go_to
        self._child: Child | None = None
        self._trouble: Card | None = None
        self.progress = Progress()
        """Events of the joining; they may be missing from the log if another client holds it."""
        self.document, self.hashes = Document("Plan"), Document("Hashes")
        self.changes_title = label("What has changed", "heading")
        self.changes = Table("What has changed", rows.CHANGES, wraps=True)
        self.roster_title = label("With whom: compare these fingerprints by telephone", "heading")
        self.roster = Table("Cohorts", rows.ROSTER)
        for text in (self.document, self.hashes):
            text.grow()
        self.body.addWidget(
            Scrolled(
                *(self.changes_title, self.changes, self.document),
                *(self.roster_title, self.roster, self.hashes),
            ),
            1,
        )
        self.test_button = self.add_tool("&Test the connection", self._test, icon="connection")
        self.anew_button = self.add_button("Join &anew…", self._join_anew, kind="danger")
        self.again_button = self.add_button("Try a&gain", self.join, default=True)
        self.decline_button = self.add_button("&Decline", lambda: self._answer("no"))
        self.accept_button = self.add_button(
            "&Accept plan and roster", lambda: self._answer("yes"), kind="primary"
        )
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
            doing="Asking the server",
            on_line=self._hear,
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
        event = Event.from_json(values)
        self.progress.add(event)
        self._study.changed.emit()
        if isinstance(event, Repeated):
            # Not from within: going there ends the child that is being heard.
            QTimer.singleShot(0, lambda: self._go_to(StateFolder(Path(event.folder))))

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
        self._show_changes()
        self.accept_button.setVisible(asks)
        self.decline_button.setVisible(asks)
        self.again_button.setVisible(not agreed and not self.is_joining)
        self.test_button.setVisible(not agreed and not asks)
        self.anew_button.setVisible(failed is not None and _is_elsewhere(failed))

    def _card(self) -> Card:
        if (asks := self.progress.asks) is not None:
            if asks.repeats:
                return _DECIDE_REPEATED
            return _DECIDE_ANEW if asks.changed else _DECIDE
        if self.progress.card is not None:
            return self.progress.card
        return Card(Tone.WAITING, f"Asking {self._study.invitation.server}", busy=self.is_joining)

    def _show_document(self, agreed: bool) -> None:
        server = self._study.invitation.server
        found = self._study.saved
        if agreed and found is not None and found.agreement is not None:
            self.document.show_html(documents.agreement(found.agreement))
            self._show_roster(found.agreement.roster, found.cohort, found.agreement.compensator)
        elif (asked := self.progress.proposal) is not None:
            study = self.progress.study or self._study.title
            self.document.show_html(documents.proposal(asked, study=study, server=server))
            if isinstance(asked, ReviewNeeded):
                self._show_roster(asked.roster, asked.cohort, asked.compensator)
            else:
                self._show_roster(None, "", asked.compensator)
        else:
            self._show_roster(None, "", "")

    def _show_changes(self) -> None:
        asked = self.progress.asks
        found = asked.changes if asked is not None else ()
        for widget in (self.changes_title, self.changes):
            widget.setVisible(bool(found))
        self.changes.put(rows.changes(found))
        self.changes.fit_height()

    def _show_roster(self, roster: Roster | None, own: str, compensator: str) -> None:
        for widget in (self.roster_title, self.roster):
            widget.setVisible(roster is not None)
        is_known = roster is not None or bool(compensator)
        self.hashes.setVisible(is_known)
        if roster is not None:
            self.roster.put(rows.roster(roster, own))
            self.roster.fit_height()
        if is_known:
            self.hashes.show_html(documents.hashes(digest(roster).hex() if roster else "", compensator))


def _is_elsewhere(failed: Failed) -> bool:
    return failed.exit == Exit.REFUSED and failed.code == "joined-elsewhere"
