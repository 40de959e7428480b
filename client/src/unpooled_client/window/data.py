"""The page of the step Data: which files this cohort has, and how they are to be read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6 import QtWidgets
from PySide6.QtCore import QSignalBlocker, Qt

from unpooled.panel.filesets import COPIED, DOSAGE_FIELDS, FILESETS, OF_BFILE, OF_BGEN, OF_VCF
from unpooled.plan.common_options import COVARIATES, PHENOTYPES
from unpooled.plan.plan import Plan
from unpooled_client.window.child import Ended
from unpooled_client.window.form import (
    FLAGS,
    LISTS,
    TEXTS,
    DataForm,
    columns_found,
    genotypes_of,
    genotypes_text,
    has_covariates,
    likely_phenotype,
    option_of,
)
from unpooled_client.window.look.icons import icon
from unpooled_client.window.look.style import look
from unpooled_client.window.model import Card, Tone, trouble
from unpooled_client.window.parts import FileChoice, FolderChoice, Page, label
from unpooled_client.window.study import Study
from unpooled_client.window.wording import in_window

_PATTERN = " ".join(
    [
        *(f"*.{kind}" for fileset in FILESETS for kind in fileset.kinds),
        *(f"*{ending}" for copied in COPIED for ending in copied.endings),
    ]
)
_PEOPLE = "People (*.psam *.fam)"
_BEST = "the best that it has"
_OF_IMAGES = (
    "A folder of images for each class, named after it; or images, and one CSV table that names them."
)
_TEXT = "Text files (*.txt *.tsv *.csv *.pheno *.phen *.cov *.covar)"


_PATTERNS = {"read_freq": "Frequencies (*.afreq *.frq)"}
_LONGEST = max((option_of(name) for name in (*LISTS, *TEXTS)), key=len)
_USUAL = {
    "minimac3_r2_filter": "all variants",
    "missing_phenotype": "-9",
    "king_cutoff": "0.354 or more: one person twice",
}
"""Placeholders: the values that hold where nothing is typed."""


class DataPage(Page):
    """A form; what is typed stays until it is changed here."""

    def __init__(self, study: Study, check: Callable[[DataForm], None]) -> None:
        super().__init__("Data")
        self._study, self._check = study, check
        self._columns: dict[str, list[dict[str, Any]]] = {}
        """Columns of the files that were looked into, by path."""
        self._unread: dict[str, str] = {}
        """Why a file has no columns, by path."""
        self._column = ""
        """The column of the phenotype that a person chose, now or earlier."""
        self._why = ""
        """Why the column that was chosen was."""
        self._plan: Plan | None = None
        self._rows: dict[QtWidgets.QWidget, QtWidgets.QWidget] = {}
        """Widget that stands in the form for each field."""
        inside = QtWidgets.QWidget()
        inside.setObjectName("inside")
        self._form = QtWidgets.QFormLayout(inside)
        self._form.setRowWrapPolicy(QtWidgets.QFormLayout.RowWrapPolicy.WrapLongRows)
        self._form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        self._form.setHorizontalSpacing(look().pixels("4"))
        self._form.setVerticalSpacing(look().pixels("2"))
        self._form.setContentsMargins(0, 0, look().pixels("3"), 0)
        self._form.setFieldGrowthPolicy(QtWidgets.QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        area = QtWidgets.QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        area.setWidget(inside)
        self.body.addWidget(area, 1)
        # Below the form, which then does not move when there is something to say.
        self.column.removeWidget(self.card)
        self.body.addWidget(self.card)
        self._make_fields()
        for edit in inside.findChildren(QtWidgets.QLineEdit):
            edit.textChanged.connect(self._clear)
        for choice in (self.dosage, self.pheno_name):
            choice.currentTextChanged.connect(self._clear)
        self.check_button = self.add_button("&Check these data", self._press, default=True)

    def _make_fields(self) -> None:
        self.table = FileChoice("Table, CSV or Parquet", "Tables (*.csv *.parquet)", self._look)
        self.table_note = label(kind="small")
        self.images = FolderChoice("Folder of images", self._look)
        self.images_note = label(_OF_IMAGES, kind="small")
        self.genotypes = FileChoice("Genotypes", f"Genotypes ({_PATTERN})", self._take_prefix)
        self.dosage = QtWidgets.QComboBox()
        self.dosage.addItems([_BEST, *DOSAGE_FIELDS])
        self.dosage.setAccessibleName("Field of the dosages")
        self.sample = FileChoice("People of the BGEN", "People (*.sample)", lambda: None)
        self.psam = FileChoice("Sexes and phenotypes", _PEOPLE, lambda: None)
        self.pheno = FileChoice("Phenotype file", _TEXT, self._look)
        self.pheno.edit.setPlaceholderText("leave empty to take that of the .fam or .psam")
        self.pheno_name = QtWidgets.QComboBox()
        self.pheno_name.setPlaceholderText("that of the .fam or .psam, without a file")
        self.pheno_name.setEnabled(False)
        self.pheno_name.setAccessibleName("Phenotype column")
        self.pheno_name.currentTextChanged.connect(self._take_column)
        self.pheno_note = label(kind="small")
        self.covar = FileChoice("Covariate file", _TEXT, self._look)
        self.covar_note = label(kind="small")
        self._add("&Table (CSV, Parquet)", self.table)
        self._add("", self.table_note)
        self._add("&Images (a folder)", self.images)
        self._add("", self.images_note)
        self._add("&Genotypes", self.genotypes)
        self._add("Dosages from", self.dosage, option_of("vcf_dosage"))
        self._add("People of the BGEN (.sample)", self.sample)
        self._add("Sexes and phenotypes (.psam, .fam)", self.psam)
        self._add("&Phenotype file", self.pheno)
        self._add("Phenotype c&olumn", self.pheno_name)
        self._add("", self.pheno_note)
        self._add("Co&variate file", self.covar)
        self._add("", self.covar_note)
        self._make_more()

    def _make_more(self) -> None:
        self.more = QtWidgets.QToolButton()
        self.more.setText("&More")
        self.more.setCheckable(True)
        self.more.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.more.toggled.connect(self._show_fields)
        look().changed.connect(self._draw_more)
        self._add("", self.more)
        self.lists = {
            name: FileChoice(text, _PATTERNS.get(name, _TEXT), lambda: None) for name, text in LISTS.items()
        }
        self.texts = {name: QtWidgets.QLineEdit(placeholderText=_USUAL[name]) for name in TEXTS}
        self.flags = {name: QtWidgets.QCheckBox(text) for name, text in FLAGS.items()}
        for name, text in LISTS.items():
            self._add(text, self.lists[name], option_of(name))
        for name, text in TEXTS.items():
            self._add(text, self.texts[name], option_of(name))
        for name, box in self.flags.items():
            self._add("", box, option_of(name))

    def _add(self, text: str, field: QtWidgets.QWidget, option: str = "") -> None:
        """A row of the form; the option of the command line stands small beside it."""
        row = field
        if option:
            row = QtWidgets.QWidget()
            inside = QtWidgets.QHBoxLayout(row)
            inside.setContentsMargins(0, 0, 0, 0)
            inside.addWidget(field, int(not isinstance(field, QtWidgets.QCheckBox)))
            inside.addWidget(beside := _small(option))
            beside.setMinimumWidth(beside.fontMetrics().horizontalAdvance(_LONGEST))
            inside.addStretch(int(isinstance(field, QtWidgets.QCheckBox)))
        self._rows[field] = row
        caption = QtWidgets.QLabel(text)
        caption.setBuddy(field)
        self._form.addRow(caption, row)

    def _draw_more(self) -> None:
        name = "down" if self.more.isChecked() else "right"
        self.more.setIcon(icon(name, look().colour("accent"), look().colour("line-strong")))

    def focus(self) -> None:
        """Begin with the first file."""
        (self._table_or_images if self._is_of_table else self.genotypes).setFocus()

    @property
    def _is_of_table(self) -> bool:
        """True if the study wants a table of this cohort, not genotypes."""
        return self._plan is not None and self._plan.of_tables

    @property
    def _table_or_images(self) -> FileChoice:
        """The field of the cohort's table, which is a folder if it has images."""
        return self.images if self._plan is not None and self._plan.images is not None else self.table

    def refresh(self) -> None:
        """Show the fields that the plan needs; fill them in once."""
        plan = self._study.plan
        if plan is None or plan == self._plan:
            return
        self._plan = plan
        self._fill(self._study.form)
        self._show_fields()
        self._look()

    @property
    def _texts(self) -> dict[str, QtWidgets.QLineEdit]:
        """Widgets in which text is typed, by the fields of the form."""
        files = {name: getattr(self, name).edit for name in ("sample", "psam", "pheno", "covar")}
        files["table"] = self._table_or_images.edit
        lists = {name: choice.edit for name, choice in self.lists.items()}
        return files | lists | self.texts

    def _fill(self, form: DataForm) -> None:
        for name, edit in self._texts.items():
            edit.setText(getattr(form, name))
        self.genotypes.edit.setText(genotypes_text(form))
        self.dosage.setCurrentText(form.vcf_dosage or _BEST)
        self._column = form.pheno_name
        for name, box in self.flags.items():
            box.setChecked(getattr(form, name))
        self.more.setChecked(form.has_more)

    @property
    def form(self) -> DataForm:
        """Content of the form as typed, as far as it belongs to the files that were chosen."""
        if self._is_of_table:
            return DataForm(table=self._table_or_images.path)
        genotypes = genotypes_of(self.genotypes.path)
        typed: dict[str, Any] = {name: edit.text().strip() for name, edit in self._texts.items()}
        dosage, column = self.dosage.currentText(), self.pheno_name.currentText().strip()
        typed |= {"vcf_dosage": "" if dosage == _BEST else dosage, "pheno_name": column}
        unused = {"table", *(name for name, is_used in self._uses(genotypes).items() if not is_used)}
        flags = {name: box.isChecked() for name, box in self.flags.items()}
        return DataForm(
            **{name: text for name, text in typed.items() if name not in unused} | flags | genotypes
        )

    def _uses(self, genotypes: dict[str, Any]) -> dict[str, bool]:
        """Tell which fields belong to these genotypes, of those that do not belong to all."""
        return {
            "vcf_dosage": OF_VCF.option in genotypes,
            "sample": OF_BGEN.option in genotypes,
            "psam": any(copied.option in genotypes for copied in COPIED),
            "minimac3_r2_filter": OF_BFILE.option not in genotypes,  # a .bed has no quality of imputation
            "pheno_name": self._chooses_column,
        }

    def _show_fields(self) -> None:
        if self._plan is None:
            return
        tables = self._is_of_table
        more = self.more.isChecked() and not tables
        self._draw_more()
        uses = self._uses({} if tables else genotypes_of(self.genotypes.path))
        images = self._plan.images is not None
        shown: dict[QtWidgets.QWidget, bool] = {
            self.table: tables and not images,
            self.table_note: tables and not images,
            self.images: images,
            self.images_note: images,
            self.genotypes: not tables,
            self.dosage: uses["vcf_dosage"],
            self.sample: uses["sample"],
            self.psam: uses["psam"],
            self.pheno: not tables,
            self.pheno_name: not tables and not PHENOTYPES.of(self._plan),
            self.pheno_note: not tables,
            self.covar: bool(COVARIATES.of(self._plan)),
            self.covar_note: bool(COVARIATES.of(self._plan)),
            self.more: not tables,
        }
        shown |= dict.fromkeys([*self.lists.values(), *self.texts.values(), *self.flags.values()], more)
        shown[self.texts["minimac3_r2_filter"]] = more and uses["minimac3_r2_filter"]
        for field, visible in shown.items():
            self._form.setRowVisible(self._rows[field], visible)
        if COVARIATES.of(self._plan):
            self.flags["allow_no_sex"].setEnabled(True)

    def _take_prefix(self) -> None:
        """One of the three files stands for all; of others a copy is made."""
        chosen = genotypes_text(DataForm(**genotypes_of(self.genotypes.path)))
        if chosen != self.genotypes.path:
            self.genotypes.edit.setText(chosen)
        self._look()

    def _look(self) -> None:
        """Look into the next file that nobody has looked into, for its columns."""
        self._show_columns()
        self._show_fields()
        for path in (self.table.path, self.pheno.path, self.covar.path):
            if path and path not in self._columns and Path(path).is_file():
                self._columns[path] = []
                self._study.call(
                    *("columns", path, "--json"),
                    doing=f"Looking into {Path(path).name}",
                    of_study=False,
                    ended=partial(self._see, path),
                )
                return

    def _see(self, path: str, ended: Ended) -> None:
        found = ended.json()
        self._columns[path] = list(found.get("columns", [])) if isinstance(found, dict) else []
        if not self._columns[path]:
            self._unread[path] = trouble(ended.errors).text
        self._look()

    def _show_columns(self) -> None:
        if self._plan is None:
            return
        columns = self._columns.get(self.pheno.path, [])
        names = [column["name"] for column in columns]
        if [self.pheno_name.itemText(k) for k in range(self.pheno_name.count())] != names:
            self._choose_column(self._plan, names, columns)
            is_free = not self.covar.path and not self.covar.edit.hasFocus()
            if is_free and has_covariates(self._plan, columns):
                self.covar.edit.setText(self.pheno.path)
        self.pheno_note.setText(self._phenotype_words(columns))
        for note, file, wanted, what in (
            (self.covar_note, self.covar, [each.title for each in COVARIATES.of(self._plan)], "covariates"),
            (self.table_note, self.table, [each.title for each in self._plan.schema], "columns"),
        ):
            found = columns_found(wanted, what, self._columns.get(file.path))
            note.setText(self._trouble_with(file.path) or found)

    def _choose_column(self, plan: Plan, names: list[str], columns: list[dict[str, Any]]) -> None:
        """Offer the columns of the file, and choose the one that was chosen before, or else is likely."""
        likely, self._why = likely_phenotype(plan, columns)
        wanted = self._column if self._column in names else likely
        with QSignalBlocker(self.pheno_name):  # what is not yet complete is no choice of a person's
            self.pheno_name.clear()
            self.pheno_name.addItems(names)
            self.pheno_name.setCurrentIndex(names.index(wanted) if wanted in names else -1)
        self.pheno_name.setEnabled(bool(names))
        if wanted != likely:
            self._why = ""

    def _take_column(self, column: str) -> None:
        self._column = column
        self._show_columns()

    def _trouble_with(self, path: str) -> str:
        """Say why a chosen file has no columns to choose from; empty if it has, or none was chosen."""
        if path and not Path(path).exists():
            return "✗ There is no such file."
        return f"✗ {self._unread[path]}" if path in self._unread else ""

    def _clear(self) -> None:
        """Take back what was said of an earlier state of the form."""
        self.card.show_card(None)

    @property
    def _chooses_column(self) -> bool:
        """True if there is a column to choose: several phenotypes are found by their names."""
        return bool(self.pheno.path) and not (self._plan is not None and PHENOTYPES.of(self._plan))

    def _phenotype_words(self, columns: list[dict[str, Any]]) -> str:
        if unread := self._trouble_with(self.pheno.path):
            return unread
        if self._plan is not None and PHENOTYPES.of(self._plan):
            return columns_found(self._plan.phenotype_names, "phenotypes", columns)
        name = self._plan_phenotype
        asked = f"The plan asks for: {name} ({self._plan.trait})." if self._plan and name else ""
        chosen = [column for column in columns if column["name"] == self.pheno_name.currentText()]
        seen = ", ".join(chosen[0]["values"]) if chosen else ""
        hint = in_window(chosen[0]["hint"]) if chosen else ""
        why = self._why if chosen and chosen[0]["name"] != self._plan_phenotype else ""
        words = (asked, f"Values seen: {seen}." if seen else "", why, f"{hint}." if hint else "")
        return " ".join(word for word in words if word)

    @property
    def _plan_phenotype(self) -> str:
        return self._plan.phenotype if self._plan is not None else ""

    def _press(self) -> None:
        if self._plan is None:
            return
        form = self.form
        self._study.keep_form(form)
        if lacks := form.lacks(self._plan):
            self.card.show_card(Card(Tone.PROBLEM, lacks))
            return
        self._clear()
        self._check(form)


def _small(option: str) -> QtWidgets.QLabel:
    made = label(option, "small")
    made.setWordWrap(False)
    return made
