"""The pictures of a study in a browser: plot, region and search, beside the file that PLINK would write."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from unpooled.simulate import simulate

from ..federation import Trial
from .conftest import Site
from .pages import Pages

VARIANTS = 2500  # more than are all drawn as points

TEXT_ON_WHITE = "rgb(23, 35, 42)"


@pytest.fixture
def study(administrator: Pages, site: Site, tmp_path: Path) -> Iterator[tuple[Trial, str]]:
    """A study that is done, and the ID of a variant that was planted. The administrator, who must be there
    first, owns it."""
    made = simulate(
        tmp_path, cohorts=(150, 160, 170), variants=VARIANTS, effects=(5.0, 0.2), seed=3, pooled=False
    )
    site.coordinator.sign_in(*site.administrator)
    trial = site.study(made.cohorts)
    trial.start()
    trial.until_over()
    trial.until(lambda: trial.call("GET")["has_pictures"], "the pictures are there")
    yield trial, made.planted[0]
    trial.stop()


def reported(file: Path, variant: str) -> dict[str, str]:
    """The line of a variant in a report."""
    head, *lines = (line.split() for line in file.read_text().splitlines())
    return next(found for line in lines if (found := dict(zip(head, line, strict=True)))["SNP"] == variant)


def saved(pages: Pages, button: str, folder: Path) -> Path:
    with pages.page.expect_download() as started:
        pages.press(button)
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def middle(element: Locator) -> tuple[float, float]:
    box = element.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_from_the_whole_genome_to_one_variant(
    administrator: Pages, study: tuple[Trial, str], tmp_path: Path
) -> None:
    pages, page, (trial, variant) = administrator, administrator.page, study
    line = reported(trial.cohorts[0].folder / "results/study.assoc", variant)
    place = f"{line['CHR']}:{int(line['BP']):,}"
    pages.open(f"/studies/{trial.id}/results")
    plot = page.get_by_role("application", name="Manhattan plot")
    here = page.get_by_role("navigation", name="Part of the genome").locator("[aria-current]")
    expect(here).to_have_text("Whole genome")
    expect(plot.get_by_role("img", name="Manhattan plot")).to_have_attribute("aria-label", re.compile("loci"))
    pages.look("pictures")

    # The table: each number is the report's, and arrow keys lead through it.
    pages.fill("Variant or place", variant.upper())
    page.keyboard.press("Enter")
    pages.sees("1 variant found")
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name=variant, exact=True))
    expect(row.get_by_role("cell").nth(0)).to_have_text(place)
    expect(row.get_by_role("cell").nth(1)).to_have_text(f"{line['A1']} / {line['A2']}")
    expect(row.get_by_role("cell").nth(3)).to_contain_text(f"{float(line['OR']):.4g}")
    expect(row.get_by_title(line["P"], exact=True)).to_be_visible()
    pages.press("All loci")
    expect(page.get_by_role("button", name=variant, exact=True)).to_be_visible()
    loci = page.locator("tbody").first.get_by_role("button")
    assert loci.count() > 1
    loci.first.focus()
    page.keyboard.press("ArrowDown")
    expect(loci.nth(1)).to_be_focused()

    # Its locus, where every variant is a point; what is pointed at tells its numbers.
    page.get_by_role("button", name=variant, exact=True).press("Enter")
    pages.sees("each a point")
    expect(here).to_contain_text("Mb")
    page.mouse.move(*middle(plot.locator("circle")))
    tip = plot.locator("dl")
    expect(tip).to_contain_text(place)
    expect(tip).to_contain_text(f"{float(line['OR']):.4g}")
    mantissa, _, exponent = line["P"].partition("e-")
    assert exponent, "the planted variant is strong"
    expect(tip).to_contain_text(mantissa[:3])
    expect(plot).to_contain_text(variant)

    # Keys, the way back, and the address.
    region = re.compile(r"region=[^&]+")
    first = region.findall(page.url)
    plot.focus()
    page.mouse.move(0, 0)
    page.keyboard.press("+")
    expect(page).not_to_have_url(re.compile(re.escape(first[0])))
    page.go_back()
    expect(page).to_have_url(re.compile(re.escape(first[0])))
    page.reload()
    pages.sees("each a point")
    plot.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text(re.compile(f"{variant}, .* Enter zooms in"))).to_be_attached()
    page.keyboard.press("Escape")  # the tip goes first
    page.keyboard.press("Escape")
    expect(here).to_have_text("Whole genome")

    # A part that is dragged across; the figure as files.
    x, y = middle(plot)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=3)
    page.mouse.up()
    expect(here).to_contain_text("Mb")
    expect(page).to_have_url(region)
    drawn = ET.parse(saved(pages, "Save SVG of the Manhattan plot", tmp_path)).getroot()  # noqa: S314
    assert drawn.tag.endswith("svg") and len(drawn.findall(".//{*}path")) > 3
    assert "class=" not in ET.tostring(drawn, "unicode")
    assert f'fill="{TEXT_ON_WHITE}"' in ET.tostring(drawn, "unicode"), "light, though the page is dark"
    image = saved(pages, "Save PNG of the QQ plot", tmp_path).read_bytes()
    assert image.startswith(b"\x89PNG") and int.from_bytes(image[16:20]) >= 2400
