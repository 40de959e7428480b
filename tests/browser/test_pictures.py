"""Pictures of studies in a browser, also of two phenotypes, beside the file that PLINK would write."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

from unpooled.simulate import simulate

from ..federation import NAME, Trial
from .conftest import AXE, Site
from .pages import Pages
from .studies import begin_study_of_variants, with_pictures

VARIANTS = 2500  # more than are all drawn as points

TEXT_ON_WHITE = "rgb(23, 35, 42)"


@pytest.fixture
def study(pages: Pages, site: Site, tmp_path: Path) -> Iterator[tuple[Trial, str]]:
    """A study that is done, and the ID of a variant that was planted. The administrator, who must be there
    first, owns it."""
    made = simulate(
        tmp_path, cohorts=(150, 160, 170), variants=VARIANTS, effects=(5.0, 0.2), seed=3, pooled=False
    )
    site.coordinator.sign_in(*site.administrator)
    trial = site.study(made.cohorts)
    with with_pictures(trial):
        yield trial, made.planted[0]


def reported(file: Path, variant: str) -> dict[str, str]:
    """The line of a variant in a report."""
    head, *lines = (line.split() for line in file.read_text().splitlines())
    return next(found for line in lines if (found := dict(zip(head, line, strict=True)))["SNP"] == variant)


def middle(element: Locator) -> tuple[float, float]:
    box = element.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_from_the_whole_genome_to_one_variant(pages: Pages, study: tuple[Trial, str], tmp_path: Path) -> None:
    page, (trial, variant) = pages.page, study
    line = reported(trial.cohorts[0].folder / "results/study.assoc", variant)
    place = f"{line['CHR']}:{int(line['BP']):,}"
    pages.open(f"/studies/{trial.id}/results")
    plot = page.get_by_role("application", name="Manhattan plot")
    here = page.get_by_role("navigation", name="Part of the genome").locator("[aria-current]")
    expect(here).to_have_text("Whole genome")
    expect(plot.get_by_role("img", name="Manhattan plot")).to_have_attribute("aria-label", re.compile("loci"))
    pages.look("pictures")

    # The table: each number is the report's, and arrow keys lead through it.
    pages.fill("Variant, gene or place", variant.upper())
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
    expect(loci.nth(1)).to_be_visible()
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
    drawn = ET.parse(pages.save_picture("Region", "SVG", tmp_path)).getroot()  # noqa: S314
    assert drawn.get("width") == "183mm"
    assert drawn.tag.endswith("svg") and len(drawn.findall(".//{*}path")) > 3
    assert "class=" not in ET.tostring(drawn, "unicode")
    assert f'fill="{TEXT_ON_WHITE}"' in ET.tostring(drawn, "unicode"), "light, though the page is dark"
    image = pages.save_picture("QQ plot", "PNG, 600 dpi", tmp_path).read_bytes()
    assert image.startswith(b"\x89PNG") and int.from_bytes(image[16:20]) == round(89 / 25.4 * 600)
    with Image.open(BytesIO(image)) as opened:
        assert opened.info["dpi"] == pytest.approx((600, 600), rel=1e-3)


WATCH = """
() => {
  window.drawn = [];
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  const look = () => {
    document.querySelectorAll("figure svg[role=img]").forEach((svg, k) => {
      (window.drawn[k] ??= new Set()).add(svg.getAttribute("viewBox"));
    });
    requestAnimationFrame(look);
  };
  look();
}
"""
"""Notes each size that a picture has in any frame, and by how much what is seen jumps."""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_results_come_first_and_nothing_jumps(
    window: Callable[[], Pages], site: Site, study: tuple[Trial, str], width: int, height: int
) -> None:
    pages, (trial, _) = window(), study
    page = pages.page
    page.set_viewport_size({"width": width, "height": height})
    page.add_init_script(f"({WATCH})()")
    pages.sign_in(*site.administrator)
    pages.heading("Studies")
    for is_first in (True, False):
        pages.open(f"/studies/{trial.id}/results")
        plot = page.get_by_role("application", name="Manhattan plot")
        expect(plot).to_be_visible()
        pages.sees("Observed")
        people = page.get_by_label("In numbers").get_by_text("480", exact=True)
        assert bottom(people) < (height if is_first else height / 2)
        assert width < 1000 or bottom(plot) <= height
        title = page.get_by_role("heading", level=1)
        badge = page.get_by_text("Done", exact=True).first
        assert abs(middle(title)[1] - middle(badge)[1]) < 8
        consequence = page.get_by_text("Together they could unmask what a single cohort sent.")
        expect(consequence).to_be_visible(visible=is_first)
        page.wait_for_timeout(300)
        pages.picture(f"results-{width}-{'first' if is_first else 'again'}")
        assert page.evaluate("window.drawn.map((sizes) => sizes.size)") == [1, 1]
        assert page.evaluate("window.shift") < 0.02
    page.get_by_text("Not blind: one operator").click()
    expect(consequence).to_be_visible()


def bottom(element: Locator) -> float:
    box = element.bounding_box()
    assert box
    return box["y"] + box["height"]


def test_the_report_and_everything_at_once(
    pages: Pages, browser: Browser, study: tuple[Trial, str], tmp_path: Path
) -> None:
    trial, variant = study
    pages.open(f"/studies/{trial.id}/results")
    archive = zipfile.ZipFile(pages.saved(tmp_path, lambda: pages.follow("Download all")))
    delivered = trial.cohorts[0].folder / "results"
    names = {name.removeprefix("study-results/") for name in archive.namelist()}
    assert names == {path.name for path in delivered.iterdir() if "own-against-pool" not in path.name}
    for name in names:
        assert archive.read(f"study-results/{name}") == (delivered / name).read_bytes()
    pages.press("Preview of study.assoc")
    header = (delivered / "study.assoc").read_text().splitlines()[0].strip()
    expect(pages.dialog.get_by_role("region", name="First lines")).to_contain_text(header)
    pages.look("preview")
    pages.press("Close", pages.dialog)
    pages.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    pages.press("Copy methods")
    pages.sees("Methods copied")
    methods = (delivered / "study.methods.txt").read_text()
    assert pages.page.evaluate("navigator.clipboard.readText()") == methods
    report = pages.saved(tmp_path, lambda: pages.follow("Report"))
    assert report.name == "study.report.html"
    with browser.new_context(offline=True, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(report.as_uri())
        expect(page.get_by_role("heading", name=NAME)).to_be_visible()
        expect(page.get_by_role("img", name="Manhattan plot").locator("text.label").first).to_have_text(
            variant
        )
    with browser.new_context(offline=True) as context:
        reader = Pages(context.new_page(), report.as_uri(), AXE.read_text())
        reader.open(report.as_uri())
        reader.look("report")
        seconds = reader.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
        assert 0 < seconds < 1
        _read_closely(reader)
        assert reader.complaints == []


def _read_closely(reader: Pages) -> None:
    """Go to a part of a report, sort a table, and zoom into a picture and out again."""
    reader.follow("Versions and files")
    expect(reader.page.get_by_role("heading", name="Versions and files")).to_be_in_viewport()
    files = reader.page.get_by_role("region", name="The other result files")
    sizes = files.locator("tbody td:nth-child(2)")
    for _ in range(2):
        reader.press("Bytes", files)
        shown = [int(text.replace(",", "")) for text in sizes.all_inner_texts()]
        is_up = files.get_by_role("columnheader", name="Bytes").get_attribute("aria-sort") == "ascending"
        assert shown == sorted(shown, reverse=not is_up) and len(set(shown)) > 1
    figure = reader.page.locator("figure", has=reader.page.get_by_role("img", name="Manhattan plot"))
    plot = figure.locator("svg").first
    whole = plot.get_attribute("viewBox")
    reader.press("Zoom in", figure)
    assert plot.get_attribute("viewBox") != whole
    reader.look("report, closer")
    reader.press("Whole picture", figure)
    assert plot.get_attribute("viewBox") == whole


NAMES = ("ldl", "hdl")


@pytest.fixture
def of_two(pages: Pages, site: Site, tmp_path: Path) -> Iterator[Trial]:
    """A study that is done; thirty people of each cohort lack the second phenotype."""
    made = simulate(
        tmp_path,
        cohorts=(150, 160, 170),
        variants=800,
        effects=(3.0,),
        seed=3,
        trait="quantitative",
        pooled=False,
    )
    site.coordinator.sign_in(*site.administrator)
    plan = {"test": "linear", "trait": "quantitative", "phenotype": "ldl", "phenotypes": ["hdl"]}
    trial = site.study(made.cohorts, **plan, files=["assoc"])
    for number, cohort in enumerate(trial.cohorts):
        random, lines = np.random.default_rng(number), [f"FID IID {' '.join(NAMES)}"]
        for k, line in enumerate(cohort.prefix.with_suffix(".fam").read_text().splitlines()):
            fid, iid, *_, value = line.split()
            lines.append(f"{fid} {iid} {value} {'NA' if k < 30 else f'{random.normal():.4f}'}")
        (table := tmp_path / f"{cohort.name}.pheno").write_text("\n".join(lines) + "\n")
        cohort.more = ["--pheno", str(table)]
    with with_pictures(trial):
        yield trial


def test_results_of_each(pages: Pages, of_two: Trial) -> None:
    page = pages.page
    assert of_two.state == "done", of_two.story()
    pages.open(f"/studies/{of_two.id}/results")
    numbers = page.get_by_label("In numbers")
    choice = page.get_by_label("Phenotype", exact=True)
    expect(choice).to_have_value("ldl")
    expect(numbers).to_contain_text("480")
    report = page.get_by_role("link", name="Report", exact=True)
    expect(report).to_have_attribute("href", re.compile(r"study\.ldl\.report"))
    pages.sees("1 locus")
    choice.select_option("hdl")
    expect(page).to_have_url(re.compile("phenotype=hdl"))
    expect(numbers).to_contain_text("390")
    expect(report).to_have_attribute("href", re.compile(r"study\.hdl\.report"))
    pages.sees("No locus")
    pages.look("phenotypes")
    page.reload()
    expect(choice).to_have_value("hdl")
    page.go_back()
    expect(choice).to_have_value("ldl")

    page.get_by_role("link", name="Compare with another study").click()
    pages.sees("Compare two phenotypes")
    page.get_by_label("Compare with").select_option(f"{of_two.id}:hdl")
    expect(page.get_by_role("img", name=re.compile("ldl.*hdl"))).to_be_visible()
    pages.sees("Loci side by side")


def test_the_form_has_them_and_says_what_is_wrong(pages: Pages) -> None:
    begin_study_of_variants(pages, "Lipids")
    pages.fill("Trait", "ldl")
    pages.fill("Further phenotypes", "hdl, LDL")
    pages.press("Create study")
    pages.sees("a phenotype is named twice")
    pages.fill("Further phenotypes", "hdl, tg")
    pages.press("Create study")
    pages.heading("Lipids")
    pages.follow("Plan")
    pages.sees("hdl, tg: each is analysed as if the study had only that one")
