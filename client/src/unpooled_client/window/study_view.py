"""One study in the window: its steps at the left, the page of the chosen stage at the right."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from unpooled.methods import algorithm
from unpooled.methods.algorithm import NOT_POOLED
from unpooled_client.state.events import Exit
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.stage import Stage
from unpooled_client.window.check import CheckPage
from unpooled_client.window.data import DataPage
from unpooled_client.window.form import DataForm
from unpooled_client.window.join import JoinPage
from unpooled_client.window.model import Card, Tone, stage_lines
from unpooled_client.window.parts import CardBox, Page
from unpooled_client.window.results import ResultsPage
from unpooled_client.window.review import ReviewPage
from unpooled_client.window.run import RunPage
from unpooled_client.window.steps import Steps
from unpooled_client.window.study import Study


class StudyView(QWidget):
    """Goes with a study from stage to stage; a person may look back at what is done."""

    def __init__(self, study: Study, go_to: Callable[[StateFolder], None]) -> None:
        """`go_to`: shows another study, the one that repeats this one."""
        super().__init__()
        self.study = study
        self.join = JoinPage(study, go_to)
        self.data = DataPage(study, self._start_check)
        self.check = CheckPage(
            study, lambda: self.show_stage(Stage.DATA), lambda: self.show_stage(Stage.REVIEW)
        )
        self.review = ReviewPage(study, lambda: self.show_stage(Stage.RUN))
        self.run = RunPage(study, self._look_for_repetition)
        self.results = ResultsPage(study)
        self.steps = Steps()
        self.steps.put(stage_lines(Stage.JOIN, Tone.NOW))
        self.pages = QStackedWidget()
        self._pages: dict[Stage, Page] = {
            Stage.JOIN: self.join,
            Stage.DATA: self.data,
            Stage.CHECK: self.check,
            Stage.REVIEW: self.review,
            Stage.RUN: self.run,
            Stage.RESULTS: self.results,
        }
        for page in self._pages.values():
            self.pages.addWidget(page)
        self.steps.currentRowChanged.connect(self._choose)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.steps)
        self.warning = CardBox()
        """Card that stays above all pages of the study."""
        beside = QVBoxLayout()
        beside.addWidget(self.warning)
        beside.addWidget(self.pages, 1)
        row.addLayout(beside, 1)
        self._at: Stage | None = None
        self._is_checking = self._has_looked = False
        study.changed.connect(self.refresh)

    def begin(self) -> None:
        """Read what is on disk, go to the stage that is next, and go on with what goes on by itself."""
        self.study.open()
        if (
            self.study.where.stage is Stage.RUN
            and not self.study.is_alive
            and self.study.progress.was_interrupted
        ):
            self.run.go_on()

    def refresh(self) -> None:
        """Show what has changed; move on with the study where it moved on."""
        self.run.is_not_repeated = self._has_looked and not self.join.is_joining and _has_ended(self.join)
        for page in (self.join, self.data, self.review, self.run, self.results):
            page.refresh()
        self._warn()
        at, tone = self._place()
        self.steps.put(stage_lines(at, tone))
        # Only where the study moved on: a person who looks back at a step is left there.
        if at is not self._at:
            self._at = at
            self._go(at)
            if at is Stage.JOIN and not self.join.is_joining:
                self.join.join()

    def _warn(self) -> None:
        """Say it on every page if the results will not be those of the pooled data."""
        plan = self.study.plan
        differs = algorithm(plan.test).differs(plan) if plan is not None else ""
        self.warning.show_card(Card(Tone.WARNING, NOT_POOLED, f"{differs}.") if differs else None)

    def _place(self) -> tuple[Stage, Tone]:
        """The stage that the study has come to, and how it stands there."""
        where = self.study.where
        # A changed roster is accepted anew in a study that was released: the joining is no run.
        stage = Stage.JOIN if self.join.is_joining else where.stage
        if self._is_checking and stage in (Stage.DATA, Stage.REVIEW):
            return Stage.CHECK, self._check_tone()
        shown = {Stage.JOIN: self.join, Stage.RUN: self.run}.get(stage)
        card = shown.card.shown if shown is not None else None
        return stage, card.tone if card is not None else where.tone

    def show_stage(self, stage: Stage) -> None:
        """Go to a stage's page, as the person wishes; the study's next stage takes them from there."""
        if stage in (Stage.DATA, Stage.REVIEW):
            self.check.stop()
            self._is_checking = False
        self._at, _ = self._place()
        self._go(stage)
        self.refresh()

    def show_if_open(self, number: int) -> None:
        """Go to the page of that step, if it can be opened yet."""
        if self.steps.lines[number].can_open:
            self.show_stage(list(Stage)[number])

    def _go(self, stage: Stage) -> None:
        page = self._pages[stage]
        # Only when it is opened: making the list anew would take away what a person reads.
        if stage is Stage.REVIEW and self.pages.currentWidget() is not page:
            self.review.load()
        self.steps.setCurrentRow(stage.number)
        self.pages.setCurrentWidget(page)
        page.focus()

    def _choose(self, row: int) -> None:
        if row >= 0 and self.pages.currentIndex() != row:
            self.show_stage(list(Stage)[row])

    def _look_for_repetition(self) -> None:
        """Joining a study that has ended asks the server for its repetition."""
        self._has_looked = True
        self.join.join()

    def _start_check(self, form: DataForm) -> None:
        self._is_checking = True
        self.check.start(form)
        self._go(Stage.CHECK)
        self.refresh()

    def _check_tone(self) -> Tone:
        if self.check.is_checking:
            return Tone.WAITING
        report = self.study.report
        return Tone.GOOD if report is not None and report.ok else Tone.PROBLEM


def _has_ended(join: JoinPage) -> bool:
    """Tell whether the joining reported nothing but the end of the study."""
    failed = join.progress.failed
    return join.progress.finished is not None or (failed is not None and failed.exit == Exit.STUDY_ENDED)
