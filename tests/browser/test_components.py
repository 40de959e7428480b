"""Principal components in the browser: how many are asked for, and their eigenvalues in the results."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from unpooled.simulate import simulate

from ..federation import Cohort
from .conftest import Site
from .pages import Pages
from .studies import NAMES, all_end, begin_study, create, look_at_what_is_done, run_all


def test_components_to_their_files(
    administrator: Pages, site: Site, clients: list[Cohort], tmp_path: Path
) -> None:
    made = simulate(
        tmp_path, cohorts=(120,) * len(NAMES), variants=300, trait="quantitative", seed=3, pooled=False
    )
    pages = administrator
    begin_study(pages, "Ancestry")
    pages.choose("Quantitative")
    pages.choose("Principal components")
    pages.fill("Trait", "height")
    pages.fill("Number of components (--pca)", "4")
    create(pages, "Ancestry")
    run_all(pages, site, clients, tmp_path, made.cohorts)
    look_at_what_is_done(pages, "components")
    table = pages.page.get_by_role("table", name="Eigenvalues")
    expect(table.get_by_role("row")).to_have_count(5)
    expect(pages.page.get_by_role("img", name="Eigenvalues of the components")).to_be_visible()
    values = pages.download("ancestry.eigenval", tmp_path / "downloads").read_text().split()
    assert len(values) == 4 and sorted(map(float, values), reverse=True) == list(map(float, values))
    all_end(clients)
    assert len(list(tmp_path.rglob("*.eigenvec"))) == len(NAMES)
