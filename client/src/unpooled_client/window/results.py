"""The page of the step Results: pictures, files, this cohort against the pool, and all that was sent."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QComboBox, QFormLayout, QTabWidget, QWidget

from unpooled.plan.common_options import PHENOTYPES
from unpooled.plan.plan import Plan
from unpooled_client.compare.pool import tests_variants
from unpooled_client.compare.report import own_files
from unpooled_client.state.stage import Stage
from unpooled_client.window import rows
from unpooled_client.window.child import Ended
from unpooled_client.window.model import Card, Tone, trouble
from unpooled_client.window.parts import Button, Facts, Page, label, save_as, stacked
from unpooled_client.window.pictures import Pictures
from unpooled_client.window.study import Study
from unpooled_client.window.tables import Table

_SHOWN = 500
"""Lines of the ledger in the table; the file has all."""

_NO_OWN = (
    "This cohort was not compared with the pool. The log of the run says why; once that is fixed, press "
    "“Compare again”."
)


class ResultsPage(Page):
    """Page of the results that came, and of what was sent."""

    def __init__(self, study: Study) -> None:
        super().__init__("Results")
        self._study, self._is_loaded, self._is_drawn = study, False, False
        self.pictures = Pictures()
        self.phenotype = QComboBox()
        self.phenotype.currentTextChanged.connect(self._choose)
        self._phenotypes = QWidget()
        choice = QFormLayout(self._phenotypes)
        choice.setContentsMargins(0, 0, 0, 0)
        choice.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        choice.addRow("Pheno&type", self.phenotype)
        self._phenotypes.hide()
        self.files, self.ledger = Table("Result files", rows.FILES), Table("Ledger", rows.LEDGER)
        self.totals, self.no_own = Facts("Ledger in all"), label(_NO_OWN, "muted")
        self.own = Table("This cohort against the pool", rows.own_columns([]))
        self.own.hide()
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.own_button = Button("Open as a pa&ge", self._open_own, icon="page")
        self.compare_button = Button("&Compare again", self._compare, icon="again")
        own = stacked(self.no_own, self.own, buttons=[self.compare_button, self.own_button])
        export = Button("&Export the ledger…", self._export, icon="save")
        self.tabs.addTab(self.pictures, "&Pictures")
        self.tabs.addTab(own, "&Your cohort and the pool")
        self.tabs.addTab(stacked(self.files), "&Files")
        self.tabs.addTab(stacked(self.totals, self.ledger, buttons=[export]), "Everything that was &sent")
        self.body.addWidget(self._phenotypes)
        self.body.addWidget(self.tabs, 1)
        self.open_button = self.add_button("&Open the folder", self._open, default=True, icon="folder")

    @property
    def folder(self) -> Path | None:
        saved = self._study.saved
        return Path(saved.out) if saved is not None and saved.delivered else None

    def refresh(self) -> None:
        """Once the results are here, list them; once the run has ended, too, have the rest looked up."""
        plan = self._study.plan
        if self._study.stage is not Stage.RESULTS or self._is_loaded or self.folder is None or plan is None:
            return
        # Looked at again once the run has ended: until then, files may still come.
        self._is_loaded = not self._study.is_alive
        self._offer(plan)
        files = sorted(path for path in self.folder.glob("*") if path.is_file())
        self.files.put(rows.files(files))
        self.card.show_card(Card(Tone.GOOD, f"The results are here: {len(files)} files"))
        self.open_button.setToolTip(str(self.folder))
        self._show_own(self.folder, plan)
        self._draw(plan)
        if self._is_loaded:
            self._study.call("ledger", "--json", doing="Verifying the ledger", ended=self._show_ledger)

    def _offer(self, plan: Plan) -> None:
        """The choice among several phenotypes."""
        if PHENOTYPES.of(plan) and not self.phenotype.count():
            with QSignalBlocker(self.phenotype):
                self.phenotype.addItems(plan.phenotype_names)
            self._phenotypes.show()

    def _choose(self) -> None:
        """Show another phenotype."""
        self._is_drawn = False
        if self.folder is not None and (plan := self._study.plan) is not None:
            self._show_own(self.folder, plan)
            self._draw(plan)

    def _of_one(self, plan: Plan) -> Plan:
        """The plan of the phenotype that is shown."""
        return plan.of_phenotype(self.phenotype.currentText()) if PHENOTYPES.of(plan) else plan

    def _draw(self, plan: Plan) -> None:
        """Have the pictures made, once."""
        if self._is_drawn:
            return
        self._is_drawn = True
        if not tests_variants(plan):
            self.tabs.setTabVisible(0, False)
            return
        one = ["--phenotype", self._of_one(plan).phenotype] if PHENOTYPES.of(plan) else []
        self._study.call("pictures", *one, "--json", doing="Drawing the results", ended=self._show_pictures)

    def _show_pictures(self, ended: Ended) -> None:
        found = ended.json()
        if ended.code or not isinstance(found, dict):
            self.pictures.say(trouble(ended.errors).text)
        else:
            self.pictures.put(found)

    def _show_own(self, folder: Path, plan: Plan) -> None:
        """Show the run's comparison of this cohort with the pool, if it could be made."""
        self.tabs.setTabVisible(1, plan.of_tables or tests_variants(plan))
        file, page = own_files(folder, self._of_one(plan))
        self.own_button.setEnabled(page.is_file())
        self.compare_button.setVisible(not file.is_file() and self._is_loaded)
        self.no_own.setVisible(not file.is_file())
        if not file.is_file():
            return
        with file.open(encoding="utf-8", newline="") as lines:
            found = list(csv.DictReader(lines, delimiter="\t"))
        self.own.show()
        self.own.put_under(rows.own_columns(found), rows.own(found))

    def _compare(self) -> None:
        """Set this cohort against the pool once more."""
        self.compare_button.setEnabled(False)
        self._study.call(
            "results", "--json", doing="Comparing this cohort with the pool", ended=self._compared
        )

    def _compared(self, ended: Ended) -> None:
        self.compare_button.setEnabled(True)
        reasons = [line["reason"] for line in ended.json_lines() if line.get("reason")]
        if reasons or ended.code:
            self.card.show_card(trouble(reasons[0] if reasons else ended.errors))
        if self.folder is not None and (plan := self._study.plan) is not None:
            self._show_own(self.folder, plan)

    def _show_ledger(self, ended: Ended) -> None:
        if ended.code:
            self.card.show_card(trouble(ended.errors))
        entries = ended.json_lines()
        self.totals.put(rows.ledger_facts(entries, is_whole=not ended.code))
        self.ledger.put(rows.ledger(entries, _SHOWN))

    def _open(self) -> None:
        if self.folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.folder)))

    def _open_own(self) -> None:
        if self.folder is not None and self._study.plan is not None:
            _, page = own_files(self.folder, self._of_one(self._study.plan))
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(page)))

    def _export(self) -> None:
        chosen = save_as(self, "Export the ledger", "unpooled-ledger.jsonl", "JSON lines (*.jsonl)")
        if chosen is not None:
            shutil.copyfile(self._study.folder.ledger, chosen)
