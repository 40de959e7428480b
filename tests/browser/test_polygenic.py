"""A polygenic score in the browser: its questions in the form, and how well it predicts in the results."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from unpooled.simulate import simulate

from ..federation import Cohort
from .conftest import Site
from .pages import Pages
from .studies import NAMES, all_end, begin_study, create, look_at_what_is_done, run_all


def test_a_score_to_its_file(administrator: Pages, site: Site, clients: list[Cohort], tmp_path: Path) -> None:
    made = simulate(
        tmp_path,
        cohorts=(200,) * len(NAMES),
        variants=300,
        effects=(0.8, 0.8, -0.8, 0.7, -0.7),
        trait="quantitative",
        seed=3,
        pooled=False,
    )
    pages = administrator
    begin_study(pages, "Height")
    pages.choose("Polygenic score")
    pages.choose("Quantitative")
    pages.fill("Trait", "height")
    pages.fill("People left out: one in", "4")
    pages.fill("Shares of variance to try", "0.1, 0.3, 0.6")
    pages.look("new-study-polygenic")
    create(pages, "Height")
    run_all(pages, site, clients, tmp_path, made.cohorts)
    look_at_what_is_done(pages, "polygenic")
    shares = pages.page.get_by_role("table", name="Shares of variance that were tried")
    expect(shares.get_by_role("row")).to_have_count(4)
    expect(shares.get_by_role("row").filter(has_text="yes")).to_have_count(1)
    expect(pages.page.get_by_role("img", name="R² by share of variance")).to_be_visible()
    expect(pages.page.get_by_text("Genomic inflation")).to_have_count(0)
    found = json.loads(pages.download("height.performance.json", tmp_path / "downloads").read_bytes())
    assert [row["share"] for row in found["shares"]] == [0.1, 0.3, 0.6] and found["people"] == 600
    assert pages.download("height.score.txt", tmp_path / "downloads").read_bytes().startswith(b"###PGS")
    all_end(clients)
