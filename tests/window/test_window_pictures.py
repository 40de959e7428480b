"""Pictures of results: their numbers are those of the file, and plot, table and keyboard belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from window_desk import Desk

from unpooled.described.file_list import report_name
from unpooled.plan.plan import NO_KEY, Plan
from unpooled_client.compare.pictures import pictures
from unpooled_client.compare.pool import NothingToCompare
from unpooled_client.window.pictures import Pictures

PLAN = Plan("linear", "bmi", 3, NO_KEY, trait="quantitative", files=("glm",))
LEADS = {"1:5000000": 12.0, "7:300000": 5.5, "X:90000000": 45.0}
HEAD = "#CHROM\tPOS\tID\tREF\tALT\tA1\tTEST\tOBS_CT\tA1_FREQ\tBETA\tSE\tT_STAT\tP\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report of plink2's with three loci, and lines about a covariate and without P that are none."""
    rng = np.random.default_rng(3)
    lines = []
    for name, step in (("1", 50_000), ("7", 50_000), ("X", 200_000)):
        for k in range(1, 600):
            place = f"{name}:{k * step}"
            size = LEADS.get(place, float(-np.log10(rng.uniform(0.001, 1))))
            z = rng.normal()
            p = f"{10 ** -(size % 1):.6g}e-{int(size)}"
            lines.append(
                f"{name}\t{k * step}\trs{place}\tA\tG\tG\tADD\t900\t0.25\t{0.1 * z:.6g}\t0.1\t{z:.6g}\t{p}\n"
            )
    covariate = "1\t1\tx\tA\tG\tG\tage\t9\t0.1\t1\t1\t99\t1e-99\n"
    unknown = "1\t2\ty\tA\tG\tG\tADD\t9\t0.1\tNA\tNA\tNA\tNA\n"
    file = tmp_path / report_name("glm", PLAN)
    file.write_text(HEAD + "".join([covariate, unknown, *lines]), encoding="utf-8")
    return file


@pytest.fixture
def found(report: Path) -> dict[str, Any]:
    return pictures([report], PLAN)


def test_the_numbers_are_those_of_the_file(report: Path, found: dict[str, Any]) -> None:
    rows = [line.split("\t") for line in report.read_text("utf-8").splitlines()[1:]]
    tested = [row for row in rows if row[6] == "ADD" and row[12] != "NA"]
    squares = [float(row[11]) ** 2 for row in tested]
    assert found["genomic_inflation"] == pytest.approx(max(1, np.median(squares) / 0.456))
    assert found["manhattan"]["variants"] == len(tested) == 3 * 599
    assert [row["id"] for row in found["loci"]] == ["rsX:90000000", "rs1:5000000", "rs7:300000"]
    lead = found["loci"][1]
    assert (lead["a1"], lead["a2"], lead["a1_freq"], lead["p"]) == ("G", "A", 0.25, "1e-12")
    beta = float(next(row for row in tested if row[2] == lead["id"])[9])
    assert lead["effect"] == pytest.approx(beta) and lead["upper"] == pytest.approx(beta + 0.196, abs=1e-4)


def test_no_report_is_said(tmp_path: Path) -> None:
    with pytest.raises(NothingToCompare, match=r"neither \.assoc nor \.glm"):
        pictures([tmp_path / "study.frq"], PLAN)


def test_plot_table_and_keyboard_belong_together(desk: Desk, found: dict[str, Any]) -> None:
    shown = Pictures()
    desk.bot.addWidget(shown)
    shown.resize(900, 600)
    shown.put(found)
    shown.show()
    shown.grab()
    assert shown.numbers["Loci"].text() == "3" and shown.loci.count == 3
    assert shown.manhattan.chosen == 0  # the strongest
    desk.bot.keyClick(shown.manhattan, Qt.Key.Key_Left)  # by place: the one before
    assert shown.manhattan.chosen == 2
    assert shown.loci.row_texts(shown.loci.currentIndex().row())[0] == "rs7:300000"
    desk.bot.keyClick(shown.loci, Qt.Key.Key_Up)
    assert shown.manhattan.chosen == 1
    spot = next(spot for spot in shown.manhattan.spots if spot.lead == 0)
    desk.bot.mouseClick(shown.manhattan, Qt.MouseButton.LeftButton, pos=shown.manhattan.point_of(spot))
    assert shown.loci.chosen == 0
    assert "rsX:90000000" in spot.tip and "P 1e-45" in spot.tip


def test_what_is_drawn_stands_where_it_belongs(desk: Desk, found: dict[str, Any]) -> None:
    """The lead's diamond is drawn in its colour at the height of its P, which is folded above 20."""
    shown = Pictures()
    desk.bot.addWidget(shown)
    shown.resize(900, 600)
    shown.put(found)
    shown.show()
    image = shown.manhattan.grab().toImage()
    spots = {spot.lead: spot for spot in shown.manhattan.spots if spot.lead is not None}
    assert spots[0].y < spots[1].y < spots[2].y
    assert spots[1].x < spots[2].x < spots[0].x
    for spot in spots.values():
        assert image.pixelColor(shown.manhattan.point_of(spot)) == shown.manhattan.lead_colour
    shown.quantiles.grab()
    assert len(shown.quantiles.spots) > 100
