"""A whole study without a command line: the demo, the example data, the guide."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

from .pages import Pages

GENOME_WIDE = 5e-8


def test_a_demo_study_to_its_results(pages: Pages, tmp_path: Path) -> None:
    pages.follow("Guide")
    pages.press("Try a demo study")
    pages.heading("Demo: three generated cohorts")
    study = "/".join(urlsplit(pages.page.url).path.split("/")[:3])  # other tests have demo studies, too
    pages.is_at("Progress")
    expect(pages.page.get_by_role("rowheader")).to_have_text(["Graz", "Munich", "Tartu"])
    pages.follow("Guide")
    pages.heading("Guide")
    expect(pages.page.get_by_role("button", name="Try a demo study")).to_be_disabled()
    pages.sees("A demo study is running. There is one at a time.")
    with pages.page.expect_download() as started:
        pages.follow("Download example data (ZIP, 3 MB)")
    planted = planted_in(Path(started.value.path()))
    pages.look("guide")
    pages.follow("Studies")
    listed = pages.page.get_by_role("row").filter(has=pages.page.locator(f"a[href='{study}']"))
    expect(listed).to_contain_text("Generated data")
    listed.get_by_role("link").first.click()
    pages.follow("Progress")
    expect(pages.page.get_by_role("heading", name="Done")).to_be_visible()
    pages.follow("Results")
    found = p_values(pages.download("demo.assoc", tmp_path))
    assert {name for name, p in found.items() if p < GENOME_WIDE} >= set(planted) and len(planted) == 3
    pages.follow("All studies")
    pages.follow("Guide")
    expect(pages.page.get_by_role("button", name="Try a demo study")).to_be_enabled()


def planted_in(example: Path) -> list[str]:
    """The variants that the README of the example data says were planted."""
    with zipfile.ZipFile(example) as packed:
        assert packed.testzip() is None
        return re.findall(r"^ +(\S+) +odds ratio", packed.read("README.txt").decode(), re.MULTILINE)


def p_values(assoc: Path) -> dict[str, float]:
    header, *rows = (line.split() for line in assoc.read_text().splitlines())
    name, p = header.index("SNP"), header.index("P")
    return {row[name]: float(row[p]) for row in rows if row[p] != "NA"}
