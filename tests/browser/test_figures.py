"""Figures for journals, made of a study's pictures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from unpooled.simulate import simulate

from ..federation import Trial
from .conftest import Site
from .pages import Pages
from .studies import with_pictures


@pytest.fixture
def study(pages: Pages, site: Site, tmp_path: Path) -> Iterator[Trial]:
    made = simulate(
        tmp_path, cohorts=(150, 160, 170), variants=2500, effects=(5.0, 0.2), seed=3, pooled=False
    )
    site.coordinator.sign_in(*site.administrator)
    trial = site.study(made.cohorts)
    with with_pictures(trial):
        yield trial


def texts(drawn: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(drawn).iterfind(".//{*}text")]  # noqa: S314


def test_a_figure_of_panels_is_saved_as_it_is_seen(pages: Pages, study: Trial, tmp_path: Path) -> None:
    page = pages.page

    def saved(button: str) -> bytes:
        expect(pages.dialog.get_by_role("button", name=button, exact=True)).to_be_enabled()
        return pages.saved(tmp_path, lambda: pages.press(button)).read_bytes()

    pages.open(f"/studies/{study.id}/results")
    pages.press("Make a figure with Manhattan plot")
    alone = ET.fromstring(saved("Save SVG"))  # noqa: S314
    assert alone.get("width") == "183mm" and "a" not in texts(ET.tostring(alone))

    locus = pages.dialog.get_by_role("checkbox", name=re.compile("Locus of")).first
    pages.choose("QQ plot")
    locus.check()
    pages.fill("Title", "Asthma in three cohorts")
    pages.choose("Number of people")
    pages.choose("Cases and controls")
    page.get_by_label("Arrangement").select_option(label="Side by side")
    page.get_by_label("Colours", exact=True).select_option(label="For the colour-blind (Okabe and Ito)")
    seen = pages.dialog.get_by_role("img", name=re.compile("Manhattan plot, QQ plot, Locus"))
    expect(seen).to_be_visible()
    pages.look("figure")
    figure = saved("Save SVG")
    said = texts(figure)
    assert {"a", "b", "c", "Asthma in three cohorts"} <= set(said)
    assert any(re.fullmatch(r"N = 480; \d+ cases, \d+ controls", text) for text in said), said
    assert b"class=" not in figure and b"rgb(0, 114, 178)" in figure, "Okabe and Ito's blue, written out"

    pdf = saved("Save PDF")
    assert pdf.startswith(b"%PDF")
    streams = [
        zlib.decompress(part) for part in re.findall(rb"/FlateDecode.*?stream\n(.*?)\nendstream", pdf, re.S)
    ]
    assert sum(stream.count(b"Tj") for stream in streams) >= len(said), "texts stay texts"

    for dots in (300, 600):
        with Image.open(BytesIO(saved(f"Save PNG, {dots} dpi"))) as image:
            assert image.width == round(183 / 25.4 * dots)
            assert image.info["dpi"] == pytest.approx((dots, dots), rel=1e-3)

    page.get_by_label("Width").select_option(label="One column, 89 mm")
    page.get_by_label("Font").select_option(label="Serif, as Times")
    expect(pages.dialog.get_by_text(re.compile(r"^89 .+ mm$"))).to_be_visible()
    narrow = ET.fromstring(saved("Save SVG"))  # noqa: S314
    assert narrow.get("width") == "89mm" and "Times" in narrow.get("font-family", "")
    pages.press("Close")
    expect(pages.dialog).to_be_hidden()


def test_the_density_of_people_is_a_picture(pages: Pages, site: Site, tmp_path: Path) -> None:
    made = simulate(tmp_path, cohorts=(500,) * 5, variants=300, seed=4, pooled=False)
    site.coordinator.sign_in(*site.administrator)
    trial = site.study(made.cohorts, test="pca", phenotype="", pca=2)
    trial.start()
    trial.until_over()
    pages.open(f"/studies/{trial.id}/results")
    drawn = pages.page.get_by_role("img", name=re.compile(r"Density of people by PC1 and PC2: \d+ cells"))
    expect(drawn).to_be_visible()
    pages.look("density")
    trial.stop()
