"""The page of the step Review: what would leave this computer, and the button that lets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from unpooled_client.state.stage import Stage
from unpooled_client.window import documents
from unpooled_client.window.child import Ended
from unpooled_client.window.model import Card, Tone, trouble
from unpooled_client.window.parts import Document, Page, save_as
from unpooled_client.window.study import Study

_ASK = Card(
    Tone.NOW,
    "Nothing of your data has left this computer yet",
    "Release it, and from then on the client sends what the table below says, by itself, until the study "
    "ends, and nothing else. What was sent cannot be taken back. You can stop the run at any time.",
)
_RELEASED = Card(Tone.GOOD, "You released this", "The client sends what the table says, and nothing else.")


class ReviewPage(Page):
    """A table made from what the steps of the study declare, and the release."""

    def __init__(self, study: Study, go_on: Callable[[], None]) -> None:
        super().__init__("Review what leaves this computer")
        self._study, self._go_on, self._is_asked = study, go_on, False
        self.document = Document("What leaves this computer")
        self.body.addWidget(self.document, 1)
        self.keep_button = self.add_button("&Keep as HTML…", self._keep)
        self.release_button = self.add_button("&Release and let it leave", self._release)

    def refresh(self) -> None:
        """Ask for the table once it can be made."""
        ready = self._study.stage in (Stage.REVIEW, Stage.RUN, Stage.RESULTS)
        is_released = ready and self._study.stage is not Stage.REVIEW
        self.release_button.setVisible(not is_released)
        self.release_button.setEnabled(self._is_asked)
        self.keep_button.setEnabled(self._is_asked)
        if is_released:
            self.card.show_card(_RELEASED)

    def load(self) -> None:
        """Have the table made."""
        self._is_asked = False
        self._study.call("review", "--json", ended=self._show)
        self.refresh()

    def _show(self, ended: Ended) -> None:
        found = ended.json()
        if ended.code or not isinstance(found, dict):
            self.card.show_card(trouble(ended.errors))
            return
        self._is_asked = True
        self.card.show_card(_ASK)
        self.document.show_html(documents.leaving(found["leaves"], one_operator=found["one_operator"]))
        self.refresh()

    def _release(self) -> None:
        self.release_button.setEnabled(False)
        self._study.call("review", "--release", ended=self._released)

    def _released(self, ended: Ended) -> None:
        if ended.code:
            self.card.show_card(trouble(ended.errors))
        self._study.refresh()
        self.refresh()
        if not ended.code:
            self._go_on()

    def _keep(self) -> None:
        chosen = save_as(self, "Keep the review", "unpooled-review.html", "HTML (*.html)")
        if chosen is not None:
            self.keep(chosen)

    def keep(self, file: Path) -> None:
        """Have the table written as a page, for the ethics file."""
        self._study.call("review", "--html", str(file), "--json", ended=self._kept)

    def _kept(self, ended: Ended) -> None:
        if ended.code:
            self.card.show_card(trouble(ended.errors))
