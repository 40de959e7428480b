"""The page of the step Review: what would leave this computer, and the button that lets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QCheckBox

from unpooled_client.state.stage import Stage
from unpooled_client.window import documents, rows
from unpooled_client.window.child import Ended
from unpooled_client.window.model import Card, Tone, trouble
from unpooled_client.window.parts import Facts, Page, label, panel, save_as
from unpooled_client.window.study import Study
from unpooled_client.window.tables import Table

_ASK = Card(
    Tone.NOW,
    "Nothing of your data has left this computer yet",
    "Release it, and from then on the client sends what is listed below, by itself, until the study ends, "
    "and nothing else. What was sent cannot be taken back. You can stop the run at any time.",
)
_FEW_APART = "Few people are apart from an earlier study's"
_RELEASED = Card(Tone.GOOD, "You released this", "The client sends what is listed, and nothing else.")


class ReviewPage(Page):
    """A table made from what the steps of the study declare, and the release."""

    def __init__(self, study: Study, go_on: Callable[[], None]) -> None:
        super().__init__("Review what leaves this computer")
        self._study, self._go_on, self._is_asked = study, go_on, False
        self.knowingly = QCheckBox("&I know what this tells: release it all the same")
        self.knowingly.toggled.connect(self.refresh)
        self.knowingly.hide()
        self._is_few_apart = False
        self.summary = Facts("What leaves, in short")
        self.table = Table("Everything that leaves this computer", rows.LEAVES, wraps=True)
        self.table.hide()
        self.warning = label(documents.ONE_OPERATOR, "strong")
        self.warning.hide()
        self.body.addWidget(self.warning)
        self.body.addWidget(self.knowingly)
        self._short = panel(self.summary)
        self.body.addWidget(self._short)
        self.body.addWidget(self.table, 1)
        self.body.addStretch(0)
        self.more_button = self.add_tool("Show &everything that leaves", self._show_everything, icon="right")
        self.more_button.setCheckable(True)
        self.keep_button = self.add_tool("&Keep as HTML…", self._keep, icon="save")
        self.release_button = self.add_button("&Release and let it leave", self._release, kind="primary")

    def refresh(self) -> None:
        """Ask for the table once it can be made."""
        ready = self._study.stage in (Stage.REVIEW, Stage.RUN, Stage.RESULTS)
        is_released = ready and self._study.stage is not Stage.REVIEW
        self.release_button.setVisible(not is_released)
        self.knowingly.setVisible(self._is_few_apart and not is_released)
        self.release_button.setEnabled(
            self._is_asked and (self.knowingly.isChecked() or not self._is_few_apart)
        )
        self.more_button.setEnabled(self._is_asked)
        self.keep_button.setEnabled(self._is_asked)
        if is_released:
            self.card.show_card(_RELEASED)

    def load(self) -> None:
        """Have the table made."""
        self._is_asked = False
        self._study.call("review", "--json", doing="Making the list of what leaves", ended=self._show)
        self.refresh()

    def _show(self, ended: Ended) -> None:
        found = ended.json()
        if ended.code or not isinstance(found, dict):
            self.card.show_card(trouble(ended.errors))
            return
        self._is_asked = True
        self._is_few_apart = bool(found["few_apart"])
        told = Card(Tone.WARNING, _FEW_APART, " ".join(found["few_apart"]))
        self.card.show_card(told if self._is_few_apart else _ASK)
        self.summary.put([(name, words) for name, words in found["summary"]])
        self.table.put(rows.leaving(found["leaves"]))
        self.warning.setVisible(found["one_operator"])
        self.refresh()

    def _show_everything(self) -> None:
        """The table in place of the summary, if it is asked for."""
        shown = self.more_button.isChecked()
        self.table.setVisible(shown)
        self._short.setVisible(not shown)
        self.more_button.set_icon("down" if shown else "right")

    def _release(self) -> None:
        self.release_button.setEnabled(False)
        knowingly = ["--few-apart"] if self.knowingly.isChecked() else []
        self._study.call("review", "--release", *knowingly, doing="Releasing", ended=self._released)

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
        self._study.call("review", "--html", str(file), "--json", doing="Writing the page", ended=self._kept)

    def _kept(self, ended: Ended) -> None:
        if ended.code:
            self.card.show_card(trouble(ended.errors))
