"""A region with its genes, the way to a gene by its name, and two studies side by side."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from unpooled.panel.builds import known_build
from unpooled.simulate import simulate

from ..federation import Trial
from .conftest import Site
from .pages import Pages
from .studies import with_pictures

MAP = "Chromosome Position(bp) Rate(cM/Mb) Map(cM)\n"


@dataclass
class Two:
    """Two studies of the same people, the chromosome and the position of a planted variant, and its ID."""

    first: Trial
    second: Trial
    chromosome: str
    position: int
    variant: str


@pytest.fixture
def two(pages: Pages, site: Site, tmp_path: Path) -> Iterator[Two]:
    made = simulate(
        tmp_path, cohorts=(150, 160, 170), variants=1500, effects=(5.0, 0.2), seed=3, pooled=False
    )
    site.coordinator.sign_in(*site.administrator)
    files = ["assoc", "clumped", "susie"]
    wide = {"test": "logistic", "files": files, "clump_kb": 10_000}  # there are few variants
    trials = [site.study(made.cohorts, **wide), site.study(made.cohorts, maf=0.05)]
    with with_pictures(*trials):
        row = trials[0].call("GET", f"variants?search={made.planted[0]}")["rows"][0]
        yield Two(*trials, row["chromosome"], row["position"], made.planted[0])


def recombination(site: Site, two: Two, folder: Path) -> None:
    """The operator gives rates around the variant."""
    places = [(two.position + step * 20_000, (step % 7) ** 2) for step in range(-30, 30)]
    file = folder / "map.txt"
    file.write_text(MAP + "".join(f"{two.chromosome} {place} {rate} 0\n" for place, rate in places))
    command = [sys.executable, "-m", "unpooled_webapp", "genome", "recombination", "GRCh38", str(file)]
    environment = {**os.environ, **site.environment, "UNPOOLED_HOME": str(site.home)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_region_has_its_genes_and_a_gene_is_found_by_its_name(
    pages: Pages, site: Site, two: Two, tmp_path: Path
) -> None:
    page = pages.page
    assert known_build(two.first.call("GET")["plan"]["build"]) == "GRCh38"
    recombination(site, two, tmp_path)
    pages.open(f"/studies/{two.first.id}/results")
    plot = page.get_by_role("application", name="Manhattan plot")
    pages.fill("Gene, variant or place", two.variant)
    pages.press("Go")
    pages.sees("each a point")
    window = {"chromosome": two.chromosome, "from": two.position - 250_000, "to": two.position + 250_000}
    query = "&".join(f"{name}={value}" for name, value in window.items())
    known = two.first.call("GET", f"surroundings?{query}")
    names = [gene["name"] for gene in known["genes"]]
    assert names, "there are genes around the planted variant"
    expect(plot.get_by_text("Recombination, cM/Mb")).to_be_visible()
    pages.sees(f"Colours tell r² with {two.variant}.")
    pages.sees("Halos mark 1 credible set: of its variants one has an effect, with a probability of 95 %.")
    expect(plot.get_by_text("in a credible set")).to_be_visible()
    plot.press("ArrowDown")
    expect(plot.get_by_text(f"1 around {two.variant}, of 1 variant")).to_be_visible()
    pages.look("credible-set")
    expect(plot.get_by_text(re.compile(rf"\b{re.escape(names[0])}\b")).first).to_be_visible()
    expect(plot.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(rf"Genes: {re.escape(names[0])}")
    )
    page.get_by_text(re.compile("genes? in this region")).click()
    table = page.get_by_role("table", name="Genes in this region")
    expect(table.get_by_role("row")).to_have_count(len(names) + 1)
    pages.look("region")

    # Links lead out of the page; nothing is asked before somebody follows them.
    link = page.get_by_role("link", name=f"GWAS Catalog about {names[0]}, in a new window")
    expect(link).to_have_attribute("href", f"https://www.ebi.ac.uk/gwas/genes/{names[0]}")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    drawn = saved_svg(pages, tmp_path)
    assert any(names[0] in (text.text or "") for text in drawn.findall(".//{*}text"))

    # Of a wide region there are more genes than room, and no two names touch.
    wide = f"{two.chromosome}:{two.position - 2_000_000}-{two.position + 2_000_000}"
    pages.fill("Gene, variant or place", wide)
    pages.press("Go")
    expect(page.get_by_text(re.compile(r"\d\d genes in this region"))).to_be_visible()
    names_stand_apart(plot)
    pages.look("region-wide")

    # A gene by its name, by keyboard alone; what is not there is said.
    box = page.get_by_label("Gene, variant or place", exact=True)
    box.fill(names[0].lower())
    box.press("Enter")
    gene = known["genes"][0]
    expect(page).to_have_url(re.compile(rf"region={two.chromosome}%3A{max(gene['start'] - 100_000, 0)}-"))
    box.fill("no such gene")
    box.press("Enter")
    pages.sees("Nothing is called “no such gene”")
    pages.fill("Variant, gene or place", names[0])
    page.get_by_label("Variant, gene or place", exact=True).press("Enter")
    expect(page.get_by_text(re.compile(f"found for “{names[0]}”|No variant found"))).to_be_visible()


def names_stand_apart(plot: Locator) -> None:
    boxes = plot.locator("g > text:has(+ rect)").evaluate_all(
        "(names) => names.map((name) => name.getBoundingClientRect()).map((box) => "
        "[box.left, box.right, box.top, box.bottom])"
    )
    assert len(boxes) > 3
    for number, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = right <= other[0] or other[1] <= left or bottom <= other[2] + 1 or other[3] <= top + 1
            assert apart, "two names of genes touch"


def saved_svg(pages: Pages, folder: Path) -> ET.Element:
    drawn = pages.save_picture("Region", "SVG", folder)
    return ET.parse(drawn).getroot()  # noqa: S314


def test_two_studies_stand_side_by_side(pages: Pages, two: Two) -> None:
    page = pages.page
    pages.open(f"/studies/{two.first.id}/results")
    pages.follow("Compare with another study")
    page.get_by_label("Compare with", exact=True).select_option(value=two.second.id)
    expect(page).to_have_url(re.compile(f"with={two.second.id}"))
    expect(page.get_by_role("img", name=re.compile("Miami plot"))).to_be_visible()
    table = page.get_by_role("table", name="Loci of both studies")
    row = table.get_by_role("row").filter(has=page.get_by_role("link", name=two.variant, exact=True))
    expect(row).to_contain_text("same")
    told = two.second.call("GET", f"variants?search={two.variant}")["rows"][0]
    expect(row).to_contain_text(f"{told['effect']:.4g}"[:5])
    pages.look("compare")
    row.get_by_role("link", name=two.variant, exact=True).click()
    expect(page).to_have_url(re.compile(rf"/results\?region={two.chromosome}"))
    pages.sees("each a point")
