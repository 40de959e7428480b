"""The results of a study of variants as pictures: inflation, Manhattan and QQ plot, and the loci."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from unpooled.kernels.statistics import inflation_text
from unpooled_client.window import rows
from unpooled_client.window.look.style import look
from unpooled_client.window.parts import label, panel
from unpooled_client.window.plots.manhattan import ManhattanPlot
from unpooled_client.window.plots.quantiles import QuantilePlot
from unpooled_client.window.tables import Table

_WAIT = "The pictures are being made from the result files."
_NO_LOCI = "No variant has a P value of at most 10⁻⁵. That, too, is a result."


class Pictures(QWidget):
    """Plots and table of loci: a locus chosen in the table is ringed in the plot, and the other way round."""

    def __init__(self) -> None:
        super().__init__()
        self.words = label(_WAIT, "muted")
        self.manhattan, self.quantiles = ManhattanPlot(), QuantilePlot()
        self.numbers = {name: label(kind="number") for name in ("Variants", "λ", "Loci")}
        self.no_loci = label(_NO_LOCI, "muted")
        self.loci = Table("Loci", rows.loci_columns("Effect"))
        self.loci.setMinimumHeight(3 * look().pixels("6"))
        self.loci.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self.loci.hide()
        self.loci.on_chosen(lambda: self.manhattan.choose(self.loci.chosen))
        self.manhattan.chose.connect(self.loci.choose_put)
        self._either = QStackedWidget()
        self._either.addWidget(self.words)
        self._either.addWidget(self._make_shown())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, look().pixels("3"), 0, 0)
        column.addWidget(self._either)

    def _make_shown(self) -> QWidget:
        shown, plots = QWidget(), QHBoxLayout()
        plots.setSpacing(look().pixels("3"))
        plots.addWidget(panel(self.manhattan), 5)
        plots.addWidget(panel(self.quantiles), 2)
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(look().pixels("3"))
        column.addLayout(self._make_numbers())
        column.addLayout(plots, 3)
        column.addWidget(self.no_loci)
        column.addWidget(self.loci, 2)
        return shown

    def _make_numbers(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(look().pixels("2"))
        for name, value in self.numbers.items():
            caption: QLabel = label(name, "muted")
            for words in (caption, value):
                words.setWordWrap(False)
                row.addWidget(words)
            row.addSpacing(look().pixels("5"))
        row.addStretch(1)
        return row

    def say(self, words: str) -> None:
        """Why there are no pictures."""
        self.words.setText(words)

    def put(self, found: Mapping[str, Any]) -> None:
        """Show what `unpooled_client.compare.pictures` made."""
        inflation, loci = found["genomic_inflation"], found["loci"]
        self.numbers["Variants"].setText(f"{found['manhattan']['variants']:,}")
        self.numbers["λ"].setText("not known" if inflation is None else inflation_text(inflation))
        self.numbers["Loci"].setText(f"{len(loci):,}")
        self.manhattan.put(found["manhattan"], loci)
        self.quantiles.put(found["quantiles"])
        self.no_loci.setVisible(not loci)
        self.loci.setVisible(bool(loci))
        self.loci.put_under(rows.loci_columns(found["effect"]), rows.loci(loci))
        self._either.setCurrentIndex(1)
